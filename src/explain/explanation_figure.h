// An explanation as a figure, for files, and in parts for the terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "draw/figure.h"
#include "explain/explanation.h"

namespace attend::explain {

// What is drawn large.
enum class View : std::uint8_t {
  map,    // the map
  lines,  // two columns of words, and lines between them
  model,  // the map of every head of every layer, small
  film,   // layer after layer
};
std::optional<View> view_named(std::string_view name) noexcept;

// The part that the view asks for. Maps of all heads are computed one by one and pooled to thumbnails.
draw::Part main_part(const Reading& reading, const ExplainRequest& request, const Explanation& explanation,
                     View view);

// That part, the rows of the focus as bars, the lists that were asked for, and notes on how not to read the
// figure.
draw::Figure explanation_figure(const Reading& reading, const ExplainRequest& request,
                                const Explanation& explanation, View view);

// "Where “it” looks (39% went to [CLS] and [SEP])"
std::string focus_title(const Explanation& explanation, const ExplainRequest& request, const FocusRow& row);
// The largest values of a row, largest first.
draw::Bars focus_bars(const Explanation& explanation, const FocusRow& row, std::size_t most);
// Likewise of the attention that units receive, from all tokens together.
inline constexpr std::string_view kReceivedTitle = "Most looked at, as shares of all attention";
draw::Bars received_bars(const Explanation& explanation, std::size_t most);
// All that follow, in order: what a reader of the map has to know.
std::vector<std::string> notes_on(const Reading& reading, const ExplainRequest& request,
                                  const Explanation& explanation);
// Says how a long text was read; empty where that was one pass.
std::string windows_note(const Explanation& explanation);
// Explains the cells of a map of stretches; empty where the map is one of units.
std::string stretch_note(const Explanation& explanation, const ExplainRequest& request);
// Says what special tokens got; empty where they are shown.
std::string special_note(const Explanation& explanation, const ExplainRequest& request);
// Says what rests on the first token; empty where it is shown and no sink.
std::string sink_note(const Explanation& explanation, const ExplainRequest& request);
// Why this head is shown, where the text chose it; else empty.
std::string chosen_note(const Reading& reading, const ExplainRequest& request,
                        const Explanation& explanation);
// Of a view of all heads: "each head by itself", and how many share keys and values.
std::string each_head(const Reading& reading);
// What a view is of: one head, a mean, each head by itself.
std::string name_of_view(const Reading& reading, const LensQuery& query, View view);
std::string caution();

}  // namespace attend::explain
