// A relation between words, such as subject and verb, given by the pairs that have it.
#pragma once

#include <attend/lens_heads.h>

#include <string>
#include <string_view>
#include <vector>

namespace attend::explain {

struct Relation {
  std::string name;
  std::vector<WordRelation> pairs;
};

// "subject-verb:cat>sat,dog>ran", or without a name "cat>sat". A comma parts pairs where a > follows. Throws
// std::invalid_argument, one sentence, for what is written otherwise and for words that are not in the text.
Relation parse_relation(const Reading& reading, std::string_view text);

}  // namespace attend::explain
