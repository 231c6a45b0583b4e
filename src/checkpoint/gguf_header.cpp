#include "checkpoint/gguf_header.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "io/utf8.h"

namespace attend::checkpoint {
namespace {

constexpr std::uint32_t kGgufTypeCount = 13;
constexpr std::string_view kAlignmentKey = "general.alignment";

// The least bytes that an entry takes: what is claimed can be compared with what is left.
constexpr std::uint64_t kLeastKeyBytes = 8 + 1 + 4 + 1, kLeastTensorBytes = 8 + 1 + 4 + 4 + 8;

struct Counts {
  std::uint64_t tensors = 0, keys = 0;
};

Counts read_counts(const std::string& file, GgufCursor& cursor, std::uint32_t& version) {
  const std::byte* const magic = cursor.take(4, "", "its first word, \"GGUF\"");
  if (std::memcmp(magic, kGgufMagic.data(), kGgufMagic.size()) != 0)
    io::fail(file, "", "does not begin with \"GGUF\"");
  version = cursor.u32("version", "the number");
  if (version != 0 && (version & 0xFFFFu) == 0)
    io::fail(file, "version", "is written with its highest byte first: big-endian files are not supported");
  if (version != 2 && version != 3) io::fail(file, "version", "is ", version, ", attend reads 2 and 3");
  Counts counts;
  counts.tensors = cursor.u64("tensor count", "the number");
  counts.keys = cursor.u64("key count", "the number");
  if (counts.tensors > kMostGgufTensors)
    io::fail(file, "tensor count", "is ", counts.tensors, ", expected at most ", kMostGgufTensors);
  if (counts.keys > kMostGgufKeys)
    io::fail(file, "key count", "is ", counts.keys, ", expected at most ", kMostGgufKeys);
  if (counts.keys * kLeastKeyBytes > cursor.left()) {
    io::fail(file, "key count", "is ", counts.keys, ", and the ", cursor.left(),
             " bytes that follow have no room for them");
  }
  return counts;
}

GgufType read_type(const std::string& file, GgufCursor& cursor, std::string_view key, std::string_view what) {
  const std::uint32_t number = cursor.u32(key, what);
  if (number >= kGgufTypeCount)
    io::fail(file, key, what, " is ", number, ", and there are types 0 to ", kGgufTypeCount - 1);
  return static_cast<GgufType>(number);
}

void skip_array(const std::string& file, GgufCursor& cursor, GgufEntry& entry) {
  entry.is_array = true;
  entry.type = read_type(file, cursor, entry.key, "the type of its elements");
  if (entry.type == GgufType::array)
    io::fail(file, entry.key, "is an array of arrays, which attend does not read");
  entry.count = cursor.u64(entry.key, "the number of its elements");
  const std::uint64_t least = entry.type == GgufType::string ? 8 : gguf_size_of(entry.type);
  if (entry.count > cursor.left() / least) {
    io::fail(file, entry.key, "has ", entry.count, " elements, and the ", cursor.left(),
             " bytes that follow have no room for them");
  }
  entry.begin = cursor.at();
  if (entry.type == GgufType::string) {
    for (std::uint64_t i = 0; i < entry.count; ++i) cursor.string(entry.key, "one of its strings");
  } else {
    cursor.take(entry.count * least, entry.key, "its elements");
  }
}

GgufEntry read_key(const std::string& file, GgufCursor& cursor, std::uint64_t index) {
  const std::string place = "key " + std::to_string(index);
  GgufEntry entry;
  const std::string_view key = cursor.string(place, "the name");
  if (key.empty()) io::fail(file, place, "has no name");
  if (key.size() > kLongestGgufKey)
    io::fail(file, place, "has a name of ", key.size(), " bytes, expected at most ", kLongestGgufKey);
  if (!io::is_utf8(key)) io::fail(file, place, "has a name that is not UTF-8");
  entry.key = key;
  entry.type = read_type(file, cursor, entry.key, "its type");
  entry.begin = cursor.at();
  if (entry.type == GgufType::array) {
    skip_array(file, cursor, entry);
  } else if (entry.type == GgufType::string) {
    cursor.string(entry.key, "its string");
  } else {
    const std::byte* const value = cursor.take(gguf_size_of(entry.type), entry.key, "its value");
    if (entry.type == GgufType::boolean && std::to_integer<unsigned>(*value) > 1)
      io::fail(file, entry.key, "is ", std::to_integer<unsigned>(*value), ", expected 0 or 1 for a bool");
  }
  entry.end = cursor.at();
  return entry;
}

void read_shape(const std::string& file, GgufCursor& cursor, GgufTensor& tensor) {
  const std::uint32_t rank = cursor.u32(tensor.name, "the number of its dimensions");
  if (rank > tensor.shape.size())
    io::fail(file, tensor.name, "has ", rank, " dimensions, expected at most ", tensor.shape.size());
  tensor.rank = static_cast<int>(rank);
  for (std::size_t axis = rank; axis-- > 0;) {
    const std::uint64_t size = cursor.u64(tensor.name, "a dimension");
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      io::fail(file, tensor.name, "has the dimension ", size, ", which 64 bits with a sign cannot hold");
    tensor.shape[axis] = static_cast<std::int64_t>(size);
  }
}

// How many bytes type and shape ask for.
std::uint64_t stored_bytes(const std::string& file, const GgufTensor& tensor) {
  const auto row = static_cast<std::uint64_t>(
      tensor.rank == 0 ? 1 : tensor.shape[static_cast<std::size_t>(tensor.rank) - 1]);
  const auto block = static_cast<std::uint64_t>(tensor.type->block_elements);
  if (row % block != 0) {
    io::fail(file, tensor.name, "has rows of ", row, " numbers, not whole blocks of ", block, ", as ",
             tensor.type->name, " needs");
  }
  std::uint64_t elements = 1;
  for (int axis = 0; axis < tensor.rank; ++axis) {
    const auto size = static_cast<std::uint64_t>(tensor.shape[static_cast<std::size_t>(axis)]);
    if (__builtin_mul_overflow(elements, size, &elements)) elements = ~std::uint64_t{0};
    if (elements > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / 8)
      io::fail(file, tensor.name, "has a shape with more elements than 64 bits can count");
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements / block, static_cast<std::uint64_t>(tensor.type->block_bytes), &bytes))
    io::fail(file, tensor.name, "has a shape with more bytes than 64 bits can count");
  return bytes;
}

GgufTensor read_tensor(const std::string& file, GgufCursor& cursor, std::uint64_t index) {
  const std::string place = "tensor " + std::to_string(index);
  GgufTensor tensor;
  const std::string_view name = cursor.string(place, "the name");
  if (name.empty()) io::fail(file, place, "has no name");
  if (name.size() > kLongestGgufName)
    io::fail(file, place, "has a name of ", name.size(), " bytes, expected at most ", kLongestGgufName);
  if (!io::is_utf8(name)) io::fail(file, place, "has a name that is not UTF-8");
  tensor.name = name;
  read_shape(file, cursor, tensor);
  const std::uint32_t type = cursor.u32(tensor.name, "its type");
  tensor.type = find_gguf_type(type);
  if (tensor.type == nullptr)
    io::fail(file, tensor.name, "has the type ", type, ", which attend does not know");
  tensor.begin = cursor.u64(tensor.name, "its offset");
  const std::uint64_t bytes = stored_bytes(file, tensor);
  if (__builtin_add_overflow(tensor.begin, bytes, &tensor.end))
    io::fail(file, tensor.name, "begins at byte ", tensor.begin, " of the data and ends after 2^64");
  return tensor;
}

// Each tensor begins where the one before it ends, at the next multiple of the alignment.
void check_places(const std::string& file, const std::vector<GgufTensor>& tensors, std::uint64_t alignment,
                  std::uint64_t data_bytes) {
  std::uint64_t expected = 0;
  for (const GgufTensor& tensor : tensors) {
    if (tensor.begin != expected) {
      io::fail(file, tensor.name, "begins at byte ", tensor.begin, " of the data, expected ", expected,
               ", where the tensor before it ends");
    }
    if (tensor.end > data_bytes) {
      io::fail(file, tensor.name, "ends at byte ", tensor.end, " of the data, which has ", data_bytes);
    }
    expected = (tensor.end + alignment - 1) / alignment * alignment;  // cannot overflow: within the file
  }
}

std::uint64_t alignment_of(const std::string& file, const GgufHeader& header,
                           std::span<const std::byte> bytes) {
  const auto found =
      std::lower_bound(header.metadata.begin(), header.metadata.end(), kAlignmentKey,
                       [](const GgufEntry& entry, std::string_view key) { return entry.key < key; });
  if (found == header.metadata.end() || found->key != kAlignmentKey) return 32;
  if (found->is_array || found->type != GgufType::u32)
    io::fail(file, kAlignmentKey, "is not of the type u32");
  const std::uint64_t alignment = GgufCursor(file, bytes, found->begin).u32(kAlignmentKey, "its value");
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kLargestGgufAlignment) {
    io::fail(file, kAlignmentKey, "is ", alignment, ", expected a power of two up to ",
             kLargestGgufAlignment);
  }
  return alignment;
}

