// Phrases that both reports share.
#pragma once

#include <attend/lens.h>

#include <string>
#include <string_view>
#include <vector>

#include "draw/prose.h"

namespace attend::explain {

using draw::counted;
using draw::in_quotes;

std::string percent(double share);  // 47%, 0.3%

// "4", or "4 (keys 2 of 3)" where heads share keys and values.
std::string name_of_head(const Reading& reading, std::int64_t layer, std::int64_t head);

// How many heads share keys and values, where that is so in every layer; else 1.
std::int64_t heads_of_a_group(const Reading& reading);

// "layer 3, head 10", "layer 3, mean of 12 heads", "mean of 6 layers × 12 heads", "layers 1 to 3".
std::string name_of_query(const Reading& reading, const LensQuery& query);

// What was read: the text, and the second one or the answer of a model with an encoder and a decoder.
std::string title_of(const Reading& reading);

// "[CLS] and [SEP]": each name once.
std::string list_of(const std::vector<Word>& words);

// Labels for rows and columns: words that occur more than once are numbered, as in the#2.
std::vector<std::string> labels_of(const std::vector<Word>& units);

}  // namespace attend::explain
