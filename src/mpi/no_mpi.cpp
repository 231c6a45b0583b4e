// The twin of mpi_processes.cpp in a build without MPI.
#include <attend/mpi_processes.h>

#include <stdexcept>

namespace attend {

bool has_mpi() noexcept { return false; }

std::unique_ptr<Processes> mpi_processes() {
  throw std::runtime_error("this attend was built without MPI, which several processes need");
}

}  // namespace attend
