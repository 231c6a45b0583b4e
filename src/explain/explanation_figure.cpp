#include "explain/explanation_figure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/largest_first.h"
#include "draw/text_width.h"
#include "explain/explanation_lists.h"
#include "explain/phrases.h"

namespace attend::explain {
namespace {

constexpr std::size_t kLinesOfAToken = 4;    // in a view of lines
constexpr std::size_t kThumbnailCells = 64;  // along each side
constexpr std::size_t kLongestTitle = 160;   // characters of the text
constexpr std::size_t kMostNamedUnits = 60;  // a page has room for their names

std::string map_title(const ExplainRequest& request) {
  switch (request.query.method) {
    case LensMethod::norm:
      return "Who (rows) takes how much from whom (columns)";
    case LensMethod::rollout:
      return "How much of each word (columns) has reached each word (rows)";
    case LensMethod::grad:
      return joined("Attention that ", request.goal, ": who (rows) looked at whom (columns)");
    default:
      return "Who (rows) looks at whom (columns)";
  }
}

draw::Heatmap heatmap_of(const std::vector<std::string>& labels, const Tensor& map) {
  draw::Heatmap result;
  result.rows = result.columns = labels.size();
  result.row_labels = result.column_labels = labels;
  const auto values = map.values<double>();
  result.values.assign(values.begin(), values.end());
  result.range = {0, draw::range_of(result).high};
  return result;
}

// The row of the map that contains the focus.
std::optional<std::size_t> focus_row(const Explanation& explanation) {
  if (!explanation.focus) return std::nullopt;
  const std::int64_t token = explanation.units[explanation.focus->unit].first_token;
  const auto found = std::find_if(explanation.map_units.begin(), explanation.map_units.end(),
                                  [&](const Word& unit) { return token < unit.last_token; });
  return static_cast<std::size_t>(found - explanation.map_units.begin());
}

// A cell that no token can look through is masked, not 0.
void mask_what_comes_later(const std::vector<Word>& units, draw::Heatmap& map) {
  for (const Word& row : units) {
    for (const Word& column : units) map.masked.push_back(column.first_token >= row.last_token);
  }
}

draw::Heatmap whole_map(const Reading& reading, const Explanation& explanation,
                        const ExplainRequest& request) {
  draw::Heatmap map = heatmap_of(labels_of(explanation.map_units), explanation.map);
  if (reading.is_causal()) mask_what_comes_later(explanation.map_units, map);
  map.title = map_title(request);
  if (const auto row = focus_row(explanation)) map.focus_row = *row;
  return map;
}

draw::HeadView lines_of(const Explanation& explanation, LensMethod method) {
  draw::HeadView view;
  view.title = method == LensMethod::raw ? "Who looks at whom" : "Who takes from whom";
  view.left = view.right = labels_of(explanation.map_units);
  const auto values = explanation.map.values<double>();
  view.links = draw::strongest_links(values, explanation.map_units.size(), kLinesOfAToken);
  view.strongest = kLinesOfAToken;
  if (const auto row = focus_row(explanation)) view.focus = *row;
  return view;
}

// The map of one head or one layer, with the units of the explanation, pooled to the size of a thumbnail.
draw::Heatmap thumbnail(const Reading& reading, const ExplainRequest& request, const Explanation& explanation,
                        const HeadChoice& heads) {
  ExplainRequest one{
      .query = {.method = request.query.method, .heads = heads, .gradients = request.query.gradients},
      .tokens = request.tokens,
      .special = explanation.left_out.empty(),
      .sink = explanation.sink && explanation.sink->folded ? SinkChoice::fold : SinkChoice::keep};
  draw::Heatmap map = heatmap_of(labels_of(explanation.map_units), explain_map(reading, one));
  const std::size_t most = std::min(map.rows, kThumbnailCells);
  if (map.rows > most) map = draw::max_pooled(map, most, most);
  return map;
}

draw::ModelView model_view(const Reading& reading, const ExplainRequest& request,
                           const Explanation& explanation) {
  draw::ModelView view;
  view.title = "Every head (columns) of every layer (rows)";
  view.layers = static_cast<std::size_t>(reading.layers());
  view.heads = static_cast<std::size_t>(reading.heads());
  view.group = static_cast<std::size_t>(heads_of_a_group(reading));
  for (std::int64_t layer = 1; layer <= reading.layers(); ++layer)
    view.layer_labels.push_back(reading.layer_name(layer));
  for (std::size_t head = 1; head <= view.heads; ++head) view.head_labels.push_back(std::to_string(head));
  for (std::int64_t layer = 1; layer <= reading.layers(); ++layer) {
    for (std::int64_t head = 1; head <= reading.heads(); ++head) {
      view.maps.push_back(thumbnail(reading, request, explanation, {.layer = layer, .head = head}));
      view.maps.back().row_labels.clear();  // the maps are too small for them
      view.maps.back().column_labels.clear();
      view.maps.back().range = {0, std::max(view.maps.back().range.high, 1e-9)};
    }
  }
  if (!request.same_scale) return view;
  double high = 0;
  for (const draw::Heatmap& map : view.maps) high = std::max(high, map.range.high);
  for (draw::Heatmap& map : view.maps) map.range.high = high;
  return view;
}

draw::FilmStrip film_of(const Reading& reading, const ExplainRequest& request,
                        const Explanation& explanation) {
  draw::FilmStrip strip;
  strip.title = "Layer after layer";
  strip.range = {0, 0};
  for (std::int64_t layer = 1; layer <= reading.layers(); ++layer) {
    draw::Heatmap map = thumbnail(reading, request, explanation, {.layer = layer});
    map.title = joined("layer ", reading.layer_name(layer));
    strip.range.high = std::max(strip.range.high, map.range.high);
    strip.frames.push_back(std::move(map));
  }
  return strip;
}

draw::Bars largest_bars(const Explanation& explanation, const std::vector<double>& values, std::size_t most) {
  const std::vector<std::string> labels = labels_of(explanation.units);
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return larger_first(values[a], values[b]); });
  draw::Bars bars;
  for (std::size_t i = 0; i < std::min(order.size(), most); ++i)
    bars.bars.push_back({labels[order[i]], values[order[i]], i == 0});
  return bars;
}

