#include "plugin/cuda_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <vector>

#include "base/error.h"

namespace attend {
namespace {

constexpr char kFileName[] = "libattend_cuda.so";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// The folder of the library or program that this function was linked into.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&cuda_library), &info) != 0 && info.dli_fname != nullptr &&
      *info.dli_fname == '/')
    return folder_of(info.dli_fname);
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return length <= 0 ? "." : folder_of(std::string(path, static_cast<std::size_t>(length)));
}

void use(CudaLibrary& library, void* opened) {
  auto* const entry = reinterpret_cast<plugin::Entry*>(dlsym(opened, plugin::kEntryName));
  const plugin::Table* const table = entry == nullptr ? nullptr : entry(plugin::kTableVersion);
  if (table == nullptr || table->bytes != sizeof(plugin::Table)) {
    library.reason = joined(library.path, " belongs to another version of attend");
    return;
  }
  library.devices = table->device_count();
  if (library.devices > 0) {
    library.table = table;
  } else {
    library.reason = table->last_error();
  }
}

}  // namespace

CudaLibrary detail::open_cuda_library(const char* asked_for, const std::string& beside) {
  CudaLibrary library;
  const bool asked = asked_for != nullptr && *asked_for != '\0';
  if (asked && std::string(asked_for) == "off") {
    library.reason = "ATTEND_CUDA is off";
    return library;
  }
  const std::vector<std::string> places =
      asked ? std::vector<std::string>{asked_for}
            : std::vector<std::string>{beside + "/" + kFileName, beside + "/../lib/" + kFileName, kFileName};
  std::string failure;
  for (const std::string& place : places) {
    if (place.find('/') != std::string::npos && ::access(place.c_str(), F_OK) != 0) continue;
    // Local, so that none of its symbols is taken for one of ours.
    if (void* const opened = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      library.path = place;
      use(library, opened);
      return library;
    }
    const char* const error = dlerror();
    if (place.find('/') != std::string::npos && failure.empty() && error != nullptr) failure = error;
  }
  library.reason = !failure.empty() ? joined(kFileName, " could not be opened (", failure, ")")
                   : asked          ? joined("ATTEND_CUDA names ", asked_for, ", which is not there")
                           : joined(kFileName, " was not found beside the program; `make cuda` builds it");
  return library;
}

const CudaLibrary& detail::cuda_library() {
  static const CudaLibrary once = open_cuda_library(std::getenv("ATTEND_CUDA"), own_folder());
  return once;
}

}  // namespace attend
