// A text that is longer than a model reads at once, explained in windows that overlap by half.
#pragma once

#include <attend/text_model.h>

#include <functional>
#include <utility>

#include "explain/explanation.h"

namespace attend::explain {

// Whether a text, of which at most so many tokens are wanted, takes more than one pass.
bool needs_windows(const TextModel& model, const std::string& text, std::int64_t most_tokens);

// Each word has the row of one window, in which it sees the most around it: of a model that looks both ways
// the one in whose middle it stands, of a causal one the one with the most before it. Words outside that
// window count as 0. Windows begin and end between words. Raw, norm and rollout; words, not tokens.
//
// Returns the reading of the first window, for what readings say about a model, and the explanation of all.
// report: how many windows are done, of how many.
std::pair<Reading, Explanation> explain_windows(const TextModel& model, const std::string& text,
                                                std::int64_t most_tokens, const ExplainRequest& request,
                                                const std::function<void(std::size_t, std::size_t)>& report);

}  // namespace attend::explain
