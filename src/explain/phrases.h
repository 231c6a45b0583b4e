// Phrases that both reports share.
#pragma once

#include <attend/lens.h>

#include <string>
#include <string_view>
#include <vector>

#include "draw/prose.h"
#include "explain/explanation.h"

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
std::string title_of(const Reading& reading, const Explanation& explanation);
// Says which end of the answer is not in the map; empty where there is none.
std::string answer_note(const Reading& reading);

// Stands after a word of which the vocabulary does not have every token.
inline constexpr std::string_view kUnknownMark = "⁇";
// Says what the mark means; empty where no word has it.
std::string unknown_note(const std::vector<Word>& units);

// "[CLS] and [SEP]": each name once.
std::string list_of(const std::vector<Word>& words);

// Labels for rows and columns: words that occur more than once are numbered, as in the#2, and those that the
// model does not know are marked.
// "without head 2 of layer 4", for the edit 4.2; "with the link from “it” to “cat” × 0.5" for it>cat=0.5.
std::string name_of_edit(const Reading& reading, std::string_view edit);

std::vector<std::string> labels_of(const std::vector<Word>& units);

}  // namespace attend::explain
