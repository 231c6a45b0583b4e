// GGUF files as they should be: what is in them comes out.
#include <attend/checkpoint.h>
#include <attend/gguf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "support/file_error.h"
#include "support/gguf_bytes.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

GgufBytes every_type_of_value() {
  GgufBytes file;
  file.key("u8", 0, gguf_number(200, 1))
      .key("i8", 1, gguf_number(0xFF, 1))
      .key("u16", 2, gguf_number(60000, 2));
  file.key("i16", 3, gguf_number(0xFFFE, 2)).u32("u32", 4000000000).key("i32", 5, gguf_u32(0xFFFFFFFD));
  file.f32("f32", 0.1f)
      .boolean("yes", true)
      .boolean("no", false)
      .string("string",
              "Gr\xC3\xBC\xC3\x9F"
              "e");
  file.key("u64", 10, gguf_u64(std::uint64_t{1} << 62)).key("i64", 11, gguf_u64(~std::uint64_t{3}));
  file.key("f64", 12, gguf_u64(std::bit_cast<std::uint64_t>(0.1)));
  file.strings("words", {"a", "", "bc"}).floats("scores", {0, -1.5f}).integers("kinds", {1, -3, 6});
  file.array("flags", 7, 2, std::string("\1\0", 2)).array("none", 8, 0, "");
  file.key("large", 10, gguf_u64(~std::uint64_t{0})).f32("not finite", 1.0f / 0.0f).string("bytes", "\xFF");
  return file;
}

TEST(Gguf, EveryTypeOfValue) {
  const TemporaryFolder folder;
  const Gguf file = Gguf::open(folder.write("values.gguf", every_type_of_value().bytes()));
  EXPECT_EQ(file.keys().size(), 21u);
  EXPECT_EQ(file.at("u8").integer(), 200);
  EXPECT_EQ(file.at("i8").integer(), -1);
  EXPECT_EQ(file.at("u16").integer(), 60000);
  EXPECT_EQ(file.at("i16").integer(), -2);
  EXPECT_EQ(file.at("u32").integer(), 4000000000);
  EXPECT_EQ(file.at("i32").integer(), -3);
  EXPECT_EQ(file.at("u64").integer(), std::int64_t{1} << 62);
  EXPECT_EQ(file.at("i64").integer(), -4);
  EXPECT_EQ(file.at("f32").number(), static_cast<double>(0.1f));
  EXPECT_EQ(file.at("f64").number(), 0.1);
  EXPECT_EQ(file.at("i16").number(), -2);
  EXPECT_TRUE(file.at("yes").boolean());
  EXPECT_FALSE(file.at("no").boolean());
  EXPECT_EQ(file.at("string").string(),
            "Gr\xC3\xBC\xC3\x9F"
            "e");
  std::vector<std::string> words;
  file.at("words").for_each_string([&](std::string_view word) { words.emplace_back(word); });
  EXPECT_EQ(words, (std::vector<std::string>{"a", "", "bc"}));
  EXPECT_EQ(file.at("scores").numbers(), (std::vector<float>{0, -1.5f}));
  EXPECT_EQ(file.at("kinds").integers(), (std::vector<std::int64_t>{1, -3, 6}));
  EXPECT_EQ(file.at("flags").count(), 2u);
  EXPECT_EQ(file.at("flags").type(), GgufType::boolean);
  EXPECT_EQ(file.at("none").count(), 0u);
  EXPECT_FALSE(file.contains("nothing"));
  EXPECT_FALSE(file.find("string ").has_value());
}

TEST(Gguf, WhatIsAskedForAsSomethingElseIsRefused) {
  const TemporaryFolder folder;
  const Gguf file = Gguf::open(folder.write("values.gguf", every_type_of_value().bytes()));
  EXPECT_FILE_ERROR(file.at("nothing"), "nothing", "is not there");
  EXPECT_FILE_ERROR(file.at("f32").integer(), "f32", "is of type f32, expected a whole number");
  EXPECT_FILE_ERROR(file.at("yes").integer(), "yes", "is of type bool, expected a whole number");
  EXPECT_FILE_ERROR(file.at("kinds").integer(), "kinds", "is an array of type i32, expected a whole number");
  EXPECT_FILE_ERROR(file.at("string").number(), "string", "is of type string, expected a number");
  EXPECT_FILE_ERROR(file.at("u8").boolean(), "u8", "expected a bool");
  EXPECT_FILE_ERROR(file.at("words").string(), "words", "is an array of type string, expected a string");
  EXPECT_FILE_ERROR(file.at("bytes").string(), "bytes", "is not UTF-8");
  EXPECT_FILE_ERROR(file.at("string").integers(), "string", "expected an array of whole numbers");
  EXPECT_FILE_ERROR(file.at("scores").integers(), "scores", "expected an array of whole numbers");
  EXPECT_FILE_ERROR(file.at("words").numbers(), "words", "expected an array of numbers");
  EXPECT_FILE_ERROR(file.at("kinds").for_each_string([](auto) {}), "kinds", "expected an array of strings");
  EXPECT_FILE_ERROR(file.at("large").integer(), "large", "is 18446744073709551615, which 64 bits");
  EXPECT_FILE_ERROR(file.integer("u8", 0, 100), "u8", "is 200, expected a whole number from 0 to 100");
  EXPECT_FILE_ERROR(file.number("not finite"), "not finite", "is not a finite number");
  EXPECT_EQ(file.integer("nothing", 0, 1, 7), 7);
  EXPECT_EQ(file.number("nothing", 0.5), 0.5);
  EXPECT_TRUE(file.boolean("nothing", true));
  EXPECT_EQ(file.string("nothing", "x"), "x");
}

