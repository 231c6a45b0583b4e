#include "checkpoint/safetensors_header.h"

#include <algorithm>
#include <numeric>

#include "io/json_reader.h"

namespace attend::checkpoint {
namespace {

constexpr std::size_t kLengthBytes = 8;

constexpr std::array kTypes = {
    SafetensorsType{"F32", 32, DType::f32},          SafetensorsType{"F64", 64, DType::f64},
    SafetensorsType{"BF16", 16, DType::bf16},        SafetensorsType{"F16", 16, DType::f16},
    SafetensorsType{"BOOL", 8, DType::boolean},      SafetensorsType{"I64", 64, DType::i64},
    SafetensorsType{"F4", 4, std::nullopt},          SafetensorsType{"F6_E2M3", 6, std::nullopt},
    SafetensorsType{"F6_E3M2", 6, std::nullopt},     SafetensorsType{"U8", 8, std::nullopt},
    SafetensorsType{"I8", 8, std::nullopt},          SafetensorsType{"F8_E5M2", 8, std::nullopt},
    SafetensorsType{"F8_E4M3", 8, std::nullopt},     SafetensorsType{"F8_E8M0", 8, std::nullopt},
    SafetensorsType{"F8_E4M3FNUZ", 8, std::nullopt}, SafetensorsType{"F8_E5M2FNUZ", 8, std::nullopt},
    SafetensorsType{"I16", 16, std::nullopt},        SafetensorsType{"U16", 16, std::nullopt},
    SafetensorsType{"I32", 32, std::nullopt},        SafetensorsType{"U32", 32, std::nullopt},
    SafetensorsType{"C64", 64, std::nullopt},        SafetensorsType{"U64", 64, std::nullopt},
};

// Null where there is no type of that name.
const SafetensorsType* find_type(std::string_view name) noexcept {
  const auto found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

// Sizes and offsets are whole numbers that are not negative, written with digits alone.
std::int64_t read_size(io::JsonReader& json, std::string_view tensor, const char* what) {
  const std::int64_t value = json.integer(tensor);
  if (value < 0) io::fail(json.file(), tensor, what, " ", value, " is negative");
  return value;
}

void read_shape(io::JsonReader& json, TensorEntry& entry) {
  json.array(entry.name, [&] {
    if (entry.rank == kMaxStoredRank) {
      io::fail(json.file(), entry.name, "has more than ", kMaxStoredRank, " dimensions");
    }
    entry.shape[static_cast<std::size_t>(entry.rank++)] = read_size(json, entry.name, "size");
  });
}

void read_offsets(io::JsonReader& json, TensorEntry& entry) {
  std::array<std::int64_t, 2> offsets{};
  std::size_t count = 0;
  json.array(entry.name, [&] {
    if (count == 2) io::fail(json.file(), entry.name, "data_offsets has more than two numbers");
    offsets[count++] = read_size(json, entry.name, "offset");
  });
  if (count < 2) io::fail(json.file(), entry.name, "data_offsets has ", count, " numbers, expected two");
  entry.begin = static_cast<std::uint64_t>(offsets[0]);
  entry.end = static_cast<std::uint64_t>(offsets[1]);
  if (entry.begin > entry.end)
    io::fail(json.file(), entry.name, "ends at ", entry.end, ", before it begins at ", entry.begin);
}

// The bytes that type and shape ask for must be the bytes that the offsets give.
void check_size(const std::string& file, const TensorEntry& entry) {
  std::uint64_t bits = static_cast<std::uint64_t>(entry.type->bits);
  for (int axis = 0; axis < entry.rank; ++axis) {
    const auto size = static_cast<std::uint64_t>(entry.shape[static_cast<std::size_t>(axis)]);
    if (__builtin_mul_overflow(bits, size, &bits)) {
      io::fail(file, entry.name, "has a shape with more elements than 64 bits can count");
    }
  }
  if (bits % 8 != 0) io::fail(file, entry.name, "has ", bits, " bits, not whole bytes");
  if (bits / 8 != entry.end - entry.begin) {
    io::fail(file, entry.name, "has ", entry.end - entry.begin, " bytes, but its type and shape take ",
             bits / 8);
  }
}

TensorEntry read_entry(io::JsonReader& json, std::string_view name) {
  TensorEntry entry;
  entry.name = name;
  bool has_shape = false, has_offsets = false;
  json.object(name, [&](std::string_view key) {
    if (key == "dtype") {
      const std::string_view type = json.string(name);
      entry.type = find_type(type);
      if (entry.type == nullptr)
        io::fail(json.file(), name, "has the unknown type \"", io::shown(type), "\"");
    } else if (key == "shape") {
      if (has_shape) io::fail(json.file(), name, "has the key \"shape\" twice");
      has_shape = true;
      read_shape(json, entry);
    } else if (key == "data_offsets") {
      has_offsets = true;
      read_offsets(json, entry);
    } else {
      io::fail(json.file(), name, "has the unknown key \"", io::shown(key), "\"");
    }
  });
  if (entry.type == nullptr) io::fail(json.file(), name, "has no dtype");
  if (!has_shape) io::fail(json.file(), name, "has no shape");
  if (!has_offsets) io::fail(json.file(), name, "has no data_offsets");
  check_size(json.file(), entry);
  return entry;
}

// Tensors lie side by side, from the first byte of the data to the last.
void check_tiling(const std::string& file, const std::vector<TensorEntry>& tensors,
                  std::uint64_t data_bytes) {
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(tensors[a].begin, tensors[a].end) < std::pair(tensors[b].begin, tensors[b].end);
  });
  std::uint64_t end = 0;
  for (const std::uint32_t i : order) {
    const TensorEntry& entry = tensors[i];
    if (entry.end > data_bytes) {
      io::fail(file, entry.name, "ends at byte ", entry.end, " of the data, which has ", data_bytes);
    }
    if (entry.begin < end)
      io::fail(file, entry.name, "begins at byte ", entry.begin, ", inside another tensor");
    if (entry.begin > end)
      io::fail(file, entry.name, "begins at byte ", entry.begin, ", after a hole from byte ", end);
    end = entry.end;
  }
  if (end != data_bytes) io::fail(file, "", "has ", data_bytes - end, " bytes after its last tensor");
}

}  // namespace