// "; --special shows them", where the reader can give an option.
std::string shown_by(const std::string& option, std::string_view what) {
  return option.empty() ? std::string() : joined("; ", option, " shows ", what);
}

}  // namespace

std::optional<View> view_named(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 4> kNames = {"map", "lines", "model", "film"};
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<View>(found - kNames.begin());
}

draw::Part main_part(const Reading& reading, const ExplainRequest& request, const Explanation& explanation,
                     View view) {
  switch (view) {
    case View::lines:
      return lines_of(explanation, request.query.method);
    case View::model:
      return model_view(reading, request, explanation);
    case View::film:
      return film_of(reading, request, explanation);
    case View::map:
      break;
  }
  return whole_map(reading, explanation, request);
}

std::string focus_title(const Explanation& explanation, const ExplainRequest& request, const FocusRow& row) {
  const std::string name = in_quotes(labels_of(explanation.units)[explanation.focus->unit]);
  std::string special;
  if (adds_up(row.method)) {
    const std::string_view verb = row.method == LensMethod::raw ? " went to " : " came from ";
    if (!explanation.left_out.empty())
      special = joined(percent(row.special), verb, list_of(explanation.left_out));
    if (explanation.sink && explanation.sink->folded)
      special += joined(special.empty() ? "" : ", ", percent(row.sink), verb, "the first token");
    if (!special.empty()) special = joined(" (", special, ")");
  }
  switch (row.method) {
    case LensMethod::raw:
      return joined("Where ", name, " looks", special);
    case LensMethod::norm:
      return joined("What ", name, " takes", special);
    case LensMethod::rollout:
      return joined("Where ", name, " comes from, over all paths", special);
    case LensMethod::flow:
      return joined("How much could flow to ", name);
    case LensMethod::grad:
      return joined("What ", name, " took that ", request.goal);
  }
  return {};
}

