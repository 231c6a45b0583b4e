// GGUF files that lie. Each is refused with the key or tensor and the rule, quickly, and without believing
// any number in it.
#include <attend/checkpoint.h>
#include <gtest/gtest.h>

#include <vector>

#include "checkpoint/peak_growth.h"
#include "support/cpu_time.h"
#include "support/file_error.h"
#include "support/gguf_bytes.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

struct BadGguf {
  const char* name;
  std::string bytes;
  const char* where;
  const char* rule;
};

constexpr std::uint64_t kAll = ~std::uint64_t{0}, kTop = std::uint64_t{1} << 63;

std::string head(std::uint64_t version, std::uint64_t tensors, std::uint64_t keys) {
  return "GGUF" + gguf_u32(version) + gguf_u64(tensors) + gguf_u64(keys);
}

std::string with_key(std::string_view name, std::uint64_t type, const std::string& value) {
  return GgufBytes().key(name, type, value).bytes();
}

std::string with_array(std::uint64_t type, std::uint64_t count, const std::string& values) {
  return GgufBytes().array("a", type, count, values).bytes();
}

std::string with_tensor(const std::vector<std::uint64_t>& dims, std::uint64_t type,
                        std::uint64_t offset = 0) {
  return GgufBytes().tensor_at("t", dims, type, offset, std::string(64, '\0')).bytes();
}

std::string with_alignment(std::uint64_t alignment) {
  GgufBytes file;
  file.u32("general.alignment", alignment).tensor("t", {4}, 0, std::string(16, '\0'));
  return file.bytes();
}