SafetensorsHeader parse_header(io::FileText text, std::size_t data_bytes) {
  SafetensorsHeader header;
  header.text = std::move(text);
  const std::span<char> span = header.text.span();
  if (span.empty() || span.front() != '{') io::fail(header.text.name, "header", "does not begin with {");
  io::JsonReader json(header.text.name, span, "header");
  json.object("header", [&](std::string_view name) {
    if (name == "__metadata__") {
      json.object(name, [&](std::string_view key) { header.metadata.emplace_back(key, json.string(name)); });
    } else {
      header.tensors.push_back(read_entry(json, name));
    }
  });
  json.end();
  check_tiling(header.text.name, header.tensors, data_bytes);
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorEntry& a, const TensorEntry& b) { return a.name < b.name; });
  return header;
}

SafetensorsHeader read_header(const io::InputFile& file) {
  if (file.size() < kLengthBytes) {
    io::fail(file.name(), "", "has ", file.size(), " bytes, expected at least the ", kLengthBytes,
             " of a header's length");
  }
  std::array<char, kLengthBytes> bytes{};
  file.read(0, bytes);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  if (length > kMaxHeaderBytes) {
    io::fail(file.name(), "header", "has a length of ", length, " bytes, more than ", kMaxHeaderBytes);
  }
  const std::size_t rest = file.size() - kLengthBytes;
  if (length > rest)
    io::fail(file.name(), "header", "has a length of ", length, " bytes, but only ", rest, " follow");

  io::FileText text{file.name(), std::make_unique_for_overwrite<char[]>(length), length};
  file.read(kLengthBytes, text.span());
  SafetensorsHeader header = parse_header(std::move(text), rest - length);
  header.data_start = kLengthBytes + length;
  return header;
}

}  // namespace attend::checkpoint
