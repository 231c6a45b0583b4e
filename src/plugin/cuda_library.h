// libattend_cuda.so: found where the program is, opened at the first use of a cuda device, never closed and
// never needed.
#pragma once

#include <string>

#include "base/detail.h"
#include "plugin/cuda_table.h"

namespace attend::detail {

struct CudaLibrary {
  const plugin::Table* table = nullptr;  // null: none can be used
  std::int32_t devices = 0;
  std::string path;    // of the file that was opened
  std::string reason;  // why there is no device, as the end of a sentence
};

// The same answer for the life of the process.
const CudaLibrary& cuda_library();

// Looks again, with these places only: what cuda_library() does with its own. For tests.
CudaLibrary open_cuda_library(const char* asked_for, const std::string& beside);

}  // namespace attend::detail
