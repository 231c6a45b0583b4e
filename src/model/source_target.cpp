#include "model/source_target.h"

#include <algorithm>

namespace attend::model {
namespace {

bool marks_targets(const Tokenizer& tokenizer) {
  const Encoding nothing = tokenizer.encode("", "", {.truncate = false});
  return std::any_of(nothing.type_ids.begin(), nothing.type_ids.end(),
                     [](std::int32_t type) { return type != 0; });
}

template <class T>
void append_all(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

Encoding encode_source_and_target(const Tokenizer& tokenizer, std::string_view source,
                                  std::string_view target, std::int32_t start_token, EncodeOptions options) {
  options.truncate = false;
  if (marks_targets(tokenizer)) return tokenizer.encode(source, target, options);
  Encoding both = tokenizer.encode(source, options);
  both.type_ids.assign(both.size(), 0);
  options.add_special_tokens = false;
  Encoding second = tokenizer.encode(target, options);
  second.type_ids.assign(second.size(), 1);
  both.ids.push_back(start_token);
  both.type_ids.push_back(1);
  both.offsets.push_back({0, 0});
  both.words.push_back(-1);
  both.special.push_back(1);
  append_all(both.ids, second.ids);
  append_all(both.type_ids, second.type_ids);
  append_all(both.offsets, second.offsets);
  append_all(both.words, second.words);
  append_all(both.special, second.special);
  return both;
}

}  // namespace attend::model
