// The first token of a text that a model reads from left to right. It sees nothing but itself, so what it
// holds says little about the text, and heads of trained models that have nothing to do rest on it: a sink
// (Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks"). A map of such a head is one
// bright column, so maps leave that token out, as they leave out special ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <attend/lens.h>

namespace attend {

// It is a sink from this share on. A model of random weights spreads them nearly evenly, which gives the
// first token 10% of the weight in a text of 30 tokens; SmolLM2 gives it 40 to 70%.
inline constexpr double kSinkShare = 0.3;
// And from this many times what even rows would give it on: in three tokens that is a third already.
inline constexpr double kSinkTimesEven = 2;
// Measured in the rows of the first tokens of a text. They do not depend on what comes later, so a reading of
// one layer of a long text measures them in a short reading of all layers, with the same answer.
inline constexpr std::int64_t kSinkTokens = 128;

struct FirstToken {
  std::string text{};
  bool special = false;   // then it is left out with the others of its kind
  std::int64_t rows = 0;  // that were measured: from the third token on, which could look elsewhere
  double share = 0;       // of the weight of these rows, the mean over all layers and heads
  double even = 0;        // what that share would be if every row were spread evenly

  // Decided for a text, not for a head, so that heads can be compared.
  bool is_sink() const noexcept { return share >= kSinkShare && share >= kSinkTimesEven * even; }
};

// Nothing where a layer looks ahead.
std::optional<FirstToken> first_token_of(const Reading& reading);

// Whether maps leave the first token out: where it is a sink and not special, always, or never.
enum class SinkChoice : std::uint8_t { automatic, fold, keep };
std::optional<SinkChoice> sink_choice_named(std::string_view name) noexcept;  // auto, fold, keep

// Throws std::invalid_argument for fold where there is no first token to fold.
bool folds_first_token(SinkChoice choice, const std::optional<FirstToken>& first);

// Units, which are words() or single_tokens() of the reading, with the first token as a unit by itself at the
// front: a word of several tokens keeps the others.
std::vector<Word> first_token_apart(const Reading& reading, std::vector<Word> units);
// The same without that unit; unchanged where no other would be left.
std::vector<Word> without_first_token(std::vector<Word> units);

}  // namespace attend
