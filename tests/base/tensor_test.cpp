#include <attend/tensor.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

#include "support/emulated.h"
#include "support/refuses.h"
#include "support/sanitized.h"

namespace attend {
namespace {

TEST(Tensor, AnEmptyShapeMayHaveAnySizes) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const Dims shape{kHuge, 0, kHuge, 7};
  EXPECT_EQ(row_major_strides(shape).rank(), 4);
  EXPECT_EQ(Tensor(DType::f32, shape).count(), 0);
}

TEST(Tensor, OwnsZeroedAlignedMemory) {
  Tensor t(DType::f32, {3, 5});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.view().raw()) % 64, 0u);
  for (const float value : t.values<float>()) EXPECT_EQ(value, 0.0f);
}

// The flags that the system keeps for the memory at this address.
std::string memory_flags(const void* address) {
  std::ifstream file("/proc/self/smaps");
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx", &begin, &end) == 2) here = begin <= place && place < end;
    if (here && line.starts_with("VmFlags:")) return line;
  }
  return {};
}

TEST(Tensor, AsksForLargePagesWhereItHasRoom) {
  if (kEmulated) GTEST_SKIP() << "qemu makes up the flags of memory";
  Tensor t(DType::f32, {std::int64_t{3} << 20});  // 12 MiB
  for (const float value : t.values<float>()) ASSERT_EQ(value, 0.0f);
  const std::string flags = memory_flags(t.view().data<float>() + (1 << 20));
  if (flags.empty()) GTEST_SKIP() << "the system does not tell the flags of memory";
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) GTEST_SKIP() << "no huge pages here";
  EXPECT_NE(flags.find(" hg"), flags.npos) << flags;
}

TEST(Tensor, EmptyShapesAreLegal) {
  EXPECT_EQ(Tensor(DType::f32, {0, 5}).values<float>().size(), 0u);
  EXPECT_EQ(element_count({0, INT64_MAX, INT64_MAX}), 0);
  EXPECT_EQ(ConstTensorView(static_cast<const float*>(nullptr), Dims{2, 0}).count(), 0);
}