std::vector<BadGguf> bad_gguf_files() {
  using namespace std::string_literals;
  const std::string sixteen(16, '\0');
  std::vector<BadGguf> files = {
      // the beginning
      {"four bytes", "GGUF", "version", "the file ends inside the number"},
      {"half a version", "GGUF\3\0"s, "version", "takes 4 bytes where 2 are left"},
      {"no counts", "GGUF\3\0\0\0"s, "tensor count", "the file ends inside the number"},
      {"no count of keys", "GGUF\3\0\0\0\0\0\0\0\0\0\0\0"s, "key count", "the file ends inside"},
      {"version 0", head(0, 0, 0), "version", "is 0, attend reads 2 and 3"},
      {"version 1", head(1, 0, 0), "version", "is 1, attend reads 2 and 3"},
      {"version 4", head(4, 0, 0), "version", "is 4, attend reads 2 and 3"},
      {"version 2^32 - 1", head(0xFFFFFFFF, 0, 0), "version", "is 4294967295, attend reads 2 and 3"},
      {"big-endian version 3", head(0x03000000, 0, 0), "version", "big-endian files are not supported"},
      {"big-endian version 2", head(0x02000000, 0, 0), "version", "big-endian files are not supported"},
      // counts
      {"2^64 - 1 tensors", head(3, kAll, 0), "tensor count", "is 18446744073709551615, expected at most"},
      {"2^63 tensors", head(3, kTop, 0), "tensor count", "expected at most 65536"},
      {"65537 tensors", head(3, 65537, 0), "tensor count", "expected at most 65536"},
      {"one tensor that is not there", head(3, 1, 0), "tensor count", "have no room for them"},
      {"2^64 - 1 keys", head(3, 0, kAll), "key count", "is 18446744073709551615, expected at most"},
      {"2^63 keys", head(3, 0, kTop), "key count", "expected at most 65536"},
      {"keys whose bytes wrap", head(3, 0, kAll / 14 + 1), "key count", "expected at most 65536"},
      {"one key that is not there", head(3, 0, 1), "key count", "have no room for them"},
      {"65536 keys in 100 bytes", head(3, 0, 65536) + std::string(100, '\0'), "key count", "no room for them"},
      {"65536 tensors in 100 bytes", head(3, 65536, 0) + std::string(100, '\0'), "tensor count", "no room"},
      // keys
      {"key of 2^64 - 1 bytes", head(3, 0, 1) + gguf_u64(kAll) + sixteen, "key 0", "ends inside the name"},
      {"key of 2^63 bytes", head(3, 0, 1) + gguf_u64(kTop) + sixteen, "key 0", "ends inside the name"},
      {"key one byte beyond the end", head(3, 0, 1) + gguf_u64(17) + sixteen, "key 0", "takes 17 bytes where 16"},
      {"key without a name", with_key("", 4, gguf_u32(1) + sixteen), "key 0", "has no name"},
      {"key of 65536 bytes", with_key(std::string(65536, 'k'), 4, gguf_u32(1)), "key 0", "has a name of 65536 bytes"},
      {"key that is not UTF-8", with_key("\xFF\xFE", 4, gguf_u32(1)), "key 0", "has a name that is not UTF-8"},
      {"overlong UTF-8 in a key", with_key("\xC0\x80", 4, gguf_u32(1)), "key 0", "not UTF-8"},
      {"the same key twice", GgufBytes().u32("k", 1).u32("k", 1).bytes(), "k", "is there twice"},
      {"the same key, another type", GgufBytes().u32("k", 1).string("k", "x").bytes(), "k", "is there twice"},
      {"the same key far apart", GgufBytes().u32("k", 1).u32("b", 1).u32("z", 1).u32("k", 1).bytes(), "k", "is there twice"},
      {"key with a terminal's escape", GgufBytes().u32("\x1b[2J", 1).u32("\x1b[2J", 1).bytes(), "\\x1b[2J", "is there twice"},
      {"second key cut off", [] { GgufBytes f; f.extra_keys = 1; return f.u32("a", 1).string("b", std::string(20, 'x')).bytes(); }(), "key 2", "has no name"},
      // values
      {"type 13", with_key("k", 13, sixteen), "k", "its type is 13, and there are types 0 to 12"},
      {"type 2^32 - 1", with_key("k", 0xFFFFFFFF, sixteen), "k", "its type is 4294967295"},
      {"bool of 2", with_key("k", 7, "\2"), "k", "is 2, expected 0 or 1"},
      {"string of 2^64 - 1 bytes", with_key("k", 8, gguf_u64(kAll) + sixteen), "k", "ends inside its string"},
      {"string of 2^64 - 8 bytes, which wraps", with_key("k", 8, gguf_u64(kAll - 7) + sixteen), "k", "ends inside its string"},
      {"string beyond the end", with_key("k", 8, gguf_u64(1000) + sixteen), "k", "takes 1000 bytes"},
      // arrays
      {"array of arrays", with_array(9, 1, gguf_u32(4) + gguf_u64(1) + gguf_u32(1)), "a", "is an array of arrays"},
      {"arrays a thousand deep", [] { std::string nested; for (int i = 0; i < 1000; ++i) nested += gguf_u32(9) + gguf_u64(1); return with_key("a", 9, nested); }(), "a", "is an array of arrays"},
      {"array of type 13", with_array(13, 1, sixteen), "a", "the type of its elements is 13"},
      {"array of type 2^31", with_array(std::uint64_t{1} << 31, 1, sixteen), "a", "the type of its elements is"},
      {"2^64 - 1 bytes", with_array(0, kAll, sixteen), "a", "no room for them"},
      {"2^61 elements of 8 bytes, which wrap", with_array(10, std::uint64_t{1} << 61, sixteen), "a", "no room for them"},
      {"2^62 elements of 4 bytes, which wrap", with_array(6, std::uint64_t{1} << 62, sixteen), "a", "no room for them"},
      {"2^60 strings", with_array(8, std::uint64_t{1} << 60, sixteen), "a", "no room for them"},
      {"more strings than bytes", with_array(8, 1000, sixteen), "a", "no room for them"},
      {"a string of an array beyond the end", with_array(8, 2, gguf_u64(0) + gguf_u64(100)), "a", "ends inside one of its strings"},
      {"a string of an array of 2^64 - 1 bytes", with_array(8, 1, gguf_u64(kAll) + sixteen), "a", "ends inside one of its strings"},
      {"an array that ends in the middle", head(3, 0, 1) + gguf_string("a") + gguf_u32(9) + gguf_u32(6) + gguf_u64(5) + sixteen, "a", "has 5 elements"},
      // alignment
      {"alignment 0", with_alignment(0), "general.alignment", "is 0, expected a power of two"},
      {"alignment 3", with_alignment(3), "general.alignment", "is 3, expected a power of two"},
      {"alignment 48", with_alignment(48), "general.alignment", "is 48, expected a power of two"},
      {"alignment 2^31", with_alignment(std::uint64_t{1} << 31), "general.alignment", "expected a power of two up to 1048576"},
      {"alignment 2^32 - 1", with_alignment(0xFFFFFFFF), "general.alignment", "expected a power of two"},
      {"alignment of another type", GgufBytes().key("general.alignment", 10, gguf_u64(32)).bytes(), "general.alignment", "is not of the type u32"},
      {"alignment as a list", GgufBytes().array("general.alignment", 4, 1, gguf_u32(32)).bytes(), "general.alignment", "is not of the type u32"},
      {"alignment that the file does not keep", [] { GgufBytes f; f.u32("general.alignment", 64); return f.tensor("a", {1}, 0, "1234").tensor("b", {1}, 0, "1234").bytes(); }(), "b", "begins at byte 32 of the data, expected 64"},
      {"one of several files", GgufBytes().key("split.count", 2, gguf_number(3, 2)).bytes(), "split.count", "this is one of 3 files"},
      // tensors
      {"tensor name of 2^64 - 1 bytes", GgufBytes().raw_tensor(gguf_u64(kAll) + std::string(64, 'x')).bytes(), "tensor 0", "ends inside the name"},
      {"tensor without a name", GgufBytes().tensor("", {1}, 0, "1234").bytes(), "tensor 0", "has no name"},
      {"tensor name of 65 bytes", GgufBytes().tensor(std::string(65, 't'), {1}, 0, "1234").bytes(), "tensor 0", "has a name of 65 bytes"},
      {"tensor name that is not UTF-8", GgufBytes().tensor("\x80", {1}, 0, "1234").bytes(), "tensor 0", "not UTF-8"},
      {"the same tensor twice", GgufBytes().tensor("t", {1}, 0, "1234").tensor("t", {1}, 0, "1234").bytes(), "t", "is there twice"},
      {"five dimensions", with_tensor({1, 1, 1, 1, 1}, 0), "t", "has 5 dimensions, expected at most 4"},
      {"2^32 - 1 dimensions", GgufBytes().raw_tensor(gguf_string("t") + gguf_u32(0xFFFFFFFF) + std::string(64, '\0')).bytes(), "t", "has 4294967295 dimensions"},
      {"dimension of 2^64 - 1", with_tensor({kAll}, 0), "t", "has the dimension 18446744073709551615"},
      {"dimension of 2^63", with_tensor({kTop}, 0), "t", "has the dimension 9223372036854775808"},
      {"2^62 elements", with_tensor({std::uint64_t{1} << 62}, 0), "t", "more elements than 64 bits can count"},
      {"product that wraps to 0", with_tensor({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0), "t", "more elements than"},
      {"product that wraps to 4", with_tensor({4, 0x4000000000000001}, 0), "t", "more elements than"},
      {"four sizes that wrap", with_tensor({1 << 16, 1 << 16, 1 << 16, 1 << 16}, 0), "t", "more elements than"},
      {"2^59 elements of 8 bytes", with_tensor({std::uint64_t{1} << 59}, 28), "t", "ends at byte 4611686018427387904 of the data"},
      {"2^40 elements in 64 bytes", with_tensor({std::uint64_t{1} << 40}, 0), "t", "ends at byte 4398046511104 of the data, which has 64"},
      {"type 4, which was given up", with_tensor({32}, 4), "t", "has the type 4, which attend does not know"},
      {"type 1000", with_tensor({32}, 1000), "t", "has the type 1000"},
      {"type 2^32 - 1", with_tensor({32}, 0xFFFFFFFF), "t", "has the type 4294967295"},
      {"rows that are not whole blocks of 32", with_tensor({33}, 2), "t", "has rows of 33 numbers, not whole blocks of 32"},
      {"rows that are not whole blocks of 256", with_tensor({128, 2}, 12), "t", "not whole blocks of 256, as Q4_K needs"},
      {"a number of type Q8_0", GgufBytes().tensor("t", {}, 8, std::string(34, 'x')).bytes(), "t", "has rows of 1 numbers"},
      {"offset of 2^64 - 1", with_tensor({4}, 0, kAll), "t", "ends after 2^64"},
      {"offset of 2^64 - 32", with_tensor({8}, 0, kAll - 31), "t", "ends after 2^64"},
      {"offset of 2^63", with_tensor({4}, 0, kTop), "t", "begins at byte 9223372036854775808"},
      {"offset that is not aligned", with_tensor({4}, 0, 4), "t", "begins at byte 4 of the data, expected 0"},
      {"hole in front", with_tensor({4}, 0, 32), "t", "begins at byte 32 of the data, expected 0"},
      {"overlap", GgufBytes().tensor("a", {8}, 0, std::string(32, 'a')).tensor_at("b", {8}, 0, 0, std::string(32, 'b')).bytes(), "b", "begins at byte 0 of the data, expected 32"},
      {"hole between", GgufBytes().tensor("a", {8}, 0, std::string(32, 'a')).tensor_at("b", {8}, 0, 64, std::string(64, 'b')).bytes(), "b", "begins at byte 64 of the data, expected 32"},
      {"beyond the file", GgufBytes().tensor("a", {8}, 0, "").bytes(), "a", "ends at byte 32 of the data, which has 0"},
      {"last tensor beyond the file", GgufBytes().tensor("a", {8}, 0, std::string(32, 'a')).tensor("b", {9}, 0, std::string(32, 'b')).bytes(), "b", "ends at byte 68 of the data, which has 64"},
      {"tensor info cut off", [] { GgufBytes f; f.extra_tensors = 1; return f.tensor("t", {1}, 0, "").bytes(); }(), "tensor count", "is 2, and the 40 bytes"},
  };
  return files;
}

TEST(HostileGguf, EachFileIsRefusedByItsRule) {
  const TemporaryFolder folder;
  const auto files = bad_gguf_files();
  EXPECT_GE(files.size(), 80u);
  for (const BadGguf& bad : files) {
    const auto path = folder.write("bad.gguf", bad.bytes);
    const double start = cpu_seconds();
    EXPECT_FILE_ERROR(Checkpoint::open(path), bad.where, bad.rule) << bad.name;
    EXPECT_LT(cpu_seconds() - start, 1) << bad.name;
  }
}

GgufBytes good_gguf() {
  GgufBytes file;
  file.string("general.architecture", "llama").u32("general.alignment", 32).strings("words", {"a", "bc"});
  file.array("flags", 7, 2, std::string("\1\0", 2)).f32("eps", 1e-5f);
  file.tensor("a", {3}, 0, std::string(12, '\1')).tensor("q", {32}, 2, std::string(18, '\2'));
  return file;
}

TEST(HostileGguf, CutAtEveryByteIsRefused) {
  const TemporaryFolder folder;
  const std::string whole = good_gguf().bytes();
  const std::size_t needed = good_gguf().header().size() + 32 + 18;  // the last tensor need not be padded
  for (std::size_t size = 0; size < needed; ++size)
    EXPECT_THROW(Checkpoint::open(folder.write("cut.gguf", whole.substr(0, size))), FileError) << size;
  for (std::size_t size = needed; size <= whole.size(); ++size)
    EXPECT_NO_THROW(Checkpoint::open(folder.write("cut.gguf", whole.substr(0, size)))) << size;
}

// What is accepted can be read to its last byte.
TEST(HostileGguf, EveryFlippedBitOfTheHeaderIsRefusedOrHarmless) {
  const TemporaryFolder folder;
  const std::string whole = good_gguf().bytes();
  int refused = 0;
  for (std::size_t bit = 32; bit < 8 * good_gguf().header().size(); ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const auto path = folder.write("flipped.gguf", bytes);
    try {
      const Checkpoint weights = Checkpoint::open(path);
      weights.metadata();
      for (const std::string& name : weights.names()) {
        const TensorInfo info = weights.info(name);
        if (info.type[0] != 'F' && info.type != "Q4_0") continue;
        const Tensor copy = copy_of(weights.tensor(name), DType::f64);
        EXPECT_LE(copy.count(), 64);
      }
    } catch (const FileError& error) {
      ++refused;
      EXPECT_EQ(error.file(), path.string());
    }  // anything else ends the test
  }
  EXPECT_GT(refused, 500);
}

// As many keys, strings and tensors as there may be, and numbers that claim more: memory stays near the
// file's size.
TEST(HostileGguf, DenseFilesStayWithinTheirSize) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's own memory would be measured";
  GgufBytes keys, tensors;
  for (int i = 0; i < 65536; ++i) keys.key("k" + std::to_string(i), 0, "x");
  for (int i = 0; i < 65536; ++i)
    tensors.tensor(std::string(40, 't') + std::to_string(i), {0, 0, 0, 0}, 0, "");
  const std::vector<std::string> files = {
      keys.bytes(), tensors.bytes(),
      GgufBytes().array("a", 8, 4'000'000, std::string(32'000'000, '\0')).bytes(),
      GgufBytes().tensor("t", {std::uint64_t{1} << 58}, 0, std::string(1024, '\0')).bytes()};
  for (const std::string& bytes : files) {
    const TemporaryFolder folder;
    const auto path = folder.write("dense.gguf", bytes);
    const double start = cpu_seconds();
    const std::int64_t growth = peak_growth_of_opening(path);
    EXPECT_LT(cpu_seconds() - start, 1);
    EXPECT_GE(growth, 0);
    EXPECT_LT(growth, static_cast<std::int64_t>(bytes.size()) + (std::int64_t{64} << 20));
  }
}

// What the rules allow, close to what they refuse.
TEST(HostileGguf, AcceptsWhatIsOdd) {
  const TemporaryFolder folder;
  const auto accepts = [&](const GgufBytes& file) {
    Checkpoint::open(folder.write("odd.gguf", file.bytes()));
  };
  accepts(GgufBytes());
  accepts(GgufBytes().strings("a", {}).tensor("t", {0}, 0, "").tensor("u", {0, 7}, 0, ""));
  accepts(GgufBytes().tensor(std::string(64, 't'), {1, 1, 1, 1}, 0, "1234"));
  accepts(GgufBytes().key("split.count", 2, gguf_number(1, 2)).key(std::string(65535, 'k'), 7, "\1"));
  GgufBytes wide;
  wide.alignment = 1 << 20;
  accepts(wide.u32("general.alignment", 1 << 20).tensor("t", {1}, 0, "1234"));
}

}  // namespace
}  // namespace attend
