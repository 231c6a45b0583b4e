#include "app/answer_attention.h"

#include <attend/lens.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "draw/bars_terminal.h"
#include "draw/number.h"
#include "draw/printable.h"
#include "draw/prose.h"
#include "draw/text_width.h"

namespace attend::app {
namespace {

constexpr std::size_t kShownWords = 8;
constexpr int kLongestLabel = 24;

std::int32_t characters_before(const std::string& text, std::size_t byte) {
  return static_cast<std::int32_t>(std::count_if(text.begin(),
                                                 text.begin() + static_cast<std::ptrdiff_t>(byte),
                                                 [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string answer_attention(Generator& generator, std::span<const ChatMessage> messages,
                             const draw::Terminal& terminal) {
  const GenerationDefaults& defaults = generator.defaults();
  const RenderedChat chat = generator.chat_template().render(
      messages,
      {.add_generation_prompt = false, .bos_token = defaults.begin_text, .eos_token = defaults.end_text});
  // The reading's tokenizer adds the begin token by itself, where the model has one in front of texts.
  const std::size_t cut = !defaults.begin_text.empty() && chat.text.starts_with(defaults.begin_text) &&
                                  generator.model().tokenizer().special_count() > 0
                              ? defaults.begin_text.size()
                              : 0;
  const std::string text = chat.text.substr(cut);
  const Reading reading(generator.model(), text, "", {.keep = Keep::attention});
  if (reading.tokens().dropped > 0) return "The conversation is longer than the model can read at once.\n";
  std::vector<TextSpan> given;
  for (const auto& [begin, end] : chat.given)
    given.push_back({characters_before(text, begin - cut), characters_before(text, end - cut)});
  const TextSpan answer = given.empty() ? TextSpan{} : given.back();
  const std::vector<Word>& words = reading.words();
  const auto lies_in = [](const Word& word, const TextSpan& span) {
    return !word.special && word.place.begin >= span.begin && word.place.end <= span.end;
  };
  std::vector<double> shares(words.size(), 0);
  double rows = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!lies_in(words[i], answer)) continue;
    const std::vector<double> row = lens_row(reading, {}, words, i);
    for (std::size_t j = 0; j < row.size(); ++j) shares[j] += row[j];
    ++rows;
  }
  if (rows == 0) return "The last answer has no words.\n";
  double shown_share = 0, own_share = 0;
  std::vector<std::size_t> shown;
  for (std::size_t j = 0; j < words.size(); ++j) {
    shares[j] /= rows;
    if (lies_in(words[j], answer)) {
      own_share += shares[j];
    } else if (std::any_of(given.begin(), given.end() - 1,
                           [&](const TextSpan& span) { return lies_in(words[j], span); })) {
      shown_share += shares[j];
      shown.push_back(j);
    }
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  shown.resize(std::min(shown.size(), kShownWords));
  draw::Bars bars{.title = "What the last answer looked at, mean over layers and heads", .bars = {}};
  for (const std::size_t j : shown)
    bars.bars.push_back({draw::shorten(draw::printable(words[j].text), kLongestLabel), shares[j], false});
  const auto percent = [](double share) { return draw::format_number(100 * share, {.decimals = 0}) + "%"; };
  return draw::render_bars(bars, terminal) +
         draw::paragraph(joined("Words of the messages before it got ", percent(shown_share), ", its own ",
                                percent(own_share), ", the template and special tokens the rest."),
                         terminal);
}

}  // namespace attend::app
