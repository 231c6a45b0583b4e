// Causal attention over one sequence that is spread over the processes of an mpirun: each makes its own rows
// and gets its own results, and nobody has the whole.
//
//   mpirun -n 4 build/release/examples/spread_attention
#include <attend/attend.h>
#include <attend/mpi_processes.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>

namespace {

// Some numbers for row `row` of the sequence.
void fill_row(attend::TensorView own, std::int64_t at, std::int64_t row, double phase) {
  for (std::int64_t head = 0; head < own.size(1); ++head) {
    float* const to = own.data<float>() + head * own.stride(1) + at * own.stride(2);
    for (std::int64_t c = 0; c < own.size(3); ++c)
      to[c] = static_cast<float>(std::sin(
          phase + 0.001 * static_cast<double>(row) * static_cast<double>(c + 1) + static_cast<double>(head)));
  }
}

void run() {
  const std::unique_ptr<attend::Processes> processes = attend::mpi_processes();
  constexpr std::int64_t kTokens = 4096, kHeads = 4, kSize = 32;
  const attend::ZigzagCut cut(kTokens, processes->count());
  const attend::Dims shape{1, kHeads, cut.rows_of(processes->rank()), kSize};
  attend::Tensor q(attend::DType::f32, shape), k(attend::DType::f32, shape), v(attend::DType::f32, shape),
      out(attend::DType::f32, shape);
  std::int64_t at = 0;
  for (const attend::RowChunk& chunk : cut.chunks_of(processes->rank())) {
    for (std::int64_t row = chunk.first; row < chunk.last; ++row, ++at) {
      fill_row(q, at, row, 0);
      fill_row(k, at, row, 1);
      fill_row(v, at, row, 2);
    }
  }

  attend::AttentionOptions options;
  options.causal = true;
  attend::spread_attention(*processes, attend::SpreadWay::ring, {kTokens, kTokens}, q, k, v, options, out);

  double sum = 0;
  for (const float value : out.values<float>()) sum += static_cast<double>(value);
  std::printf("process %d of %d: %lld rows, mean %.6f, sent %lld bytes\n", processes->rank(),
              processes->count(), static_cast<long long>(shape[2]), sum / static_cast<double>(out.count()),
              static_cast<long long>(processes->bytes_sent()));
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "spread_attention: %s\n", error.what());
    return 1;
  }
}
