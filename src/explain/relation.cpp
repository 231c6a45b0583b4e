#include "explain/relation.h"

#include "base/error.h"

namespace attend::explain {
namespace {

// The first pair: up to the last comma before the next arrow, so that a comma may be a word of the text.
std::string_view first_pair(std::string_view text) {
  const std::size_t arrow = text.find('>');
  if (arrow == text.npos) return text;
  const std::size_t next = text.find('>', arrow + 1);
  if (next == text.npos) return text;
  const std::size_t comma = text.substr(0, next).rfind(',');
  return comma == text.npos || comma < arrow ? text : text.substr(0, comma);
}

}  // namespace

Relation parse_relation(const Reading& reading, std::string_view text) {
  Relation relation{.name = std::string(text), .pairs = {}};
  std::string_view rest = text;
  if (const std::size_t colon = text.find(':'); colon != text.npos && colon < text.find('>')) {
    relation.name = text.substr(0, colon);
    rest = text.substr(colon + 1);
  }
  while (true) {
    const std::string_view pair = first_pair(rest);
    const std::size_t arrow = pair.find('>');
    if (arrow == 0 || arrow == pair.npos || arrow + 1 == pair.size())
      refuse("relation", "\"", text, "\" is no relation: expected NAME:WORD>WORD,WORD>WORD");
    relation.pairs.push_back({.from = find_word(reading.words(), pair.substr(0, arrow)),
                              .to = find_word(reading.words(), pair.substr(arrow + 1))});
    if (pair.size() == rest.size()) return relation;
    rest = rest.substr(pair.size() + 1);
  }
}

}  // namespace attend::explain
