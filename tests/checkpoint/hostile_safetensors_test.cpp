// Files that lie. Each is refused with the tensor and the rule, quickly, and without believing any number in
// it.
#include <attend/checkpoint.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "checkpoint/safetensors_bytes.h"
#include "support/cpu_time.h"
#include "support/file_error.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

struct BadFile {
  const char* name;
  std::string bytes;
  const char* where;
  const char* rule;
};

std::string with(std::string_view header, std::size_t data = 0) { return safetensors_bytes(header, data); }

// One tensor "t" of four floats, with one part of its entry replaced.
std::string entry(std::string_view dtype, std::string_view shape, std::string_view offsets,
                  std::size_t data = 16) {
  return with(std::string(R"({"t":{"dtype":)")
                  .append(dtype)
                  .append(R"(,"shape":)")
                  .append(shape)
                  .append(R"(,"data_offsets":)")
                  .append(offsets)
                  .append("}}"),
              data);
}

std::string deep(int levels) {
  std::string text = R"({"t":)";
  for (int i = 0; i < levels; ++i) text += '[';
  return text;
}

std::vector<BadFile> bad_files() {
  using namespace std::string_literals;
  const std::string four = R"("F32")", shape = "[4]", offsets = "[0,16]";
  return {
      // the file and its length
      {"empty file", "", "", "has 0 bytes"},
      {"seven bytes", "\1\0\0\0\0\0\0"s, "", "has 7 bytes"},
      {"length only", little_endian(2), "header", "but only 0 follow"},
      {"length of zero", little_endian(0) + "{}", "header", "does not begin with {"},
      {"length beyond the file", little_endian(3) + "{}", "header", "but only 2 follow"},
      {"length beyond the limit", little_endian(100'000'001) + "{}", "header", "more than 100000000"},
      {"length of 2^63", little_endian(std::uint64_t{1} << 63) + "{}", "header", "more than 100000000"},
      {"length of 2^64 - 1", little_endian(~std::uint64_t{0}) + "{}", "header", "more than 100000000"},
      {"length of 2^64 - 8, which wraps", little_endian(~std::uint64_t{7}) + "{}", "header", "more than"},
      {"zip archive", "PK\3\4 and so on, as in pytorch_model.bin"s, "header", "more than"},
      // the text
      {"begins with a blank", with(" {}"), "header", "does not begin with {"},
      {"byte order mark", with("\xEF\xBB\xBF{}"), "header", "does not begin with {"},
      {"array", with("[]"), "header", "does not begin with {"},
      {"ends early", with("{"), "header byte 1", "expected a key in double quotes, found the end"},
      {"second object", with("{}{}"), "header byte 2", "nothing after the last bracket"},
      {"padded with zeros", with("{}\0\0"s), "header byte 2", "nothing after the last bracket"},
      {"not UTF-8", with("{\"\xFF\":1}"), "header", "byte 2 is not UTF-8"},
      {"overlong UTF-8", with("{\"\xC0\x80\":1}"), "header", "byte 2 is not UTF-8"},
      {"UTF-8 surrogate", with("{\"\xED\xA0\x80\":1}"), "header", "byte 2 is not UTF-8"},
      {"cut UTF-8", with("{\"\xE2\x82"), "header", "byte 2 is not UTF-8"},
      {"control character in a name", with("{\"a\nb\":1}"), "header byte 3", "no bare control character"},
      {"unknown escape", with(R"({"a\x":1})"), "header byte 4", "an escape that JSON has"},
      {"lone surrogate escape", with(R"({"\ud800":1})"), "header byte 8", "surrogate pair"},
      {"reversed surrogates", with(R"({"\udc00\ud800":1})"), "header byte 8", "a high surrogate before"},
      {"short escape", with(R"({"\u12":1})"), "header byte 4", "four hexadecimal digits"},
      {"name without a value", with(R"({"t"})"), "header byte 4", "a colon"},
      {"trailing comma", with(R"({"t":{},})"), "t", "has no dtype"},
      {"trailing comma after metadata", with(R"({"__metadata__":{},})"), "header byte 19",
       "a key in double quotes"},
      {"single quotes", with("{'t':1}"), "header byte 1", "a key in double quotes"},
      {"comment", with("{/**/}"), "header byte 1", "a key in double quotes"},
      {"nested without end", with(deep(50)), "t", "expected an object, found an array"},
      {"nested deeply in a shape", with(R"({"t":{"shape":[[[[)"), "t", "expected a number, found an array"},
      // names
      {"tensor twice",
       with(
           R"({"t":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"t":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})"),
       "header", "\"t\" twice"},
      {"tensor twice, once escaped",
       with(
           R"({"t":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"\u0074":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})"),
       "header", "\"t\" twice"},
      {"dtype twice", with(R"({"t":{"dtype":"F32","dtype":"F32","shape":[0],"data_offsets":[0,0]}})"), "t",
       "\"dtype\" twice"},
      {"shape twice", with(R"({"t":{"dtype":"F32","shape":[0],"shape":[0],"data_offsets":[0,0]}})"), "t",
       "\"shape\" twice"},
      {"offsets twice",
       with(R"({"t":{"dtype":"F32","shape":[0],"data_offsets":[0,0],"data_offsets":[0,0]}})"), "t",
       "\"data_offsets\" twice"},
      {"metadata twice", with(R"({"__metadata__":{},"__metadata__":{}})"), "header",
       "\"__metadata__\" twice"},
      {"metadata key twice", with(R"({"__metadata__":{"k":"1","k":"2"}})"), "__metadata__", "\"k\" twice"},
      {"metadata that is not text", with(R"({"__metadata__":{"k":1}})"), "__metadata__",
       "expected a string, found a number"},
      {"metadata that is not an object", with(R"({"__metadata__":"pt"})"), "__metadata__",
       "expected an object"},
      {"name that drives a terminal", with("{\"\\u001b[2J\":1}"), "\\x1b[2J", "expected an object"},
      // entries
      {"tensor that is null", with(R"({"t":null})"), "t", "expected an object, found null"},
      {"no dtype", with(R"({"t":{"shape":[4],"data_offsets":[0,16]}})", 16), "t", "has no dtype"},
      {"no shape", with(R"({"t":{"dtype":"F32","data_offsets":[0,16]}})", 16), "t", "has no shape"},
      {"no offsets", with(R"({"t":{"dtype":"F32","shape":[4]}})", 16), "t", "has no data_offsets"},
      {"unknown key", with(R"({"t":{"dtype":"F32","strides":[1]}})", 16), "t", "the unknown key \"strides\""},
      {"unknown type", entry(R"("F31")", shape, offsets), "t", "the unknown type \"F31\""},
      {"type in small letters", entry(R"("f32")", shape, offsets), "t", "the unknown type"},
      {"type that is a number", entry("32", shape, offsets), "t", "expected a string"},
      {"shape that is a number", entry(four, "4", offsets), "t", "expected an array, found a number"},
      {"negative size", entry(four, "[-4]", offsets), "t", "size -4 is negative"},
      {"two negative sizes, whose product fits", entry(four, "[-2,-2]", offsets), "t", "is negative"},
      {"fractional size", entry(four, "[4.0]", offsets), "t", "expected a whole number, found 4.0"},
      {"size with an exponent", entry(four, "[4e0]", offsets), "t", "expected a whole number"},
      {"size as text", entry(four, R"(["4"])", offsets), "t", "expected a number, found a string"},
      {"size with a leading zero", entry(four, "[04]", offsets), "header byte 30",
       "no digit after a leading zero"},
      {"size of 2^63", entry(four, "[9223372036854775808]", offsets), "t", "beyond 64-bit"},
      {"size with a thousand digits", entry(four, "[1" + std::string(1000, '0') + "]", offsets), "t",
       "beyond 64-bit"},
      {"2^60 elements", entry(four, "[1152921504606846976]", offsets), "t", "has a shape with more elements"},
      {"2^58 elements", entry(four, "[288230376151711744]", offsets), "t",
       "has 16 bytes, but its type and shape take"},
      {"product that wraps to 16 bytes", entry(four, "[4294967296,4294967297]", offsets), "t",
       "more elements than"},
      {"product that wraps to zero", entry(four, "[4294967296,4294967296]", "[0,0]", 0), "t",
       "more elements than"},
      {"nine dimensions", entry(four, "[4,1,1,1,1,1,1,1,1]", offsets), "t", "more than 8 dimensions"},
      {"half a byte", entry(R"("F4")", "[3]", "[0,1]", 1), "t", "has 12 bits, not whole bytes"},
      // offsets
      {"one offset", entry(four, shape, "[16]"), "t", "has 1 numbers, expected two"},
      {"three offsets", entry(four, shape, "[0,16,16]"), "t", "more than two numbers"},
      {"negative offset", entry(four, shape, "[-16,0]"), "t", "offset -16 is negative"},
      {"ends before it begins", entry(four, shape, "[16,0]"), "t", "before it begins"},
      {"too few bytes", entry(four, shape, "[0,12]", 12), "t",
       "has 12 bytes, but its type and shape take 16"},
      {"too many bytes", entry(four, shape, "[0,20]", 20), "t",
       "has 20 bytes, but its type and shape take 16"},
      {"beyond the file", entry(four, shape, offsets, 15), "t", "ends at byte 16 of the data, which has 15"},
      {"far beyond the file", entry(four, shape, "[9223372036854775791,9223372036854775807]"), "t",
       "ends at byte"},
      {"hole in front", entry(four, shape, "[4,20]", 20), "t", "after a hole from byte 0"},
      {"bytes at the end", entry(four, shape, offsets, 17), "", "has 1 bytes after its last tensor"},
      {"data without tensors", with("{}", 4), "", "has 4 bytes after its last tensor"},
      {"hole between",
       with(
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
           12),
       "b", "after a hole from byte 4"},
      {"overlap",
       with(
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
           12),
       "b", "inside another tensor"},
      {"the same bytes twice",
       with(
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
           4),
       "b", "inside another tensor"},
      {"empty tensor inside another",
       with(
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})",
           8),
       "b", "inside another tensor"},
  };
}

