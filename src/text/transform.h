// Rewriting aligned text character by character, with the alignment that `tokenizers` gives.
#pragma once

#include <cstddef>
#include <vector>

#include "text/aligned_text.h"

namespace attend::text {

// A character of the new text, and what becomes of the old one: 0 replaces the next old character, 1 is new
// and takes the span of the old character before it, -n replaces the next and removes the n that follow.
struct Change {
  char32_t c;
  int change;
};

// Writes `target` from `source`. Spans go by position: the changes alone say which old character a new one
// gets, so after marks have been reordered a mark may have its neighbour's span. So it is in `tokenizers`.
inline void transform(const AlignedText& source, const std::vector<Change>& changes, AlignedText& target) {
  target.clear();
  std::size_t at = 0;
  const auto skip = [&] {
    if (at < source.size()) at += static_cast<std::size_t>(io::utf8_size(source.bytes[at]));
  };
  for (const auto& [c, change] : changes) {
    if (change > 0) {
      const TextSpan start =
          source.empty() ? TextSpan{} : TextSpan{source.spans[0].begin, source.spans[0].begin};
      target.append(c, at == 0 ? start : source.spans[at - 1]);
      continue;
    }
    if (source.empty()) return;
    target.append(c, source.spans[at < source.size() ? at : source.size() - 1]);
    for (int i = change; i <= 0; ++i) skip();
  }
}

}  // namespace attend::text
