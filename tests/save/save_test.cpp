#include <attend/checkpoint.h>
#include <attend/save.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <vector>

#include "io/crc32.h"
#include "support/file_error.h"
#include "support/refuses.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Tensor counted(const Dims& shape) {
  Tensor tensor(DType::f32, shape);
  std::iota(tensor.values<float>().begin(), tensor.values<float>().end(), 0.0f);
  return tensor;
}

std::string bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.view().raw()),
          static_cast<std::size_t>(tensor.count()) * size_of(tensor.dtype())};
}

// What numpy.save writes in front of the data, with the blanks at the end taken away.
std::string npy_dictionary(const std::string& npy) {
  EXPECT_EQ(npy.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t length = static_cast<unsigned char>(npy[8]) + 256u * static_cast<unsigned char>(npy[9]);
  EXPECT_EQ((10 + length) % 64, 0u);
  EXPECT_EQ(npy[9 + length], '\n');
  std::string text = npy.substr(10, length - 1);
  return text.substr(0, text.find_last_not_of(' ') + 1);
}
std::string npy_data(const std::string& npy) {
  return npy.substr(10 + static_cast<unsigned char>(npy[8]) + 256u * static_cast<unsigned char>(npy[9]));
}

TEST(SaveNpy, HasNumpysHeader) {
  const TemporaryFolder folder;
  const Tensor tensor = counted({2, 3});
  save_npy(folder / "x.npy", tensor);
  const std::string file = content(folder / "x.npy");
  EXPECT_EQ(npy_dictionary(file), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(npy_data(file), bytes_of(tensor));
  save_npy(folder / "x.npy", Tensor(DType::i64, {4}));
  EXPECT_EQ(npy_dictionary(content(folder / "x.npy")),
            "{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }");
  save_npy(folder / "x.npy", Tensor(DType::boolean, Dims()));
  EXPECT_EQ(npy_dictionary(content(folder / "x.npy")),
            "{'descr': '|b1', 'fortran_order': False, 'shape': (), }");
  save_npy(folder / "x.npy", Tensor(DType::f16, {0, 5}));
  EXPECT_EQ(npy_dictionary(content(folder / "x.npy")),
            "{'descr': '<f2', 'fortran_order': False, 'shape': (0, 5), }");
}

TEST(SaveNpy, WritesStridedTensorsInOrder) {
  const TemporaryFolder folder;
  const Tensor tensor = counted({300, 7000});
  save_npy(folder / "x.npy", tensor.view().transposed(0, 1));
  EXPECT_EQ(npy_data(content(folder / "x.npy")), bytes_of(copy_of(tensor.view().transposed(0, 1))));
}

TEST(SaveNpy, RefusesWhatNumpyDoesNotHave) {
  const TemporaryFolder folder;
  EXPECT_REFUSES(save_npy(folder / "x.npy", Tensor(DType::bf16, {2})), "NumPy has no bf16");
  EXPECT_REFUSES(save_npy(folder / "x.npy", ConstTensorView()), "is not given");
  EXPECT_FALSE(fs::exists(folder / "x.npy"));
}

std::uint64_t number(const std::string& bytes, std::size_t at, int size) {
  std::uint64_t value = 0;
  for (int i = size; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return value;
}

// The members of a zip archive, by way of its directory, with every size and checksum compared.
std::map<std::string, std::string> unzip(const std::string& zip) {
  std::map<std::string, std::string> members;
  const std::size_t end = zip.size() - 22;
  EXPECT_EQ(number(zip, end, 4), 0x06054B50u);
  std::size_t at = number(zip, end + 16, 4);
  EXPECT_EQ(at + number(zip, end + 12, 4), end);
  for (std::uint64_t count = number(zip, end + 10, 2); count > 0; --count) {
    EXPECT_EQ(number(zip, at, 4), 0x02014B50u);
    const std::size_t crc = number(zip, at + 16, 4), size = number(zip, at + 24, 4),
                      name_size = number(zip, at + 28, 2);
    EXPECT_EQ(number(zip, at + 20, 4), size) << "stored, so both sizes are one";
    const std::string name = zip.substr(at + 46, name_size);
    const std::size_t local = number(zip, at + 42, 4);
    EXPECT_EQ(number(zip, local, 4), 0x04034B50u);
    EXPECT_EQ(zip.substr(local + 30, name_size), name);
    EXPECT_EQ(number(zip, local + 14, 4), crc);
    EXPECT_EQ(number(zip, local + 30 + name_size + 4, 8), size) << "in the field of zip64";
    members[name] = zip.substr(local + 30 + name_size + number(zip, local + 28, 2), size);
    EXPECT_EQ(io::crc32(0, members[name]), crc);
    at += 46 + name_size + number(zip, at + 30, 2) + number(zip, at + 32, 2);
  }
  EXPECT_EQ(at, end);
  return members;
}

TEST(SaveNpz, IsAZipOfNpyFiles) {
  const TemporaryFolder folder;
  const Tensor a = counted({2, 3}), b(DType::i64, {5});
  const NamedTensor tensors[] = {{"a", a}, {"b\u00e9", b}};
  save_npz(folder / "x.npz", tensors);
  const auto members = unzip(content(folder / "x.npz"));
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(npy_data(members.at("a.npy")), bytes_of(a));
  EXPECT_EQ(npy_data(members.at("b\u00e9.npy")), bytes_of(b));
  const NamedTensor twice[] = {{"a", a}, {"a", a}};
  EXPECT_REFUSES(save_npz(folder / "x.npz", twice), "two arrays named \"a\"");
  const NamedTensor path[] = {{"../a", a}};
  EXPECT_REFUSES(save_npz(folder / "x.npz", path), "cannot be the name");
}

TEST(SaveSafetensors, ReadsBack) {
  const TemporaryFolder folder;
  const Tensor flags(DType::boolean, {3}), a = counted({2, 3}), doubles(DType::f64, {2}),
                                           half(DType::bf16, {1}), none(DType::f32, {0});
  const NamedTensor tensors[] = {{"flags", flags},     {"a\"\\\n\u00e9", a},
                                 {"doubles", doubles}, {"half", half},
                                 {"none", none},       {"columns", a.view().transposed(0, 1)}};
  save_safetensors(folder / "x.safetensors", tensors, {{"format", "pt"}, {"who", "\"attend\""}});
  const Checkpoint weights = Checkpoint::open(folder / "x.safetensors");
  EXPECT_EQ(weights.names().size(), 6u);
  EXPECT_EQ(weights.metadata().at("who"), "\"attend\"");
  const ConstTensorView view = weights.tensor("a\"\\\n\u00e9");
  ASSERT_EQ(view.shape(), (Dims{2, 3}));
  EXPECT_EQ(std::memcmp(view.raw(), bytes_of(a).data(), 24), 0);
  EXPECT_EQ(weights.tensor("columns").data<float>()[1], 3.0f);
  for (const std::string& name : weights.names()) {
    const ConstTensorView tensor = weights.tensor(name);
    const auto* const file = static_cast<const char*>(weights.tensor("doubles").raw());
    if (tensor.count() == 0) continue;
    EXPECT_LT(static_cast<const char*>(tensor.raw()) - file, 100) << name << " was copied";
  }
}

TEST(SaveSafetensors, RefusesBadNames) {
  const TemporaryFolder folder;
  const Tensor a = counted({1});
  const auto save = [&](const std::string& first, const std::string& second) {
    const NamedTensor tensors[] = {{first, a}, {second, a}};
    save_safetensors(folder / "x.safetensors", tensors);
  };
  EXPECT_REFUSES(save("a", "a"), "\"a\" is taken");
  EXPECT_REFUSES(save("a", "__metadata__"), "is taken");
  EXPECT_REFUSES(save("a", "\xFF"), "is not UTF-8");
  EXPECT_FALSE(fs::exists(folder / "x.safetensors"));
}

TEST(RowsWriter, AllFormatsHoldTheSameRows) {
  const TemporaryFolder folder;
  const Tensor rows = counted({7, 3});
  const Tensor starts(DType::i64, {4});
  for (const char* const name : {"x.npy", "x.npz", "x.safetensors"}) {
    RowsWriter writer(folder / name, "embeddings", DType::f32, {3});
    writer.append(rows.view().slice(0, 0, 4));
    writer.append(rows.view().slice(0, 4, 4));
    writer.append(rows.view().slice(0, 4, 7));
    EXPECT_EQ(writer.rows(), 7);
    if (std::string(name) != "x.npy") writer.add("starts", starts);
    EXPECT_FALSE(fs::exists(folder / name));
    writer.finish();
  }
  const std::string npy = content(folder / "x.npy");
  EXPECT_EQ(npy_dictionary(npy), "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 3), }");
  EXPECT_EQ(npy_data(npy), bytes_of(rows));
  const auto members = unzip(content(folder / "x.npz"));
  EXPECT_EQ(members.at("embeddings.npy"), npy);
  EXPECT_EQ(npy_data(members.at("starts.npy")), bytes_of(starts));
  const Checkpoint weights = Checkpoint::open(folder / "x.safetensors");
  ASSERT_EQ(weights.tensor("embeddings").shape(), (Dims{7, 3}));
  EXPECT_EQ(std::memcmp(weights.tensor("embeddings").raw(), bytes_of(rows).data(), 84), 0);
  EXPECT_EQ(weights.tensor("starts").shape(), (Dims{4}));
}

TEST(RowsWriter, NoRowsIsAnArrayToo) {
  const TemporaryFolder folder;
  RowsWriter(folder / "x.npy", "e", DType::f32, {3}).finish();
  EXPECT_EQ(npy_dictionary(content(folder / "x.npy")),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }");
}

TEST(RowsWriter, WithoutFinishNothingRemains) {
  const TemporaryFolder folder;
  { RowsWriter(folder / "x.npy", "e", DType::f32, {3}).append(counted({2, 3})); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(RowsWriter, Refuses) {
  const TemporaryFolder folder;
  EXPECT_REFUSES(RowsWriter(folder / "x.txt", "e", DType::f32, {3}),
                 "does not end in .npy, .npz or .safetensors");
  EXPECT_REFUSES(RowsWriter(folder / "x.npy", "e", DType::bf16, {3}), "NumPy has no bf16");
  EXPECT_FILE_ERROR(RowsWriter(folder / "no" / "x.npy", "e", DType::f32, {3}), "", "cannot be written");
  RowsWriter writer(folder / "x.npy", "e", DType::f32, {3});
  EXPECT_REFUSES(writer.append(counted({2, 4})), "expected rows of shape (3,)");
  EXPECT_REFUSES(writer.append(counted({3})), "expected rows of shape (3,)");
  EXPECT_REFUSES(writer.append(Tensor(DType::f64, {1, 3})), "rows are f64, expected f32");
  EXPECT_REFUSES(writer.add("more", counted({1})), "holds one array");
}

}  // namespace
}  // namespace attend
