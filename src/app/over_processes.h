// For commands that run as several processes of an mpirun.
#pragma once

#include <attend/mpi_processes.h>

#include <chrono>
#include <thread>

namespace attend::app {

// run(processes) on all of them. Often all fail for the same reason; process 0 then says so first, mpirun
// ends the others as soon as it has, and the sentence is not printed once for each. On a busy machine process
// 0 may take its time.
template <class Run>
void over_processes(const Run& run) {
  constexpr std::chrono::seconds kAfterTheFirst{5};
  const std::unique_ptr<Processes> processes = mpi_processes();
  try {
    run(*processes);
  } catch (...) {
    if (processes->rank() != 0) std::this_thread::sleep_for(kAfterTheFirst);
    throw;
  }
}

}  // namespace attend::app
