// The plugin is never needed: without it, with a file that is none, or without a driver, a sentence says
// which.
#include "plugin/cuda_library.h"

#include <attend/tensor.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/operations.h"
#include "support/refuses.h"

namespace attend {
namespace {

TEST(CudaLibrary, IsNotNeeded) {
  const CudaLibrary off = open_cuda_library("off", ".");
  EXPECT_EQ(off.devices, 0);
  EXPECT_EQ(off.reason, "ATTEND_CUDA is off");
  const CudaLibrary named = open_cuda_library("/nowhere/libattend_cuda.so", ".");
  EXPECT_EQ(named.reason, "ATTEND_CUDA names /nowhere/libattend_cuda.so, which is not there");
  const CudaLibrary missing = open_cuda_library(nullptr, "/nowhere");
  EXPECT_EQ(missing.devices, 0);
  EXPECT_NE(missing.reason, "");
}

TEST(CudaLibrary, AnotherFileIsRefused) {
  const std::string text = testing::TempDir() + std::to_string(getpid()) + "_libattend_cuda.so";
  std::ofstream(text) << "not a library";
  const CudaLibrary broken = open_cuda_library(text.c_str(), ".");
  unlink(text.c_str());
  EXPECT_EQ(broken.devices, 0);
  EXPECT_EQ(broken.reason.find("libattend_cuda.so could not be opened (" + text + ": "), 0u) << broken.reason;
  const CudaLibrary other = open_cuda_library("/lib/x86_64-linux-gnu/libm.so.6", ".");
  if (other.path.empty()) GTEST_SKIP() << "no libm.so.6 where Debian has it";
  EXPECT_EQ(other.reason, "/lib/x86_64-linux-gnu/libm.so.6 belongs to another version of attend");
}

// With the plugin that `make cuda` built: it opens anywhere, and says why it has no device.
TEST(CudaLibrary, ThePluginOpensWithoutADriver) {
  if (::access(ATTEND_CUDA_LIBRARY, F_OK) != 0)
    GTEST_SKIP() << "`make cuda` has not built libattend_cuda.so here";
  const CudaLibrary library = open_cuda_library(ATTEND_CUDA_LIBRARY, ".");
  EXPECT_EQ(library.path, ATTEND_CUDA_LIBRARY);
  if (library.devices > 0) return;  // there is a GPU: tools/gpu.sh is for it
  EXPECT_EQ(library.table, nullptr);
  EXPECT_TRUE(library.reason.find("driver") != std::string::npos) << library.reason;
  EXPECT_EQ(library.reason.find('\n'), std::string::npos);
}

TEST(CudaLibrary, ADeviceIsRefusedInOneSentence) {
  ::setenv("ATTEND_CUDA", "off", 1);  // nothing has asked for a device before
  EXPECT_REFUSES(Tensor(DType::f32, {2}, Device{DeviceKind::cuda, 0}),
                 "[tensor] there is no device cuda:0 here: ATTEND_CUDA is off");
  EXPECT_EQ(devices().size(), 1u);
}

}  // namespace
}  // namespace attend
