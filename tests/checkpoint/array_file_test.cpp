// Arrays in files of NumPy: those that save.h writes come back, and those that lie are refused by their rule.
#include "checkpoint/array_file.h"

#include <attend/save.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "checkpoint/npy.h"
#include "io/crc32.h"
#include "support/compare.h"
#include "support/cpu_time.h"
#include "support/file_error.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace attend::checkpoint {
namespace {

std::string npy(std::string_view dictionary, std::size_t data, int version = 1) {
  std::string header(dictionary);
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + std::string(data, '\1');
}

std::string dictionary(std::string_view descr, std::string_view order, std::string_view shape) {
  return std::string("{'descr': ")
      .append(descr)
      .append(", 'fortran_order': ")
      .append(order)
      .append(", 'shape': ")
      .append(shape)
      .append(", }");
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ArrayFile, WhatIsSavedComesBack) {
  const TemporaryFolder folder;
  const Tensor floats = Tensor::from<float>({2, 3}, {1, -2, 3.5F, 0, 1e-30F, 6});
  const Tensor numbers = Tensor::from<std::int64_t>({4}, {0, 2, -5, std::int64_t{1} << 60});
  const Tensor none(DType::f32, {0, 7});
  const auto one = folder.path() / "one.npy", several = folder.path() / "several.npz",
             safe = folder.path() / "several.safetensors";
  const std::vector<NamedTensor> all{{"a", floats}, {"ids", numbers}, {"none", none}};
  save_npy(one, floats);
  save_npz(several, all);
  save_safetensors(safe, all);
  EXPECT_EQ(ArrayFile(one).arrays(), std::vector<std::string>{""});
  EXPECT_TRUE(same_bits(ArrayFile(one).read(""), floats));
  for (const auto& path : {several, safe}) {
    const ArrayFile file(path);
    EXPECT_EQ(file.arrays(), (std::vector<std::string>{"a", "ids", "none"}));
    EXPECT_TRUE(file.contains("ids"));
    EXPECT_FALSE(file.contains("id"));
    EXPECT_TRUE(same_bits(file.read("a"), floats));
    EXPECT_EQ(file.read("ids").values<std::int64_t>()[3], std::int64_t{1} << 60);
    EXPECT_EQ(file.read("none").shape(), (Dims{0, 7}));
    EXPECT_FILE_ERROR(file.read("b"), "b", "is not there");
  }
}

TEST(ArrayFile, OrdersTypesAndVersions) {
  const TemporaryFolder folder;
  const auto read = [&](std::string_view head, const std::vector<std::int32_t>& data, int version = 1) {
    std::string bytes = npy(head, 0, version);
    bytes.append(reinterpret_cast<const char*>(data.data()), data.size() * 4);
    return ArrayFile(folder.write("x.npy", bytes)).read("");
  };
  const std::vector<std::int32_t> six{1, 2, 3, -4, 5, 6};
  for (const int version : {1, 2, 3}) {
    const Tensor rows = read(dictionary("'<i4'", "False", "(2, 3)"), six, version);
    EXPECT_TRUE(same_bits(rows, Tensor::from<std::int64_t>({2, 3}, {1, 2, 3, -4, 5, 6})));
  }
  const Tensor columns = read(dictionary("'<i4'", "True", "(2, 3)"), six);
  EXPECT_TRUE(same_bits(columns, Tensor::from<std::int64_t>({2, 3}, {1, 3, 5, 2, -4, 6})));
  EXPECT_EQ(read(dictionary("'<i4'", "True", "(1, 3, 2)"), six).shape(), (Dims{1, 3, 2}));
  EXPECT_EQ(read(dictionary("'<f4'", "False", "()"), {0}).rank(), 0);
  const std::string huge = "(9223372036854775807, 0, 9223372036854775807, 7)";
  for (const char* const order : {"False", "True"}) {
    EXPECT_EQ(read(dictionary("'<f4'", order, huge), {}).count(), 0);
  }
  EXPECT_EQ(read("{'shape':(6,),'descr':'<f4','fortran_order':False}", six).shape(), (Dims{6}));
}

struct BadArray {
  const char* name;
  std::string bytes;
  const char* rule;
};

TEST(ArrayFile, BadArraysAreRefusedByTheirRule) {
  using namespace std::string_literals;
  const std::string four = "'<f4'", no = "False";
  const BadArray cases[] = {
      {"empty file", "", "does not begin as a .npy file does"},
      {"wrong magic", "\x93NUMPX\1\0", "does not begin as"},
      {"safetensors", "\2\0\0\0\0\0\0\0{}"s, "does not begin as"},
      {"magic alone", "\x93NUMPY", "has 6 bytes, too few for a header"},
      {"version 0", npy(dictionary(four, no, "(1,)"), 4, 0), "version 0"},
      {"version 9", npy(dictionary(four, no, "(1,)"), 4, 9), "version 9"},
      {"version 2 cut", "\x93NUMPY\2\0\1\0"s, "too few for a header"},
      {"header beyond the file", "\x93NUMPY\1\0\xFF\0{}"s, "header of 255 bytes, but only 2 follow"},
      {"header of 4 GB", "\x93NUMPY\2\0\xFF\xFF\xFF\xFF{}"s, "more than 65524"},
      {"no dictionary", npy("[]", 0), "has no \"{\""},
      {"ends early", npy("{'descr': '<f4'", 0), "has no \",\""},
      {"string without an end", npy("{'descr", 0), "a string without an end"},
      {"unknown key", npy("{'descr': '<f4', 'colour': 1}", 0), "the unknown key colour"},
      {"key twice", npy("{'descr': '<f4', 'descr': '<f4'}", 0), "the key descr twice"},
      {"shape missing", npy("{'descr': '<f4', 'fortran_order': False}", 0),
       "lacks descr, fortran_order or shape"},
      {"more after it", npy(dictionary(four, no, "(0,)") + "x", 0), "goes on after its dictionary"},
      {"order is a number", npy(dictionary(four, "0", "(1,)"), 4), "neither True nor False"},
      {"objects", npy(dictionary("'|O'", no, "(1,)"), 8), "Python objects"},
      {"records", npy(dictionary("[('x', '<f4')]", no, "(1,)"), 4), "records"},
      {"big-endian", npy(dictionary("'>f4'", no, "(1,)"), 4), "big-endian"},
      {"complex", npy(dictionary("'<c8'", no, "(1,)"), 8), "holds <c8, expected"},
      {"text", npy(dictionary("'<U3'", no, "(1,)"), 12), "holds <U3, expected"},
      {"type that drives a terminal", npy(dictionary("'\x1b[2J'", no, "(1,)"), 4), "\\x1b[2J"},
      {"negative size", npy(dictionary(four, no, "(-4,)"), 4), "a size that is not a count"},
      {"fractional size", npy(dictionary(four, no, "(4.0,)"), 16), "has no \",\""},
      {"size of 2^64", npy(dictionary(four, no, "(18446744073709551616,)"), 4), "a size that is not a count"},
      {"size that is a name", npy(dictionary(four, no, "(n,)"), 4), "a size that is not a count"},
      {"five dimensions", npy(dictionary(four, no, "(1, 1, 1, 1, 1)"), 4), "more than 4 dimensions"},
      {"2^60 numbers", npy(dictionary(four, no, "(1152921504606846976,)"), 4), "take 4611686018427387904"},
      {"product that wraps", npy(dictionary(four, no, "(4294967296, 4294967297)"), 16),
       "more numbers than 64 bits"},
      {"product that wraps to 0", npy(dictionary(four, no, "(4294967296, 4294967296)"), 0),
       "more numbers than"},
      {"a number too few", npy(dictionary(four, no, "(4,)"), 12), "has 12 bytes of numbers"},
      {"a byte too many", npy(dictionary(four, no, "(4,)"), 17), "has 17 bytes of numbers"},
  };
  const TemporaryFolder folder;
  for (const BadArray& bad : cases) {
    const auto path = folder.write("bad.npy", bad.bytes);
    const double start = cpu_seconds();
    EXPECT_FILE_ERROR(ArrayFile(path).read(""), "", bad.rule) << bad.name;
    EXPECT_LT(cpu_seconds() - start, 1) << bad.name;
  }
  EXPECT_FILE_ERROR(ArrayFile(folder.write("x.txt", "1 2 3")), "",
                    "does not end in .npy, .npz or .safetensors");
  EXPECT_FILE_ERROR(ArrayFile(folder.path() / "none.npy"), "", "cannot be read");
  EXPECT_FILE_ERROR(ArrayFile(folder.path()), "", "does not end in");
  std::filesystem::create_directory(folder.path() / "folder.npy");
  EXPECT_FILE_ERROR(ArrayFile(folder.path() / "folder.npy"), "", "is a folder");
}

// Two small arrays; a change at a place of the archive, told as "the first time these bytes stand there".
class Archive {
 public:
  Archive() {
    const Tensor a = Tensor::from<float>({2}, {1, 2}), b = Tensor::from<float>({1}, {3});
    const std::vector<NamedTensor> both{{"aa", a}, {"bb", b}};
    save_npz(folder_.path() / "a.npz", both);
    bytes = text_of(folder_.path() / "a.npz");
  }
  std::string with(std::size_t place, std::string_view text) const {
    std::string changed = bytes;
    return changed.replace(place, text.size(), text);
  }
  std::size_t directory() const { return bytes.find("PK\1\2"); }
  std::size_t end() const { return bytes.find("PK\5\6"); }
  std::string bytes;