// By the name that `name` is a pointer to; what comes twice is refused.
template <class Entry>
void sort_by_name(const std::string& file, std::vector<Entry>& entries, std::string Entry::*name) {
  std::sort(entries.begin(), entries.end(),
            [&](const Entry& a, const Entry& b) { return a.*name < b.*name; });
  const auto twice = std::adjacent_find(entries.begin(), entries.end(),
                                        [&](const Entry& a, const Entry& b) { return a.*name == b.*name; });
  if (twice != entries.end()) io::fail(file, (*twice).*name, "is there twice");
}

}  // namespace

std::size_t gguf_size_of(GgufType type) noexcept {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean:
      return 1;
    case GgufType::u16:
    case GgufType::i16:
      return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32:
      return 4;
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64:
      return 8;
    case GgufType::string:
    case GgufType::array:
      break;
  }
  return 0;
}

GgufHeader parse_gguf(const std::string& file, std::span<const std::byte> bytes) {
  GgufCursor cursor(file, bytes);
  GgufHeader header;
  const Counts counts = read_counts(file, cursor, header.version);
  header.metadata.reserve(static_cast<std::size_t>(counts.keys));
  for (std::uint64_t i = 0; i < counts.keys; ++i) header.metadata.push_back(read_key(file, cursor, i));
  sort_by_name(file, header.metadata, &GgufEntry::key);
  const std::uint64_t alignment = alignment_of(file, header, bytes);

  if (counts.tensors * kLeastTensorBytes > cursor.left()) {
    io::fail(file, "tensor count", "is ", counts.tensors, ", and the ", cursor.left(),
             " bytes after the metadata have no room for them");
  }
  header.tensors.reserve(static_cast<std::size_t>(counts.tensors));
  for (std::uint64_t i = 0; i < counts.tensors; ++i) header.tensors.push_back(read_tensor(file, cursor, i));

  // A file of metadata alone may end without the bytes that would align its data.
  const std::uint64_t start = (cursor.at() + alignment - 1) / alignment * alignment;
  header.data_start = static_cast<std::size_t>(std::min<std::uint64_t>(start, bytes.size()));
  check_places(file, header.tensors, alignment, bytes.size() - header.data_start);
  sort_by_name(file, header.tensors, &GgufTensor::name);
  return header;
}

}  // namespace attend::checkpoint
