// The processes of an mpirun, for attend/spread_attention.h. In a library of its own, attend::mpi, so that
// only programs that use it need MPI; nothing of MPI's own is in this header.
#pragma once

#include <attend/processes.h>

#include <memory>

namespace attend {

// Whether this attend was built with MPI.
bool has_mpi() noexcept;

// All processes of this mpirun; without mpirun this one alone. Begins MPI unless the program has, and ends it
// when the result is destroyed; where that is because of an exception, MPI is left as it is, and mpirun ends
// the other processes when this one ends. One at a time. Messages make progress on a thread of their own
// while the library computes. Throws std::runtime_error, in one sentence, where there is no MPI or it fails.
std::unique_ptr<Processes> mpi_processes();

}  // namespace attend
