// The table that sentencepiece normalizes with: a double array of darts-clone from strings to places in a
// list of replacements.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "text/normalizer.h"
#include "text/transform.h"
#include "text/unicode.h"

namespace attend::text {
namespace {

class Charsmap {
 public:
  Charsmap(std::vector<std::uint32_t> units, std::string replacements)
      : units_(std::move(units)), replacements_(std::move(replacements)) {}

  // What the shortest key at the start of `text` is replaced by.
  std::optional<std::string_view> find(std::string_view text) const {
    std::size_t at = 0;
    if (!follow(at, 0)) return std::nullopt;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte == 0) break;
      at ^= byte;
      if (at >= units_.size() || label(units_[at]) != byte) return std::nullopt;
      const bool ends = (units_[at] >> 8 & 1) != 0;
      if (!follow(at, at)) return std::nullopt;
      if (!ends) continue;
      if (at >= units_.size()) return std::nullopt;
      return replacement(units_[at] & 0x7FFFFFFF);
    }
    return std::nullopt;
  }

 private:
  static std::uint32_t label(std::uint32_t unit) { return unit & (0x80000000 | 0xFF); }

  // To where the children of a unit are counted from.
  bool follow(std::size_t& at, std::size_t unit_at) const {
    if (unit_at >= units_.size()) return false;
    const std::uint32_t unit = units_[unit_at];
    at ^= static_cast<std::size_t>(unit >> 10) << ((unit & 1u << 9) >> 6);
    return true;
  }

  std::string_view replacement(std::size_t place) const {
    const bool inside =
        place < replacements_.size() && (static_cast<unsigned char>(replacements_[place]) & 0xC0) != 0x80;
    if (!inside) refuse("tokenizer", "the precompiled charsmap points outside its list of replacements");
    return std::string_view(replacements_).substr(place, replacements_.find('\0', place) - place);
  }

  std::vector<std::uint32_t> units_;
  std::string replacements_;  // each closed by a zero
};

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(Charsmap map) : map_(std::move(map)) {
    for (std::size_t c = 0; c < 128; ++c) {
      const char character = static_cast<char>(c);
      plain_[c] = !map_.find({&character, 1});
    }
  }

  void apply(AlignedText& text, AlignedText& scratch, Allowance& allowance) const override {
    const auto plain = [&](char c) {
      return static_cast<unsigned char>(c) < 0x80 && plain_[static_cast<std::size_t>(c)];
    };
    if (std::all_of(text.bytes.begin(), text.bytes.end(), plain)) return;
    Rewriting rewriting{.room = allowance.room()};
    rewriting.changes.reserve(text.size());
    bool modified = false;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = grapheme_end(text.bytes, begin);
      modified |= rewrite(std::string_view(text.bytes).substr(begin, end - begin), rewriting);
      if (rewriting.bytes > rewriting.room)
        allowance.require_room(rewriting.bytes, "the precompiled charsmap");
      begin = end;
    }
    if (!modified) return;
    transform(text, rewriting.changes, scratch);
    text.swap(scratch);
  }

 private:
  struct Rewriting {
    std::vector<Change> changes{};
    std::size_t room, bytes = 0;  // that may be, and that will be made
  };

  // What a user takes for one character.
  static std::size_t grapheme_end(std::string_view text, std::size_t at) {
    std::int32_t state = 0;
    char32_t previous = io::next_char(text, at);
    while (at < text.size()) {
      std::size_t next = at;
      const char32_t c = io::next_char(text, next);
      if (previous < 0x80 && c < 0x80 && !(previous == '\r' && c == '\n')) break;
      if (grapheme_break(previous, c, state)) break;
      previous = c;
      at = next;
    }
    return at;
  }

  bool rewrite(std::string_view grapheme, Rewriting& rewriting) const {
    constexpr std::size_t kLongest = 5;  // longer ones are looked at character by character
    if (grapheme.size() <= kLongest) {
      if (const auto replacement = map_.find(grapheme)) {
        replace(grapheme, *replacement, rewriting);
        return true;
      }
    }
    bool modified = false;
    for (std::size_t i = 0; i < grapheme.size();) {
      const std::size_t begin = i;
      const char32_t c = io::next_char(grapheme, i);
      const std::string_view character = grapheme.substr(begin, i - begin);
      const auto replacement = map_.find(character);
      modified |= replacement.has_value();
      if (replacement) {
        replace(character, *replacement, rewriting);
      } else {
        rewriting.changes.push_back({c, 0});
        rewriting.bytes += character.size();
      }
    }
    return modified;
  }

  // Characters are replaced one by one; the last ones are new, or the last one takes the rest with it.
  static void replace(std::string_view from, std::string_view to, Rewriting& rewriting) {
    rewriting.bytes += to.size();
    if (rewriting.bytes > rewriting.room) return;  // which is refused
    std::vector<Change>& changes = rewriting.changes;
    const auto surplus =
        static_cast<std::ptrdiff_t>(io::count_chars(to)) - static_cast<std::ptrdiff_t>(io::count_chars(from));
    for (std::size_t i = 0; i < to.size();) changes.push_back({io::next_char(to, i), 0});
    for (std::ptrdiff_t i = 1; i <= surplus; ++i)
      changes[changes.size() - static_cast<std::size_t>(i)].change = 1;
    if (surplus < 0 && !changes.empty()) changes.back().change += static_cast<int>(surplus);
  }

  Charsmap map_;
  std::array<bool, 128> plain_;
};

std::string from_base64(const io::JsonValue& where, std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const std::uint32_t value = c >= 'A' && c <= 'Z'   ? static_cast<std::uint32_t>(c - 'A')
                                : c >= 'a' && c <= 'z' ? static_cast<std::uint32_t>(c - 'a' + 26)
                                : c >= '0' && c <= '9' ? static_cast<std::uint32_t>(c - '0' + 52)
                                : c == '+'             ? 62
                                : c == '/'             ? 63
                                                       : 64;
    if (value == 64) where.fail("is not base64");
    bits = bits << 6 | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return bytes;
}

}  // namespace

std::unique_ptr<const Normalizer> read_precompiled(const io::JsonValue& normalizer) {
  const io::JsonValue value =
      normalizer.only_keys({"type", "precompiled_charsmap"}).at("precompiled_charsmap");
  const std::string bytes = from_base64(value, value.string());
  std::uint32_t size = 0;
  if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
  if (size == 0 || size % 4 != 0 || size > bytes.size() - sizeof size) value.fail("is cut off");
  std::vector<std::uint32_t> units(size / 4);
  std::memcpy(units.data(), bytes.data() + sizeof size, size);
  std::string replacements = bytes.substr(sizeof size + size);
  if (!io::is_utf8(replacements)) value.fail("has replacements that are not UTF-8");
  return std::make_unique<Precompiled>(Charsmap(std::move(units), std::move(replacements)));
}

}  // namespace attend::text
