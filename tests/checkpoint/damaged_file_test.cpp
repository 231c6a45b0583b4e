// Files that were cut, that have a bit the wrong way round, that change while they are open, or that are
// large and dense.
#include <attend/checkpoint.h>
#include <gtest/gtest.h>

#include <csignal>
#include <numeric>

#include "checkpoint/peak_growth.h"
#include "checkpoint/safetensors_bytes.h"
#include "support/cpu_time.h"
#include "support/file_error.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

std::string good_file() { return safetensors_bytes(kGoodHeader, 20); }

TEST(DamagedFile, CutAtEveryByteIsRefused) {
  const TemporaryFolder folder;
  const std::string whole = good_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto path = folder.write("cut.safetensors", whole.substr(0, size));
    EXPECT_THROW(Checkpoint::open(path), FileError) << size;
  }
  EXPECT_NO_THROW(Checkpoint::open(folder.write("cut.safetensors", whole)));
}

// A flipped bit makes another name or another type of the same size, at most; what is accepted can be read to
// its last byte.
TEST(DamagedFile, EveryFlippedBitOfTheHeaderIsRefusedOrHarmless) {
  const TemporaryFolder folder;
  const std::string whole = good_file();
  int refused = 0, accepted = 0;
  for (std::size_t bit = 0; bit < 8 * (8 + kGoodHeader.size()); ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const auto path = folder.write("flipped.safetensors", bytes);
    try {
      const Checkpoint weights = Checkpoint::open(path);
      ++accepted;
      std::int64_t bytes_held = 0;
      for (const std::string& name : weights.names()) bytes_held += weights.info(name).bytes;
      EXPECT_EQ(bytes_held, 20) << bit;
    } catch (const FileError& error) {
      ++refused;
      EXPECT_EQ(error.file(), path.string());
    }  // anything else ends the test
  }
  EXPECT_GT(refused, accepted);
}

Checkpoint open_large(const TemporaryFolder& folder, std::filesystem::path& path) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[16384],"data_offsets":[0,65536]}})";
  path = folder.write("large.safetensors", safetensors_bytes(padded(header), 65536));
  return Checkpoint::open(path);
}

float sum_of(ConstTensorView view) {
  return std::accumulate(view.data<float>(), view.data<float>() + view.count(), 0.0f);
}

TEST(DamagedFile, CutWhileInUseIsAnErrorAndNoSignal) {
  const TemporaryFolder folder;
  std::filesystem::path path;
  const Checkpoint weights = open_large(folder, path);
  const ConstTensorView view = weights.tensor("a");
  weights.require_intact();
  std::filesystem::resize_file(path, 5000);
  volatile float sum = sum_of(view);  // most of it is no longer there
  (void)sum;
  EXPECT_EQ(view.data<float>()[16000], 0.0f);
  EXPECT_FILE_ERROR(weights.require_intact(), "", "was cut short");
  EXPECT_FILE_ERROR(weights.tensor("a"), "", "was cut short");
}

TEST(DamagedFile, CutWithinItsLastPageIsAnErrorToo) {
  const TemporaryFolder folder;
  std::filesystem::path path;
  const Checkpoint weights = open_large(folder, path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  EXPECT_FILE_ERROR(weights.require_intact(), "", "was cut short");
}

TEST(DamagedFile, AnotherFileUnderTheSameNameDoesNoHarm) {
  const TemporaryFolder folder;
  std::filesystem::path path;
  const Checkpoint weights = open_large(folder, path);
  const float before = weights.tensor("a").data<float>()[100];
  std::filesystem::rename(folder.write("new", "short"), path);
  EXPECT_EQ(weights.tensor("a").data<float>()[100], before);
  EXPECT_NO_THROW(weights.require_intact());
}

// A bus error that is not ours still does what it did.
TEST(DamagedFileDeathTest, OtherBusErrorsStillEndTheProgram) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer handles this signal itself";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const TemporaryFolder folder;
        std::filesystem::path path;
        const Checkpoint weights = open_large(folder, path);
        std::raise(SIGBUS);
      },
      testing::KilledBySignal(SIGBUS), "");
}

constexpr std::int64_t kMiB = 1 << 20;

TEST(DamagedFile, AClaimOfManyElementsTakesNoMemory) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "claim.safetensors",
      safetensors_bytes(
          R"({"t":{"dtype":"F32","shape":[1152921504606846976],"data_offsets":[0,4611686018427387904]}})",
          1024));
  const std::int64_t growth = peak_growth_of_opening(path);
  EXPECT_GE(growth, 0);
  EXPECT_LT(growth, 16 * kMiB);
}

// As many tensors, and as much metadata, as a header may hold; and a header that is one long name.
TEST(DamagedFile, DenseHeadersStayWithinTheirSize) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's own memory would be measured";
  const TemporaryFolder folder;
  std::string many = "{";
  for (int i = 0; i < (1 << 18) - 1; ++i) {
    many += '"' + std::to_string(i) + R"(":{"dtype":"I8","shape":[0],"data_offsets":[0,0]},)";
  }
  many += R"("__metadata__":{)";
  for (int i = 0; i < 1 << 18; ++i) many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"")";
  many += "}}";
  std::string name = "{\"" + std::string(30'000'000, 'x') + "\":[]}";
  std::string blank = "{" + std::string(30'000'000, ' ') + "}";
  std::string shapes = R"({"t":{"shape":[)";
  while (shapes.size() < 30'000'000) shapes += "0,";
  for (const std::string& header : {many, name, blank, shapes}) {
    const auto path = folder.write("dense.safetensors", safetensors_bytes(header, 0));
    const double start = cpu_seconds();
    const std::int64_t growth = peak_growth_of_opening(path);
    EXPECT_LT(cpu_seconds() - start, 1);
    EXPECT_GE(growth, 0);
    EXPECT_LT(growth, static_cast<std::int64_t>(header.size()) + 64 * kMiB);
  }
}

}  // namespace
}  // namespace attend
