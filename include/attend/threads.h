// How many threads the library uses. Results do not depend on it: the same input gives the same bits with any
// number.
#pragma once

#include <cstdint>

namespace attend {

// The number in use: what set_threads() said, else the environment variable ATTEND_THREADS, else the cores
// this process may run on, and no more than its control group (a container) has time for. Throws when
// ATTEND_THREADS is not a whole number from 1 to 1024.
int threads();

// Takes effect at the next call; must not run at the same time as another call into the library. 0 = back to
// the default.
void set_threads(std::int64_t count);

}  // namespace attend