draw::Bars focus_bars(const Explanation& explanation, const FocusRow& row, std::size_t most) {
  return largest_bars(explanation, row.values, most);
}

draw::Bars received_bars(const Explanation& explanation, std::size_t most) {
  return largest_bars(explanation, explanation.received, most);
}

std::string windows_note(const Explanation& explanation) {
  if (!explanation.windows) return {};
  return joined(
      "The text was read in ", explanation.windows->ranges.size(), " windows of up to ",
      explanation.windows->window_tokens,
      " tokens, each overlapping the next by half. A word has its row from the window that shows most "
      "of what is around it; words outside that window count as 0.");
}

std::vector<std::string> notes_on(const Reading& reading, const ExplainRequest& asked,
                                  const Explanation& explanation) {
  ExplainRequest request = asked;
  if (explanation.windows) request.special_option.clear();  // each window has its own
  std::vector<std::string> notes = {windows_note(explanation), stretch_note(explanation, request),
                                    special_note(explanation, request), sink_note(explanation, request),
                                    unknown_note(explanation.units)};
  notes.push_back(explanation.windows ? "" : answer_note(reading));
  std::erase(notes, "");
  return notes;
}

std::string stretch_note(const Explanation& explanation, const ExplainRequest& request) {
  if (!explanation.top) return {};
  return joined("The ", explanation.units.size(), request.tokens ? " tokens" : " words", " are shown in ",
                explanation.map_units.size(),
                " stretches: a cell is the sum over its columns and the mean over its rows.");
}

std::string special_note(const Explanation& explanation, const ExplainRequest& request) {
  if (explanation.map.count() == 0) return {};
  const LensMethod method = request.query.method;
  const std::string names = list_of(explanation.left_out);
  if (method == LensMethod::grad) {
    const std::string shares = "Each number is a share of all the attention that helped.";
    if (names.empty()) return shares;
    return joined(shares, " ", names, " stand for no word and are left out",
                  shown_by(request.special_option, "them"), ".");
  }
  if (names.empty()) return {};
  return joined(names, method == LensMethod::raw ? " got " : " gave ", percent(explanation.special_share),
                method == LensMethod::raw ? " of the attention" : " of what was taken",
                ", on average. They stand for no word and are left out here, so that each row adds up to 1 "
                "without them",
                shown_by(request.special_option, "them"), ".");
}

std::string sink_note(const Explanation& explanation, const ExplainRequest& request) {
  if (!explanation.sink || explanation.map.count() == 0) return {};
  const Sink& sink = *explanation.sink;
  const std::string name = in_quotes(draw::shorten(draw::printable(sink.token.text), 24));
  if (!sink.folded) {
    if (!sink.token.is_sink()) return {};
    return joined(percent(sink.token.share), " of the attention of all heads rests on the first token, ",
                  name, ".");
  }
  const LensMethod method = request.query.method;
  if (method == LensMethod::grad)
    return joined("The first token, ", name, ", is left out", shown_by(request.sink_option, "it"), ".");
  const std::string_view what = method == LensMethod::raw ? " of the attention rests on the first token, "
                                                          : " of what was taken came from the first token, ";
  return joined(percent(sink.map_share), what, name,
                ", and is left out, so that each row adds up to 1 without it",
                shown_by(request.sink_option, "it"), ".");
}

