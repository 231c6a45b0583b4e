// What the page's views of the next token and of the block show: candidates of every layer, and the path of a
// token through the blocks. Carried by a page, or asked for place by place.
#pragma once

#include <attend/lens_block.h>
#include <attend/lens_next.h>

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace attend::page {

// The positions of the slider: 0.1, 0.2, ... 2. Sums over the vocabulary are made for these, so that
// probabilities are exact at each without the vocabulary.
std::vector<double> temperatures();

// Candidates that are listed at a place.
inline constexpr std::size_t kCandidates = 12;

// The object `inside` of a reading's facts: where the norms of each layer stand, and whether there is a next
// token. A recording has no layers there.
nlohmann::ordered_json inside_facts(const Reading& reading);

// What each layer would say at a place, at every temperature.
nlohmann::ordered_json next_json(const Reading& reading, std::int64_t place);
// The first guess of every layer at places [first, last).
nlohmann::ordered_json guess_table_json(const Reading& reading, std::int64_t first, std::int64_t last);
// The path of a token through the blocks, and the parts of the logit of a token that may follow it.
nlohmann::ordered_json block_json(const Reading& reading, std::int64_t place,
                                  std::optional<std::int32_t> token);

// A token as it stands in a text, with its leading space; "#123" where the vocabulary has no such token.
std::string candidate_text(const Reading& reading, std::int32_t token);

// Whether a token is expected after this one.
bool expects_after(const Reading& reading, std::int64_t place);

}  // namespace attend::page
