#include <attend/gguf.h>
#include <attend/model_files.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "checkpoint/gguf_contents.h"
#include "io/utf8.h"

namespace attend {

using namespace checkpoint;

namespace {

constexpr std::array<std::string_view, 13> kGgufTypeNames = {
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};

std::uint64_t little_endian_at(const std::byte* bytes, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

bool is_floating(GgufType type) { return type == GgufType::f32 || type == GgufType::f64; }
bool is_whole(GgufType type) {
  return !is_floating(type) && type != GgufType::boolean && type != GgufType::string &&
         type != GgufType::array;
}

}  // namespace

std::string_view name_of(GgufType type) noexcept { return kGgufTypeNames[static_cast<std::size_t>(type)]; }

void GgufValue::refuse_type(std::string_view expected) const {
  io::fail(place_.file, place_.key, "is ", is_array_ ? "an array of type " : "of type ", name_of(type_),
           ", expected ", expected);
}

void GgufValue::require_single(std::string_view expected) const {
  if (is_array_) refuse_type(expected);
}
void GgufValue::require_array(std::string_view expected) const {
  if (!is_array_) refuse_type(expected);
}

std::int64_t GgufValue::integer_at(std::uint64_t index) const {
  const std::size_t size = gguf_size_of(type_);
  const std::uint64_t value = little_endian_at(bytes_.data() + static_cast<std::size_t>(index) * size, size);
  switch (type_) {
    case GgufType::i8:
      return static_cast<std::int8_t>(value);
    case GgufType::i16:
      return static_cast<std::int16_t>(value);
    case GgufType::i32:
      return static_cast<std::int32_t>(value);
    case GgufType::i64:
      return static_cast<std::int64_t>(value);
    default:
      break;
  }
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    io::fail(place_.file, place_.key, "is ", value, ", which 64 bits with a sign cannot hold");
  return static_cast<std::int64_t>(value);
}

double GgufValue::number_at(std::uint64_t index) const {
  const std::size_t size = gguf_size_of(type_);
  const std::byte* const at = bytes_.data() + static_cast<std::size_t>(index) * size;
  if (type_ == GgufType::f32)
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(little_endian_at(at, 4))));
  if (type_ == GgufType::f64) return std::bit_cast<double>(little_endian_at(at, 8));
  return static_cast<double>(integer_at(index));
}

std::int64_t GgufValue::integer() const {
  constexpr std::string_view kExpected = "a whole number";
  require_single(kExpected);
  if (!is_whole(type_)) refuse_type(kExpected);
  return integer_at(0);
}

double GgufValue::number() const {
  constexpr std::string_view kExpected = "a number";
  require_single(kExpected);
  if (!is_whole(type_) && !is_floating(type_)) refuse_type(kExpected);
  return number_at(0);
}

bool GgufValue::boolean() const {
  constexpr std::string_view kExpected = "a bool";
  require_single(kExpected);
  if (type_ != GgufType::boolean) refuse_type(kExpected);
  return std::to_integer<unsigned>(bytes_[0]) != 0;
}

std::string_view GgufValue::string() const {
  constexpr std::string_view kExpected = "a string";
  require_single(kExpected);
  if (type_ != GgufType::string) refuse_type(kExpected);
  const std::string_view text = GgufCursor(place_.file, bytes_).string(place_.key, "its string");
  if (!io::is_utf8(text)) io::fail(place_.file, place_.key, "is not UTF-8");
  return text;
}

std::vector<std::int64_t> GgufValue::integers() const {
  constexpr std::string_view kExpected = "an array of whole numbers";
  require_array(kExpected);
  if (!is_whole(type_)) refuse_type(kExpected);
  std::vector<std::int64_t> values(static_cast<std::size_t>(count_));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = integer_at(i);
  return values;
}

std::vector<float> GgufValue::numbers() const {
  constexpr std::string_view kExpected = "an array of numbers";
  require_array(kExpected);
  if (!is_whole(type_) && !is_floating(type_)) refuse_type(kExpected);
  std::vector<float> values(static_cast<std::size_t>(count_));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(number_at(i));
  return values;
}

void GgufValue::for_each_string(const std::function<void(std::string_view)>& visit) const {
  constexpr std::string_view kExpected = "an array of strings";
  require_array(kExpected);
  if (type_ != GgufType::string) refuse_type(kExpected);
  GgufCursor cursor(place_.file, bytes_);  // which checks again: the file may have changed
  for (std::uint64_t i = 0; i < count_; ++i) visit(cursor.string(place_.key, "one of its strings"));
}

Gguf Gguf::open(const std::filesystem::path& path) {
  return Gguf(std::make_shared<const Contents>(io::InputFile(path)));
}

Gguf Gguf::open(const ModelFile& file) {
  return Gguf(std::make_shared<const Contents>(file.opened()->duplicate()));
}

bool Gguf::recognises(const ModelFile& file) { return !file.empty() && begins_as_gguf(*file.opened()); }

const std::string& Gguf::file() const noexcept { return contents_->file(); }

std::vector<std::string_view> Gguf::keys() const {
  std::vector<std::string_view> keys;
  for (const GgufEntry& entry : contents_->header.metadata) keys.push_back(entry.key);
  return keys;
}

bool Gguf::contains(std::string_view key) const { return find(key).has_value(); }

std::optional<GgufValue> Gguf::find(std::string_view key) const {
  const std::vector<GgufEntry>& entries = contents_->header.metadata;
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), key,
                       [](const GgufEntry& entry, std::string_view k) { return entry.key < k; });
  if (found == entries.end() || found->key != key) return std::nullopt;
  return GgufValue({file(), found->key}, found->type, found->is_array, found->count,
                   contents_->bytes().subspan(found->begin, found->end - found->begin));
}

GgufValue Gguf::at(std::string_view key) const {
  const std::optional<GgufValue> value = find(key);
  if (!value) io::fail(file(), key, "is not there");
  return *value;
}

std::int64_t Gguf::integer(std::string_view key, std::int64_t low, std::int64_t high,
                           std::optional<std::int64_t> fallback) const {
  if (fallback && !contains(key)) return *fallback;
  const std::int64_t value = at(key).integer();
  if (value < low || value > high)
    io::fail(file(), key, "is ", value, ", expected a whole number from ", low, " to ", high);
  return value;
}

double Gguf::number(std::string_view key, std::optional<double> fallback) const {
  if (fallback && !contains(key)) return *fallback;
  const double value = at(key).number();
  if (!std::isfinite(value)) io::fail(file(), key, "is not a finite number");
  return value;
}

bool Gguf::boolean(std::string_view key, bool fallback) const {
  return contains(key) ? at(key).boolean() : fallback;
}

std::string_view Gguf::string(std::string_view key, std::optional<std::string_view> fallback) const {
  return fallback && !contains(key) ? *fallback : at(key).string();
}

Checkpoint Gguf::tensors() const { return Checkpoint(contents_); }

void Gguf::require_intact() const { contents_->require_intact(); }

}  // namespace attend