// The number that the map shows for the link of a head, where it is not the share of all its weight: without
// special tokens.
std::string share_in_map(const Reading& reading, const NotableHead& head, const Explanation& explanation) {
  if (head.role != HeadRole::links || explanation.left_out.empty() || explanation.top) return {};
  const std::vector<Word>& units = explanation.map_units;
  const auto place_of = [&](std::size_t word) {
    const Word& wanted = reading.words()[word];
    return std::find_if(units.begin(), units.end(),
                        [&](const Word& unit) {
                          return unit.first_token == wanted.first_token &&
                                 unit.last_token == wanted.last_token;
                        }) -
           units.begin();
  };
  const auto count = static_cast<std::ptrdiff_t>(units.size());
  const std::ptrdiff_t from = place_of(head.links.front().from), to = place_of(head.links.front().to);
  if (from == count || to == count || explanation.map.count() != count * count) return {};
  const double share = explanation.map.values<double>()[static_cast<std::size_t>(from * count + to)];
  const long shown = std::lround(100 * share);
  if (shown == std::lround(100 * head.share)) return {};
  return joined(", ", shown, "% without ", list_of(explanation.left_out));
}

std::string chosen_note(const Reading& reading, const ExplainRequest& request,
                        const Explanation& explanation) {
  if (!request.chosen) return {};
  std::string says = sentence_of(reading, *request.chosen);
  if (request.query.method == LensMethod::raw) says += share_in_map(reading, *request.chosen, explanation);
  return joined("Of ", reading.layers() * reading.heads(),
                " heads this one stands out: ", draw::printable(says), ".");
}

std::string each_head(const Reading& reading) {
  const std::int64_t group = heads_of_a_group(reading);
  if (group == 1) return "each head by itself";
  if (group == reading.heads()) return "each head by itself; all of a layer share keys and values";
  return joined("each head by itself; every ", group, " share keys and values");
}

std::string name_of_view(const Reading& reading, const LensQuery& query, View view) {
  if (view == View::model) return each_head(reading);
  return view == View::film ? "the mean over the heads of each layer" : name_of_query(reading, query);
}

std::string caution() {
  return "Weights say where heads read, not why the model gives its answer: they are not by themselves an "
         "explanation.";
}

draw::Figure explanation_figure(const Reading& reading, const ExplainRequest& asked,
                                const Explanation& explanation, View view) {
  ExplainRequest request = asked;  // who looks at a figure cannot give options
  request.special_option.clear();
  request.sink_option.clear();
  draw::Figure figure;
  figure.title = draw::shorten(draw::printable(title_of(reading, explanation)), kLongestTitle);
  if (view != View::map || explanation.map.count() > 0)
    figure.parts.push_back(main_part(reading, request, explanation, view));
  const bool has_map = explanation.map.count() > 0 && (view == View::map || view == View::lines);
  if (has_map && explanation.map_units.size() > kMostNamedUnits) {
    draw::Bars bars = received_bars(explanation, request.top);
    bars.title = kReceivedTitle;
    figure.parts.push_back(std::move(bars));
  }
  if (explanation.focus) {
    for (const FocusRow& row : explanation.focus->rows) {
      draw::Bars bars = focus_bars(explanation, row, request.top);
      bars.title = focus_title(explanation, request, row);
      figure.parts.push_back(std::move(bars));
    }
  }
  std::vector<std::string> list_notes;
  for (ListPart& list : list_parts(reading, request, explanation)) {
    figure.parts.push_back(std::move(list.part));
    if (!list.note.empty()) list_notes.push_back(std::move(list.note));
  }
  figure.notes.push_back(
      joined(draw::printable(reading.model_name()), "; ", name_of_view(reading, request.query, view), "."));
  if (const std::string note = chosen_note(reading, request, explanation); !note.empty())
    figure.notes.push_back(note);
  figure.notes.insert(figure.notes.end(), list_notes.begin(), list_notes.end());
  for (std::string& note : notes_on(reading, request, explanation)) figure.notes.push_back(std::move(note));
  if (const std::string note = not_finite_note(reading, explanation); !note.empty())
    figure.notes.push_back(note);
  figure.notes.push_back(caution());
  return figure;
}

}  // namespace attend::explain
