// What a good checkpoint gives, judged by files that the safetensors package wrote
// (tools/golden/make_checkpoints.py).
#include <attend/checkpoint.h>
#include <gtest/gtest.h>

#include <cstring>

#include "checkpoint/safetensors_bytes.h"
#include "support/file_error.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

const std::filesystem::path kGolden = ATTEND_GOLDEN_CHECKPOINTS;

TEST(Checkpoint, ReadsEveryTypeThatHasAView) {
  const Checkpoint weights = Checkpoint::open(kGolden / "types.safetensors");
  // Each tensor holds 0, 1, 2, ... in its own type, but for bool, which alternates.
  for (const auto& [name, dtype] : {std::pair("f32", DType::f32), std::pair("f64", DType::f64),
                                    std::pair("f16", DType::f16), std::pair("bf16", DType::bf16)}) {
    const ConstTensorView view = weights.tensor(name);
    ASSERT_EQ(view.dtype(), dtype) << name;
    ASSERT_EQ(view.shape(), (Dims{2, 3})) << name;
    const Tensor as_f64 = copy_of(view, DType::f64);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(as_f64.values<double>()[i], static_cast<double>(i)) << name;
  }
  const ConstTensorView integers = weights.tensor("i64");
  ASSERT_EQ(integers.shape(), (Dims{5}));
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(integers.data<std::int64_t>()[i], i);
  const ConstTensorView flags = weights.tensor("bool");
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(flags.data<bool>()[i], i % 2 == 1);
}

TEST(Checkpoint, ReadsScalarsAndEmptyTensors) {
  const Checkpoint weights = Checkpoint::open(kGolden / "types.safetensors");
  EXPECT_EQ(weights.tensor("scalar").rank(), 0);
  EXPECT_EQ(*weights.tensor("scalar").data<float>(), 7.5f);
  EXPECT_EQ(weights.tensor("empty").shape(), (Dims{0, 4}));
}

TEST(Checkpoint, SaysWhatItHolds) {
  const Checkpoint weights = Checkpoint::open(kGolden / "types.safetensors");
  EXPECT_EQ(weights.names(), (std::vector<std::string>{"bf16", "bool", "empty", "f16", "f32", "f64", "five",
                                                       "i64", "i8", "scalar"}));
  EXPECT_TRUE(weights.contains("f32"));
  EXPECT_FALSE(weights.contains("f3"));
  EXPECT_EQ(weights.metadata(),
            (std::map<std::string, std::string>{{"format", "pt"}, {"note", "\"quoted\" \u00e9"}}));
  const TensorInfo info = weights.info("i8");
  EXPECT_EQ(info.type, "I8");
  EXPECT_EQ(info.shape, (std::vector<std::int64_t>{4}));
  EXPECT_EQ(info.bytes, 4);
}

TEST(Checkpoint, RefusesByNameWhatHasNoView) {
  const Checkpoint weights = Checkpoint::open(kGolden / "types.safetensors");
  EXPECT_FILE_ERROR(weights.tensor("i8"), "i8", "holds I8");
  EXPECT_FILE_ERROR(weights.tensor("five"), "five", "has 5 dimensions");
  EXPECT_FILE_ERROR(weights.tensor("nobody"), "nobody", "is not there");
  EXPECT_FILE_ERROR(weights.info("nobody"), "nobody", "is not there");
}

TEST(Checkpoint, RefusesAnotherShapeThanExpected) {
  const Checkpoint weights = Checkpoint::open(kGolden / "types.safetensors");
  EXPECT_EQ(weights.tensor("f32", {2, 3}).raw(), weights.tensor("f32").raw());
  EXPECT_FILE_ERROR(weights.tensor("f32", {3, 2}), "f32", "has shape (2, 3), expected (3, 2)");
  EXPECT_FILE_ERROR(weights.tensor("f32", {6}), "f32", "has shape (2, 3), expected (6,)");
  EXPECT_FILE_ERROR(weights.tensor("nobody", {6}), "nobody", "is not there");
}

TEST(Checkpoint, PointsIntoTheFile) {
  const TemporaryFolder folder;
  const std::string header = padded(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})");
  const Checkpoint weights = Checkpoint::open(folder.write("m.safetensors", safetensors_bytes(header, 16)));
  const auto* const a = static_cast<const std::byte*>(weights.tensor("a").raw());
  EXPECT_EQ(static_cast<const std::byte*>(weights.tensor("b").raw()), a + 8);
}

TEST(Checkpoint, CopiesWhatIsNotAligned) {
  const TemporaryFolder folder;
  // One byte before it puts the floats at an odd address.
  const std::string bytes = safetensors_bytes(
      R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})",
      9);
  const Checkpoint weights = Checkpoint::open(folder.write("m.safetensors", bytes));
  const ConstTensorView b = weights.tensor("b");
  EXPECT_EQ(std::memcmp(b.data<float>(), bytes.data() + bytes.size() - 8, 8), 0);
  EXPECT_EQ(weights.tensor("b").raw(), b.raw()) << "copied twice";
}

TEST(Checkpoint, ViewsLiveAsLongAsACopyDoes) {
  const TemporaryFolder folder;
  std::optional<Checkpoint> first =
      Checkpoint::open(folder.write("m.safetensors", safetensors_bytes(kGoodHeader, 20)));
  const Checkpoint second = *first;
  const ConstTensorView view = first->tensor("a");
  first.reset();
  float expected = 0;
  std::memcpy(&expected, "\0\1\2\3", 4);
  EXPECT_EQ(view.data<float>()[0], expected);
}

TEST(Checkpoint, ForgottenMemoryCanBeReadAgain) {
  const TemporaryFolder folder;
  const std::size_t count = 1 << 16;
  const std::string header = R"({"a":{"dtype":"BOOL","shape":[65536],"data_offsets":[0,65536]}})";
  const Checkpoint weights =
      Checkpoint::open(folder.write("m.safetensors", safetensors_bytes(header, count)));
  const auto* const data = static_cast<const unsigned char*>(weights.tensor("a").raw());
  EXPECT_EQ(data[12345], 12345 % 256);
  weights.forget("a");
  EXPECT_EQ(data[12345], 12345 % 256);
}

TEST(Checkpoint, OpensAFolder) {
  const TemporaryFolder folder;
  EXPECT_FILE_ERROR(Checkpoint::open(folder.path()), "", "has neither model.safetensors");
  folder.write("model.safetensors", safetensors_bytes(kGoodHeader, 20));
  EXPECT_EQ(Checkpoint::open(folder.path()).names().size(), 2u);
}

TEST(Checkpoint, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_FILE_ERROR(Checkpoint::open(folder / "missing"), "", "cannot be read: No such file");
  EXPECT_FILE_ERROR(Checkpoint::open("/dev/zero"), "", "is a device, expected a file");
}

}  // namespace
}  // namespace attend
