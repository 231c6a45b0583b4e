// Unicode's normal forms, with alignment.
#include <algorithm>
#include <vector>

#include "text/normalizer.h"
#include "text/transform.h"
#include "text/unicode.h"

namespace attend::text {
namespace {

// ASCII is in every normal form.
bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

class NormalForm final : public Normalizer {
 public:
  NormalForm(bool compatible, bool composed) : compatible_(compatible), composed_(composed) {}

  void apply(AlignedText& text, AlignedText& scratch, Allowance& allowance) const override {
    if (is_ascii(text.bytes)) return;
    std::vector<Change> changes = decomposed(text.bytes, allowance);
    if (composed_) recompose(changes);
    transform(text, changes, scratch);
    text.swap(scratch);
  }

 private:
  std::vector<Change> decomposed(std::string_view text, const Allowance& allowance) const {
    std::vector<Change> changes;
    changes.reserve(text.size());
    std::vector<char32_t> parts;
    const std::size_t room = allowance.room();
    std::size_t made = 0;
    std::size_t unsorted = 0;  // from here on the characters belong to one base and may have to change places
    for (std::size_t i = 0; i < text.size();) {
      parts.clear();
      decompose(io::next_char(text, i), compatible_, parts);
      int change = 0;
      for (const char32_t part : parts) {
        if (combining_class(part) == 0) {
          sort_marks(changes, unsorted);
          unsorted = changes.size() + 1;
        }
        changes.push_back({part, change});
        change = 1;
        made += io::char_size(part);
      }
      if (made > room) allowance.require_room(made, "Unicode's normal form");
    }
    sort_marks(changes, unsorted);
    return changes;
  }

  static void sort_marks(std::vector<Change>& changes, std::size_t first) {
    if (changes.size() < first + 2) return;
    std::stable_sort(
        changes.begin() + static_cast<std::ptrdiff_t>(first), changes.end(),
        [](const Change& a, const Change& b) { return combining_class(a.c) < combining_class(b.c); });
  }

  // Each mark joins its base where the two have a common character and no mark between them is in the way. An
  // old character that disappears in it counts one off the change of the base.
  static void recompose(std::vector<Change>& changes) {
    constexpr std::size_t kNoBase = static_cast<std::size_t>(-1);
    std::size_t base = kNoBase, end = 0;
    int last_class = -1;  // of the marks kept after the base; -1: none
    for (const Change current : changes) {
      const int current_class = combining_class(current.c);
      if (base != kNoBase && last_class < current_class) {
        if (const char32_t both = compose(changes[base].c, current.c)) {
          changes[base].c = both;
          changes[base].change += current.change - 1;
          continue;
        }
      }
      if (current_class == 0) {
        base = end;
        last_class = -1;
      } else {
        last_class = current_class;
      }
      changes[end++] = current;
    }
    changes.resize(end);
  }

  bool compatible_, composed_;
};

}  // namespace

std::unique_ptr<const Normalizer> make_normal_form(bool compatible, bool composed) {
  return std::make_unique<NormalForm>(compatible, composed);
}

}  // namespace attend::text