TEST(Tensor, RefusesWhatCannotBe) {
  EXPECT_REFUSES(Tensor(DType::f32, {-1, 2}), "[tensor] shape (-1, 2) has a negative size");
  EXPECT_REFUSES(
      Tensor(DType::f32, {1'000'000'000, 1'000'000'000, 1'000'000'000}),
      "[tensor] shape (1000000000, 1000000000, 1000000000) has more elements than 64 bits can count");
  EXPECT_REFUSES(Tensor(DType::f64, {INT64_MAX / 4}), "more bytes than 64 bits can count");
  EXPECT_REFUSES((Dims{1, 2, 3, 4, 5}), "[tensor] at most 4 dimensions, got 5");
  EXPECT_REFUSES(Tensor::from<float>({2, 2}, {1.0f, 2.0f}), "[tensor] shape (2, 2) needs 4 values, got 2");
  EXPECT_REFUSES(ConstTensorView(static_cast<const float*>(nullptr), Dims{2}),
                 "needs data, got a null pointer");
  const Tensor t(DType::f32, {2});
  EXPECT_REFUSES(t.values<double>(), "[tensor] asked for f64 data of a tensor that holds f32");
}

TEST(Tensor, MoreThanTheMachineHasIsAnErrorNotTheEnd) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer ends the program before the library is asked";
  try {
    Tensor(DType::f32, {std::int64_t{1} << 46});
    FAIL() << "accepted";
  } catch (const std::bad_alloc& error) {
    EXPECT_STREQ(error.what(),
                 "[tensor] no memory for shape (70368744177664,) of f32, 281474976710656 bytes");
  }
}

TEST(Tensor, WithoutArgumentsHasNoElements) {
  const Tensor empty;
  EXPECT_EQ(empty.count(), 0);
  EXPECT_EQ(empty.values<float>().size(), 0u);
}

TEST(Tensor, RefusesDataThatIsNotAligned) {
  alignas(8) const char bytes[16] = {};
  EXPECT_REFUSES(ConstTensorView(bytes + 1, DType::f32, {2}, {1}),
                 "[tensor] the data is not aligned for f32");
  EXPECT_NO_THROW(ConstTensorView(bytes + 1, DType::boolean, {2}, {1}));
}

// Any byte but 0 is true, and a copy says it with a 1, which is what a C++ bool must be.
TEST(Tensor, BooleansAreAnyByteAndCopyAsOne) {
  const unsigned char bytes[] = {0, 2, 0, 255};
  const Tensor copy = copy_of(ConstTensorView(static_cast<const void*>(bytes), DType::boolean, {2}, {2}));
  EXPECT_EQ(static_cast<const unsigned char*>(copy.view().raw())[0], 0);
  const Tensor dense = copy_of(ConstTensorView(static_cast<const void*>(bytes), DType::boolean, {4}, {1}));
  EXPECT_EQ(static_cast<const unsigned char*>(dense.view().raw())[3], 1);
  const Tensor odd = copy_of(ConstTensorView(static_cast<const void*>(bytes + 1), DType::boolean, {2}, {2}));
  EXPECT_EQ(static_cast<const unsigned char*>(odd.view().raw())[1], 1);
}

TEST(Tensor, ViewsShareMemory) {
  Tensor t = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const ConstTensorView columns = t.view().transposed(0, 1);
  EXPECT_EQ(columns.shape(), (Dims{3, 2}));
  EXPECT_EQ(copy_of(columns).values<float>()[1], 4.0f);
  EXPECT_EQ(t.view().select(0, 1).data<float>()[0], 4.0f);
  EXPECT_EQ(t.view().slice(1, 1, 3).data<float>()[0], 2.0f);
  const TensorView split = t.view().split(1, 3, 1);
  EXPECT_EQ(split.shape(), (Dims{2, 3, 1}));
  EXPECT_EQ(split.strides(), (Dims{3, 1, 1}));
  EXPECT_EQ(t.view().with_axis(0).shape(), (Dims{1, 2, 3}));
  EXPECT_REFUSES(t.view().select(0, 2), "[select] index 2 is out of range for axis 0 of (2, 3)");
  EXPECT_REFUSES(t.view().slice(1, 2, 4), "[slice] [2, 4) is out of range for axis 1 of (2, 3)");
  EXPECT_REFUSES(t.view().split(1, 2, 2), "[split] axis 1 of (2, 3) is not 2 x 2");
  EXPECT_REFUSES(t.view().transposed(0, 2), "[transposed] axis 2 is out of range for shape (2, 3)");
}

TEST(Tensor, CopyConvertsThroughAnyStrides) {
  const Tensor t = Tensor::from<double>({2, 2}, {1.0, 2.5, -3.0, 4.0});
  const Tensor half = copy_of(t.view().transposed(0, 1), DType::f16);
  EXPECT_EQ(to_float(half.values<float16>()[1]), -3.0f);
  const float backwards[] = {1, 2, 3};
  const Tensor reversed = copy_of(ConstTensorView(&backwards[2], {3}, {-1}));
  EXPECT_EQ(reversed.values<float>()[0], 3.0f);
  Tensor other(DType::f32, {4});
  EXPECT_REFUSES(copy(t, other), "[copy] shapes differ: (2, 2) and (4,)");
  EXPECT_REFUSES(copy(ConstTensorView(), other), "[copy] the source is not given");
  EXPECT_REFUSES(copy(Tensor(DType::f32, {}), TensorView()), "[copy] the target is not given");
  EXPECT_REFUSES(copy_of(ConstTensorView()), "[copy] the source is not given");
  EXPECT_REFUSES(copy_of(t, DType::boolean), "[copy] f64 and boolean do not convert");
}

TEST(Tensor, IndicesCopyAsTheyAre) {
  const std::int64_t far = INT64_MAX - 1;  // a double would round it
  const Tensor t = Tensor::from<std::int64_t>({2, 2}, {-1, far, 3, 4});
  const Tensor turned = copy_of(t.view().transposed(0, 1));
  EXPECT_EQ(turned.values<std::int64_t>()[1], 3);
  EXPECT_EQ(turned.values<std::int64_t>()[2], far);
  EXPECT_REFUSES(copy_of(t, DType::f64), "[copy] i64 and f64 do not convert");
  EXPECT_REFUSES(copy_of(t, DType::boolean), "[copy] i64 and boolean do not convert");
  EXPECT_REFUSES(t.values<double>(), "[tensor] asked for f64 data of a tensor that holds i64");
}

// 1 + 2^-8 is a tie between two bf16 neighbours; a hair above it, lost in f32, must still round up.
TEST(Tensor, DoubleToHalfRoundsOnce) {
  const Tensor t = Tensor::from<double>({2}, {1.0 + 0x1p-8, 1.0 + 0x1p-8 + 0x1p-40});
  const Tensor half = copy_of(t, DType::bf16);
  EXPECT_EQ(to_float(half.values<bfloat16>()[0]), 1.0f);
  EXPECT_EQ(to_float(half.values<bfloat16>()[1]), 1.0f + 0x1p-7f);
}

TEST(Fill, EveryElementOfAnyType) {
  Tensor numbers(DType::f32, {3, 4}), halves(DType::bf16, {5}), flags(DType::boolean, {2}),
      whole(DType::i64, {2});
  fill(numbers.view().slice(1, 1, 3), 2.5);
  const auto values = numbers.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], i % 4 == 1 || i % 4 == 2 ? 2.5F : 0);
  fill(halves, 1);
  EXPECT_EQ(to_float(halves.values<bfloat16>()[4]), 1);
  fill(flags, 1);
  fill(whole, -7);
  EXPECT_TRUE(flags.values<bool>()[1]);
  EXPECT_EQ(whole.values<std::int64_t>()[1], -7);
  EXPECT_REFUSES(fill(flags, 2), "[fill] value 2 is not a boolean");
  EXPECT_REFUSES(fill(whole, 0.5), "[fill] value 0.5 is not a whole number");
  EXPECT_REFUSES(fill(TensorView(), 0), "[fill] the tensor is not given");
}

}  // namespace
}  // namespace attend
