#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "draw/bars_terminal.h"
#include "draw/figure_terminal.h"
#include "draw/number.h"
#include "draw/table.h"
#include "draw/text_width.h"
#include "explain/next.h"
#include "explain/phrases.h"

namespace attend::explain {
namespace {

constexpr int kNextIndent = 2;
constexpr std::size_t kMostTokensInOrder = 24;  // of a longer text the strongest are listed

std::string bars_text(const draw::Bars& bars, const draw::Terminal& terminal) {
  draw::Terminal inner = terminal;
  inner.width -= kNextIndent;
  draw::Bars untitled = bars;
  untitled.title.clear();
  return "\n" + draw::heading(bars.title, terminal) +
         draw::indent(draw::render_bars(untitled, inner), kNextIndent);
}

std::string layers_text(const Reading& reading, const LogitLens& lens, const draw::Terminal& terminal) {
  draw::Table table;
  table.title = "What each layer would say";
  table.label_header = "layer";
  table.columns = {{"expects", draw::Align::left},
                   {"then", draw::Align::left},
                   {"then", draw::Align::left},
                   {shown_token(reading, lens.watched)},
                   {"rank"}};
  for (const LayerGuesses& layer : lens.layers) {
    draw::TableRow row{layer.layer == 0 ? "embeddings" : reading.layer_name(layer.layer), {}};
    for (const TokenGuess& guess : layer.guesses)
      row.cells.push_back(
          joined(in_quotes(shown_token(reading, guess.token)), " ", percent(guess.probability)));
    row.cells.resize(3);
    row.cells.push_back(percent(layer.probability));
    row.cells.push_back(std::to_string(layer.rank + 1));
    if (layer.rank == 0) row.emphasis = draw::Emphasis::bold;
    table.rows.push_back(std::move(row));
  }
  return "\n" + draw::render_table(table, terminal, table.rows.size());
}

std::string attribution_note(const Reading& reading, const NextRequest& request,
                             const TokenAttributions& found) {
  const auto number = [](double value) { return draw::format_number(value, {.decimals = 2}); };
  if (request.attribution == Attribution::gradient)
    return joined("The gradient of its logit, ", number(found.logit), ", times each token's embedding.");
  return joined("Integrated gradients: the parts add up to the step of its logit from ",
                number(found.neutral_logit), ", where every token is ",
                in_quotes(shown_token(reading, found.neutral_token)), ", to ", number(found.logit),
                "; the sum misses ", percent(found.missing), " of it",
                found.missing > 0.1 ? ", and --steps makes it finer." : ".");
}

draw::Bars strongest(draw::Bars bars, std::size_t most) {
  if (bars.bars.size() <= kMostTokensInOrder) return bars;
  std::stable_sort(bars.bars.begin(), bars.bars.end(), [](const draw::Bar& a, const draw::Bar& b) {
    return std::abs(a.value) > std::abs(b.value);
  });
  bars.bars.resize(std::min(bars.bars.size(), most));
  return bars;
}

}  // namespace

std::string next_text(const Reading& reading, const Reading* other, const NextRequest& request,
                      const NextAnswer& answer, const draw::Terminal& terminal) {
  const draw::Figure figure = next_figure(reading, other, request, answer);
  std::string text = draw::heading(figure.title, terminal);
  text += draw::paragraph(
      joined(draw::printable(reading.model().files().name), ": ", counted(reading.size(), "token"),
             request.temperature == 1 ? std::string() : joined("; temperature ", request.temperature), "."),
      terminal);
  text += bars_text(std::get<draw::Bars>(figure.parts[0]), terminal);
  text += layers_text(reading, answer.layers, terminal);
  text += bars_text(strongest(std::get<draw::Bars>(figure.parts[2]), 2 * request.top), terminal);
  text += "\n" + draw::paragraph(attribution_note(reading, request, answer.attributions), terminal);
  if (!answer.patched) return text;
  draw::Figure patched;
  patched.parts.assign(figure.parts.begin() + 3, figure.parts.end());
  text += "\n" + draw::render_figure(patched, terminal);
  return text + "\n" + draw::paragraph(figure.notes.back(), terminal);
}

}  // namespace attend::explain