 private:
  TemporaryFolder folder_;
};

TEST(ArrayFile, BadArchivesAreRefusedByTheirRule) {
  using namespace std::string_literals;
  const Archive archive;
  const std::size_t entry = archive.directory(), end = archive.end();
  const std::size_t second = archive.bytes.find("PK\1\2", entry + 1), data = archive.bytes.find("\x93NUMPY");
  const struct {
    const char* name;
    std::string bytes;
    const char* where;
    const char* rule;
  } cases[] = {
      {"empty file", "", "", "has 0 bytes"},
      {"no archive", std::string(100, 'x'), "", "does not end as an archive does"},
      {"bytes at the end", archive.bytes + "x", "", "does not end as an archive does"},
      {"bytes in front", "x" + archive.bytes, "", "where it is not"},
      {"more members than there are", archive.with(end + 10, "\3\0"s), "", "a directory that ends early"},
      {"fewer members than there are", archive.with(end + 10, "\1\0"s), "", "more than its members"},
      {"too many members", archive.with(end + 10, "\xF0\xFF"), "", "has 65520 members"},
      {"huge directory", archive.with(end + 12, "\xF0\xFF\xFF\x7F"), "", "a directory of 2147483632 bytes"},
      {"directory elsewhere", archive.with(end + 16, "\0\0\0\0"s), "", "where it is not"},
      {"compressed", archive.with(entry + 10, "\10\0"s), "aa.npy", "is compressed"},
      {"encrypted", archive.with(entry + 8, "\1\10"), "aa.npy", "is encrypted"},
      {"two sizes", archive.with(entry + 20, "\1\0\0\0"s), "aa.npy", "has two sizes"},
      {"size without its field", archive.with(entry + 20, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), "aa.npy",
       "outside"},
      {"long name", archive.with(entry + 28, "\xFF\xFF"), "", "a directory that ends early"},
      {"place outside", archive.with(entry + 42, "\xFF\xFF\xFF\x7F"), "aa.npy", "outside the archive"},
      {"place in the data", archive.with(entry + 42, "\4\0\0\0"s), "aa.npy",
       "is not where the directory says"},
      {"another name", archive.with(entry + 46, "ab"), "ab.npy", "another name in front of its data"},
      {"the same name twice", archive.with(second + 46, "aa"), "aa.npy", "is there twice"},
  };
  const TemporaryFolder folder;
  for (const auto& bad : cases) {
    const auto path = folder.write("bad.npz", bad.bytes);
    EXPECT_FILE_ERROR(ArrayFile(path).read("aa"), bad.where, bad.rule) << bad.name;
  }
  const auto flipped = folder.write("bad.npz", archive.with(data + 130, "\1"));
  EXPECT_FILE_ERROR(ArrayFile(flipped).read("aa"), "aa", "checksum");
}

// Whatever is done to a file, it is read or refused.
TEST(ArrayFile, EveryCutAndEveryBitOfAnArchive) {
  const Archive archive;
  const TemporaryFolder folder;
  const auto tries = [&](const std::string& bytes) {
    try {
      const ArrayFile file(folder.write("x.npz", bytes));
      for (const std::string& name : file.arrays()) (void)file.read(name);
      return true;
    } catch (const FileError&) {
      return false;
    }
  };
  EXPECT_TRUE(tries(archive.bytes));
  for (std::size_t cut = 0; cut < archive.bytes.size(); ++cut) {
    ASSERT_FALSE(tries(archive.bytes.substr(0, cut))) << cut;
  }
  for (std::size_t i = 0; i < archive.bytes.size(); i += kSanitized ? 7 : 1) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = archive.bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      tries(changed);
    }
  }
}

// A kilobyte that claims 2^60 numbers takes no memory for them.
TEST(ArrayFile, BelievesNoShape) {
  const TemporaryFolder folder;
  const auto path = folder.write("x.npy", npy(dictionary("'|b1'", "False", "(1152921504606846976,)"), 1000));
  const auto resident = [] {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0, pages = 0;
    file >> all >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  };
  const std::size_t before = resident();
  EXPECT_FILE_ERROR(ArrayFile(path).read(""), "", "has 1000 bytes of numbers");
  EXPECT_LT(resident(), before + (std::size_t{16} << 20));
}

}  // namespace
}  // namespace attend::checkpoint