TEST(HostileSafetensors, EachFileIsRefusedByItsRule) {
  const TemporaryFolder folder;
  const auto files = bad_files();
  EXPECT_GE(files.size(), 60u);
  for (const BadFile& bad : files) {
    const auto path = folder.write("bad.safetensors", bad.bytes);
    const double start = cpu_seconds();
    EXPECT_FILE_ERROR(Checkpoint::open(path), bad.where, bad.rule) << bad.name;
    EXPECT_LT(cpu_seconds() - start, 1) << bad.name;
  }
}

TEST(HostileSafetensors, ErrorsNameTheFile) {
  const TemporaryFolder folder;
  const auto path = folder.write("bad.safetensors", "");
  try {
    Checkpoint::open(path);
    FAIL();
  } catch (const FileError& error) {
    EXPECT_EQ(error.file(), path.string());
  }
}

// What the rules allow, close to what they refuse.
TEST(HostileSafetensors, AcceptsWhatIsOdd) {
  const TemporaryFolder folder;
  const auto accepts = [&](const std::string& bytes) {
    Checkpoint::open(folder.write("odd.safetensors", bytes));
  };
  accepts(with("{}"));
  accepts(with("{ \n\t}      "));
  accepts(with(R"({"__metadata__":{}})"));
  accepts(entry(R"("F32")", "[]", "[0,4]", 4));
  accepts(entry(R"("F32")", "[0]", "[0,0]", 0));
  accepts(entry(R"("F32")", "[0,9223372036854775807]", "[0,0]", 0));
  accepts(entry(R"("F4")", "[2]", "[0,1]", 1));
  accepts(entry(R"("F32")", "[4,1,1,1,1,1,1,1]", "[0,16]"));
  accepts(with(R"({"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1));
  accepts(with(
      R"({"b":{"dtype":"F32","shape":[0],"data_offsets":[4,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      4));
}

}  // namespace
}  // namespace attend
