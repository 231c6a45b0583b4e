#include "http/memory.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace attend::http {

void return_free_memory_early() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}

void return_free_memory_now() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace attend::http
