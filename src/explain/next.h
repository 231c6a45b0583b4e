// The answer to "what does the model expect here, and why?", as data and in every form it is printed in.
#pragma once

#include <attend/lens_next.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "draw/figure.h"
#include "draw/terminal.h"

namespace attend::explain {

struct NextRequest {
  std::optional<std::string> word{};        // the candidate to explain; default: the most probable one
  std::optional<std::string> other_word{};  // what the other prompt should be answered with; likewise
  Attribution attribution = Attribution::integrated;
  std::int64_t steps = 32;  // of an integrated attribution
  double temperature = 1;   // of the probabilities
  std::size_t top = 8;      // candidates
};

struct NextAnswer {
  std::int64_t place = 0;             // of the token that is guessed at, or after
  std::vector<TokenGuess> guesses{};  // the most probable first
  LogitLens layers{};
  TokenAttributions attributions{};
  std::optional<PatchedAnswers> patched{};
};

// other: the prompt whose answer is brought back by patching; may be null. Both readings keep everything.
NextAnswer find_next(const Reading& reading, const Reading* other, const NextRequest& request);

// A token as people read it: “ Paris”, with its leading space.
std::string shown_token(const Reading& reading, std::int32_t token);

// The tokens of the text for the side of a chart: as people read them, without spaces around them.
std::vector<std::string> token_labels(const Reading& reading);

draw::Figure next_figure(const Reading& reading, const Reading* other, const NextRequest& request,
                         const NextAnswer& answer);
std::string next_text(const Reading& reading, const Reading* other, const NextRequest& request,
                      const NextAnswer& answer, const draw::Terminal& terminal);
std::string next_json(const Reading& reading, const Reading* other, const NextRequest& request,
                      const NextAnswer& answer);
// format: npz or safetensors.
void save_next_arrays(const Reading& reading, const Reading* other, const NextAnswer& answer,
                      const std::filesystem::path& file, std::string_view format);

}  // namespace attend::explain
