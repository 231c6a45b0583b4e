// Attention over real processes: run by mpirun with 1, 2, 3 and 4 of them. What must hold is in tests/spread.
#include <attend/mpi_processes.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "spread/spread_checks.h"

namespace attend {
namespace {

Processes* all = nullptr;  // those of this program

TEST(Mpi, ForwardIsThatOfOneProcess) {
  for (const SpreadCase& one : spread_cases()) check_forward(*all, one);
}

TEST(Mpi, BackwardIsThatOfOneProcess) {
  for (const SpreadCase& one : spread_cases()) check_backward(*all, one);
}

TEST(Mpi, WeightsAreThoseOfOneProcess) {
  for (const SpreadCase& one : spread_cases()) check_weights(*all, one);
}

TEST(Mpi, VolumeIsAsPredicted) { check_volume(*all); }

// Small ones are sent at once, large ones when the other side has room for them.
TEST(Mpi, MessagesOfAllSizesArrive) {
  for (const std::size_t bytes : {1, 1000, 100'000, 20'000'000}) check_messages(*all, bytes);
}

}  // namespace
}  // namespace attend

// `fail`: process 1 fails while the others wait for it, and all must end. `large`: more bytes than MPI counts
// in one message; takes 4 GB for each process, so only by hand.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string_view what = argc > 1 ? argv[1] : "";
  try {
    const std::unique_ptr<attend::Processes> processes = attend::mpi_processes();
    attend::all = processes.get();
    if (what == "fail" && processes->rank() == 1) throw std::runtime_error("process 1 has failed");
    if (what != "large") return RUN_ALL_TESTS();
    attend::check_messages(*processes, (std::size_t{1} << 31) + 5);
    return testing::Test::HasFailure() ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
