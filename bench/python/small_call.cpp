// Prints how many nanoseconds one attention() over (1, 1, 8, 8) takes from C++, in a loop as Python's:
// results in new memory each time.
#include <attend/attend.h>

#include <chrono>
#include <cstdio>
#include <vector>

int main() {
  using namespace attend;
  using Clock = std::chrono::steady_clock;
  constexpr int kCalls = 20000;
  const std::vector<float> values(64, 1.0F);
  const ConstTensorView x(values.data(), {1, 1, 8, 8});
  const auto once = [&] {
    std::vector<float> out(64);
    attention(x, x, x, {}, TensorView(out.data(), {1, 1, 8, 8}));
  };
  for (int call = 0; call < kCalls; ++call) once();
  const auto start = Clock::now();
  for (int call = 0; call < kCalls; ++call) once();
  std::printf("%.1f\n", std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kCalls);
}
