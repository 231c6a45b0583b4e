#include "checkpoint/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include "io/crc32.h"
#include "io/fail.h"

namespace attend::checkpoint {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyType {
  std::string_view description;
  DType dtype;
  std::size_t bytes;
};
constexpr std::array kNpyTypes = {NpyType{"<f4", DType::f32, 4}, NpyType{"<f8", DType::f64, 8},
                                  NpyType{"<f2", DType::f16, 2}, NpyType{"<i8", DType::i64, 8},
                                  NpyType{"<i4", DType::i64, 4}, NpyType{"|b1", DType::boolean, 1}};

// The dictionary of a header, which holds three entries in any order: {'descr': '<f4', 'fortran_order':
// False, 'shape': (3, 4), }.
class Dictionary {
 public:
  Dictionary(std::string_view file, std::string_view where, std::string_view text)
      : file_(file), where_(where), text_(text) {}

  void read(NpyHeader& header) {
    bool has_type = false, has_order = false, has_shape = false;
    const auto once = [&](bool& seen, std::string_view key) {
      if (std::exchange(seen, true)) refuse("its header has the key ", key, " twice");
    };
    take('{');
    while (!peek('}')) {
      const std::string_view key = word();
      take(':');
      if (key == "descr") {
        once(has_type, key);
        read_type(header);
      } else if (key == "fortran_order") {
        once(has_order, key);
        header.fortran_order = read_truth();
      } else if (key == "shape") {
        once(has_shape, key);
        header.shape = read_shape();
      } else {
        refuse("its header has the unknown key ", io::shown(key));
      }
      if (!peek('}')) take(',');
    }
    take('}');
    skip_blanks();
    if (at_ != text_.size()) refuse("its header goes on after its dictionary");
    if (!has_type || !has_order || !has_shape) refuse("its header lacks descr, fortran_order or shape");
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    io::fail(file_, where_, parts...);
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool peek(char wanted) {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == wanted;
  }
  void take(char wanted) {
    if (!peek(wanted)) refuse("its header has no \"", wanted, "\" at character ", at_);
    ++at_;
  }
  std::string_view word() {
    take('\'');
    const std::size_t begin = at_, end = text_.find('\'', begin);
    if (end == std::string_view::npos) refuse("its header has a string without an end");
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  void read_type(NpyHeader& header) {
    if (!peek('\'')) refuse("holds records, expected plain numbers");
    const std::string_view name = word();
    for (const NpyType& type : kNpyTypes) {
      if (type.description != name) continue;
      header.dtype = type.dtype;
      header.item_bytes = type.bytes;
      return;
    }
    if (name.find('O') != std::string_view::npos) refuse("holds Python objects, which are never read");
    if (name.starts_with('>'))
      refuse("holds big-endian numbers (", io::shown(name), "), expected little-endian");
    refuse("holds ", io::shown(name), ", expected numbers of type f2, f4, f8, i4, i8 or b1");
  }

  bool read_truth() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view name = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(name)) continue;
      at_ += name.size();
      return value;
    }
    refuse("its header's fortran_order is neither True nor False");
  }

  Dims read_shape() {
    std::vector<std::int64_t> sizes;
    take('(');
    while (!peek(')')) {
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) refuse("its header's shape has a size that is not a count");
      at_ = static_cast<std::size_t>(end - text_.data());
      if (sizes.size() == kMaxRank) refuse("has more than ", kMaxRank, " dimensions");
      sizes.push_back(size);
      if (!peek(')')) take(',');
    }
    take(')');
    return Dims(std::span<const std::int64_t>(sizes));
  }

  std::string_view file_, where_, text_;
  std::size_t at_ = 0;
};

// Bytes of the numbers; refused where they do not count in 64 bits.
std::size_t data_bytes(std::string_view file, std::string_view where, const NpyHeader& header) {
  std::uint64_t bytes = header.item_bytes;
  bool empty = false;
  for (int axis = 0; axis < header.shape.rank(); ++axis) empty = empty || header.shape[axis] == 0;
  if (empty) return 0;
  for (int axis = 0; axis < header.shape.rank(); ++axis) {
    const auto size = static_cast<std::uint64_t>(header.shape[axis]);
    if (bytes > (std::numeric_limits<std::uint64_t>::max() >> 1) / size) {
      io::fail(file, where,
               "has a shape with more numbers than 64 bits can count: ", to_string(header.shape));
    }
    bytes *= size;
  }
  return bytes;
}

Dims reversed(const Dims& shape) {
  Dims result = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) result[axis] = shape[shape.rank() - 1 - axis];
  return result;
}

Tensor in_row_major_order(const Tensor& tensor) {
  ConstTensorView view = tensor;
  for (int axis = 0; axis < view.rank() / 2; ++axis) view = view.transposed(axis, view.rank() - 1 - axis);
  return copy_of(view);
}

}  // namespace

NpyHeader parse_npy(std::string_view file, std::string_view where, std::string_view start, std::size_t size) {
  if (!start.starts_with(kMagic)) io::fail(file, where, "does not begin as a .npy file does");
  if (start.size() < 10) io::fail(file, where, "has ", size, " bytes, too few for a header");
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3)
    io::fail(file, where, "is .npy of version ", version, ", expected 1, 2 or 3");
  const std::size_t preamble = version == 1 ? 10 : 12;
  if (start.size() < preamble) io::fail(file, where, "has ", size, " bytes, too few for a header");
  const std::uint64_t length = io::little_endian(start.substr(8, preamble - 8));
  if (length > kMaxNpyHeader - preamble) {
    io::fail(file, where, "has a header of ", length, " bytes, more than ", kMaxNpyHeader - preamble);
  }
  if (length > size - preamble) {
    io::fail(file, where, "has a header of ", length, " bytes, but only ", size - preamble, " follow");
  }
  NpyHeader header;
  header.data_start = preamble + length;
  Dictionary(file, where, start.substr(preamble, length)).read(header);
  const std::size_t needed = data_bytes(file, where, header), there = size - header.data_start;
  if (needed != there) {
    io::fail(file, where, "has ", there, " bytes of numbers, but its type and shape ",
             to_string(header.shape), " take ", needed);
  }
  return header;
}

Tensor read_npy(const io::ByteSource& bytes, std::string_view where, std::size_t offset, std::size_t size,
                const std::uint32_t* crc) {
  const std::string start = bytes.text(offset, std::min(size, kMaxNpyHeader));
  const NpyHeader header = parse_npy(bytes.name, where, start, size);
  const std::size_t count = (size - header.data_start) / header.item_bytes;
  const Dims stored = header.fortran_order ? reversed(header.shape) : header.shape;
  Tensor tensor(header.dtype, stored);
  std::vector<std::int32_t> narrow(header.item_bytes == size_of(header.dtype) ? 0 : count);
  const std::span<char> into =
      narrow.empty() ? std::span(static_cast<char*>(tensor.view().raw()), size - header.data_start)
                     : std::span(reinterpret_cast<char*>(narrow.data()), size - header.data_start);
  bytes.read(offset + header.data_start, into);
  if (crc != nullptr) {
    const std::uint32_t first = io::crc32(0, std::string_view(start).substr(0, header.data_start));
    if (io::crc32(first, {into.data(), into.size()}) != *crc)
      io::fail(bytes.name, where, "does not have the checksum that the archive says");
  }
  for (std::size_t i = 0; i < narrow.size(); ++i) tensor.values<std::int64_t>()[i] = narrow[i];
  return header.fortran_order && header.shape.rank() > 1 ? in_row_major_order(tensor) : std::move(tensor);
}

}  // namespace attend::checkpoint