std::string floats_as_bytes(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += gguf_f32(static_cast<float>(i));
  return bytes;
}

TEST(Gguf, TensorsHaveRowsFirst) {
  const TemporaryFolder folder;
  for (const std::uint64_t version : {2, 3}) {
    for (const std::uint64_t alignment : {8, 32, 64, 4096}) {
      GgufBytes file;
      file.version = version;
      file.alignment = alignment;
      if (alignment != 32) file.u32("general.alignment", alignment);
      file.tensor("wide", {3, 2}, 0, floats_as_bytes(6)).tensor("empty", {0, 5}, 0, "");
      file.tensor("box", {2, 1, 3}, 0, floats_as_bytes(6)).tensor("one", {}, 0, floats_as_bytes(1));
      file.tensor("exact", {1}, 28, gguf_u64(std::bit_cast<std::uint64_t>(0.1)));
      const Checkpoint weights = Checkpoint::open(folder.write("tensors.bin", file.bytes()));
      EXPECT_EQ(weights.names(), (std::vector<std::string>{"box", "empty", "exact", "one", "wide"}));
      EXPECT_EQ(weights.tensor("wide").shape(), (Dims{2, 3}));
      EXPECT_EQ(weights.tensor("wide").data<float>()[5], 5);
      EXPECT_EQ(weights.tensor("box").shape(), (Dims{3, 1, 2}));
      EXPECT_EQ(weights.tensor("empty").shape(), (Dims{5, 0}));
      EXPECT_EQ(weights.tensor("one").rank(), 0);
      EXPECT_EQ(weights.tensor("exact").data<double>()[0], 0.1);
      EXPECT_FILE_ERROR(weights.tensor("wide", {3, 2}), "wide", "has shape (2, 3), expected (3, 2)");
      EXPECT_FILE_ERROR(weights.tensor("none"), "none", "is not there");
    }
  }
}

// An alignment of 1 leaves numbers where a processor may not read them.
TEST(Gguf, TensorsThatAreNotAlignedAreCopied) {
  const TemporaryFolder folder;
  GgufBytes file;
  file.alignment = 1;
  file.u32("general.alignment", 1)
      .string("x", "odd")
      .tensor("a", {3}, 24, "abc")
      .tensor("b", {4}, 0, floats_as_bytes(4));
  const Checkpoint weights = Checkpoint::open(folder.write("odd.gguf", file.bytes()));
  const ConstTensorView view = weights.tensor("b");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.raw()) % 4, 0u);
  EXPECT_EQ(view.data<float>()[3], 3);
  EXPECT_EQ(weights.metadata(), (std::map<std::string, std::string>{{"x", "odd"}}));
}

// A decoded tensor lasts until it is forgotten, and can be had again; looking at its shape decodes nothing.
TEST(Gguf, DecodedTensorsAreForgotten) {
  const TemporaryFolder folder;
  GgufBytes file;
  file.tensor(
      "q", {32, 2}, 8,
      std::string("\0\x3c", 2) + std::string(32, '\2') + std::string("\0\x3c", 2) + std::string(32, '\3'));
  const Checkpoint weights = Checkpoint::open(folder.write("q.gguf", file.bytes()));
  EXPECT_EQ(weights.form("q").shape, (Dims{2, 32}));
  EXPECT_EQ(weights.form("q").dtype, DType::f32);
  const float* const first = weights.tensor("q").data<float>();
  EXPECT_EQ(weights.tensor("q").data<float>(), first);
  EXPECT_EQ(first[63], 3);
  weights.forget("q");
  EXPECT_EQ(weights.tensor("q").data<float>()[0], 2);
}

TEST(Gguf, CutWhileInUseIsAnError) {
  const TemporaryFolder folder;
  GgufBytes file;
  file.strings("words", std::vector<std::string>(20000, "word"))
      .tensor("t", {16384}, 0, floats_as_bytes(16384));
  const auto path = folder.write("large.gguf", file.bytes());
  const Gguf gguf = Gguf::open(path);
  const Checkpoint weights = Checkpoint::open(path);
  const GgufValue words = gguf.at("words");
  std::filesystem::resize_file(path, 5000);
  // What is lost reads as zeros: strings become empty, and none lies outside of the file.
  std::uint64_t total = 0, count = 0;
  words.for_each_string([&](std::string_view word) { total += word.size(), ++count; });
  EXPECT_EQ(count, 20000u);
  EXPECT_LT(total, 5000u);
  EXPECT_FILE_ERROR(gguf.require_intact(), "", "was cut short");
  EXPECT_FILE_ERROR(weights.tensor("t"), "", "was cut short");
}

}  // namespace
}  // namespace attend
