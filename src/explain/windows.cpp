#include "explain/windows.h"

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "explain/focus.h"
#include "io/utf8.h"

namespace attend::explain {
namespace {

// Words [first, last) of the text are in the window; those before `own` and after the own ones of the window
// before have their rows here.
struct Window {
  std::size_t first = 0, last = 0, own = 0;
};

Encoding tokens_of_text(const TextModel& model, const std::string& text) {
  return model.tokenizer().encode(
      text, {.add_special_tokens = false, .truncate = false, .lower_case = model.files().lower_case});
}

// The whole text, and how it is cut.
class WindowPlan {
 public:
  WindowPlan(const TextModel& model, const std::string& text, std::int64_t most_tokens)
      : model_(model), text_(text), tokens_(tokens_of_text(model, text)) {
    for (std::size_t at = 0; at < text.size();) {
      starts_.push_back(at);
      io::next_char(text, at);
    }
    starts_.push_back(text.size());
    words = words_of(model.tokenizer(), tokens_, text);
    std::erase_if(words, [&](const Word& word) { return word.special || word.last_token > most_tokens; });
    if (words.empty()) refuse("explain", "the first word has more tokens than are to be read");
    cut();
  }

  std::string text_of(const Window& window) const {
    const std::size_t begin = starts_[static_cast<std::size_t>(words[window.first].place.begin)];
    const std::size_t end = starts_[static_cast<std::size_t>(words[window.last - 1].place.end)];
    return text_.substr(begin, end - begin);
  }

  // The word of the text that a unit of a window is, or is part of.
  std::size_t word_of(const Window& window, const Word& unit) const {
    const std::int32_t end = unit.place.end + words[window.first].place.begin;
    const auto found =
        std::lower_bound(words.begin() + static_cast<std::ptrdiff_t>(window.first),
                         words.begin() + static_cast<std::ptrdiff_t>(window.last) - 1, end,
                         [](const Word& word, std::int32_t place) { return word.place.end < place; });
    return static_cast<std::size_t>(found - words.begin());
  }

  Windows facts() const {
    Windows facts{.text = text_, .words = static_cast<std::int64_t>(words.size()), .ids = {}, .ranges = {}};
    const std::int64_t count = words.back().last_token;
    facts.ids.assign(tokens_.ids.begin(), tokens_.ids.begin() + count);
    facts.dropped = static_cast<std::int64_t>(tokens_.size()) - count;
    for (const Window& window : windows) {
      facts.ranges.push_back({words[window.first].first_token, words[window.last - 1].last_token});
      facts.window_tokens =
          std::max(facts.window_tokens, facts.ranges.back().size() + model_.tokenizer().special_count());
    }
    return facts;
  }

  std::vector<Word> words;  // of the text
  std::vector<Window> windows;

 private:
  std::int64_t tokens_between(std::size_t first, std::size_t last) const {
    return words[last - 1].last_token - words[first].first_token;
  }

  void cut() {
    const std::int64_t room =
        std::max<std::int64_t>(1, model_.most_tokens() - model_.tokenizer().special_count());
    for (std::size_t first = 0;;) {
      Window window{first, first + 1};
      while (window.last < words.size() && tokens_between(first, window.last + 1) <= room) ++window.last;
      // By itself a window may have a few tokens more than within the text.
      while (window.last > first + 1 && model_.encode(text_of(window), model_.most_tokens()).dropped > 0)
        --window.last;
      window.own = window.last;
      windows.push_back(window);
      if (window.last == words.size()) break;
      std::size_t next = first + 1;
      while (next + 1 < window.last && tokens_between(first, next + 1) <= room / 2) ++next;
      first = next;
    }
    const bool causal = model_.transformer().description().is_causal();
    for (std::size_t k = 0; k + 1 < windows.size() && !causal; ++k)
      windows[k].own = windows[k + 1].first + (windows[k].last - windows[k + 1].first) / 2;
  }

  const TextModel& model_;
  const std::string& text_;
  Encoding tokens_;
  std::vector<std::size_t> starts_;  // in bytes, of each character; the last is the end of the text
};

// What the windows give, put together.
class WindowedAnswer {
 public:
  WindowedAnswer(const WindowPlan& plan, const ExplainRequest& request, std::vector<Word> shown,
                 std::optional<std::size_t> focus)
      : plan_(plan), request_(request), focus_(focus), rows_(shown, request), received_(shown.size()) {
    places_.assign(plan.words.size(), kNowhere);
    for (std::size_t u = 0, w = 0; u < shown.size(); ++u, ++w) {
      while (plan.words[w].place.end != shown[u].place.end) ++w;
      places_[w] = u;
    }
    result.units = std::move(shown);
  }

  void add(std::size_t number, const Reading& reading, const Units& units) {
    const Window& window = plan_.windows[number];
    std::vector<std::size_t> places;  // of each unit of the window among those that are shown
    for (const Word& unit : units.all)
      places.push_back(units.shows(unit) ? places_[plan_.word_of(window, unit)] : kNowhere);
    const auto owns = [&](std::size_t unit) {
      if (places[unit] == kNowhere) return false;
      const std::size_t word = plan_.word_of(window, units.all[unit]);
      return word >= (number == 0 ? 0 : plan_.windows[number - 1].own) && word < window.own;
    };
    std::size_t begin = kNowhere, end = 0;  // of the window among the units that are shown
    for (const std::size_t place : places) {
      if (place == kNowhere) continue;
      begin = std::min(begin, place);
      end = std::max(end, place + 1);
    }
    const auto spread = [&](std::span<const double> kept) {
      std::vector<double> all(end - begin);
      std::size_t next = 0;
      for (const std::size_t place : places) {
        if (place != kNowhere) all[place - begin] += kept[next++];
      }
      return all;
    };
    const auto receive = [&](std::size_t unit, std::span<const double> row) {
      const Word& from = units.all[unit];
      const auto tokens = static_cast<double>(from.last_token - from.first_token);
      for (std::size_t u = 0; u < row.size(); ++u) {
        if (places[u] != kNowhere) received_[places[u]] += tokens * row[u];
      }
      tokens_ += tokens;
    };
    const LensMethod method = request_.query.method;
    lens_each_row(reading, request_.query, units.all, [&](std::size_t unit, std::span<const double> row) {
      if (!owns(unit)) return;
      rows_.add(places[unit], begin, spread(units.kept_shares(row, method)), special_share(row, units.all),
                units.folds ? row.front() : 0);
      if (method == LensMethod::raw) receive(unit, row);
    });
    LensQuery raw = request_.query;
    raw.method = LensMethod::raw;
    if (method != LensMethod::raw) {
      lens_each_row(reading, raw, units.all, [&](std::size_t unit, std::span<const double> row) {
        if (owns(unit)) receive(unit, row);
      });
    }
    for (std::size_t unit = 0; focus_ && unit < units.all.size(); ++unit) {
      if (!owns(unit) || places[unit] != *focus_) continue;
      result.focus = focus_on(reading, request_, units, unit);
      result.focus->unit = *focus_;
      for (FocusRow& row : result.focus->rows) {
        std::vector<double> all(result.units.size());
        std::ranges::copy(spread(row.values), all.begin() + static_cast<std::ptrdiff_t>(begin));
        row.values = std::move(all);
      }
    }
    for (const Word& unit : units.all) {
      if (number == 0 && unit.special && !units.shows(unit)) result.left_out.push_back(unit);
    }
  }

  Explanation finish() && {
    ShownMap map = std::move(rows_).finish();
    result.map_units = std::move(map.units);
    result.map = std::move(map.cells);
    result.top = std::move(map.top);
    result.special_share = map.special_share;
    if (result.sink) result.sink->map_share = map.sink_share;
    for (const double received : received_) result.received.push_back(received / std::max(tokens_, 1.0));
    result.windows = plan_.facts();
    return std::move(result);
  }

  Explanation result;

 private:
  static constexpr std::size_t kNowhere = SIZE_MAX;

  const WindowPlan& plan_;
  const ExplainRequest& request_;
  const std::optional<std::size_t> focus_;  // of the units that are shown
  MapRows rows_;
  std::vector<std::size_t> places_;  // of each word among the units that are shown
  std::vector<double> received_;
  double tokens_ = 0;
};

}  // namespace

bool needs_windows(const TextModel& model, const std::string& text, std::int64_t most_tokens) {
  if (most_tokens <= model.most_tokens()) return false;
  return model.encode(text, model.most_tokens()).dropped > 0;
}

std::pair<Reading, Explanation> explain_windows(const TextModel& model, const std::string& text,
                                                std::int64_t most_tokens, const ExplainRequest& request,
                                                const std::function<void(std::size_t, std::size_t)>& report) {
  const WindowPlan plan(model, text, most_tokens);
  std::optional<std::size_t> focus;
  if (request.focus) focus = find_word(plan.words, *request.focus);
  const ReadingOptions options{.max_tokens = model.most_tokens(), .only_layer = only_layer_of(request)};
  std::optional<Reading> first;
  std::optional<WindowedAnswer> answer;
  ExplainRequest decided = request;  // whether first tokens are left out is decided once, for all windows
  for (std::size_t number = 0; number < plan.windows.size(); ++number) {
    interruption_point();
    Reading reading(model, plan.text_of(plan.windows[number]), "", options);
    const std::optional<FirstToken> first_token =
        decided.sink == SinkChoice::keep && number > 0 ? std::nullopt : first_token_of(reading);
    const Units units = Units::of(reading, decided, first_token);
    if (number == 0) {
      if (decided.sink == SinkChoice::automatic)
        decided.sink = units.folds ? SinkChoice::fold : SinkChoice::keep;
      std::vector<Word> shown = plan.words;
      const bool whole = units.folds && units.all.size() > 1 && !units.shows(units.all.front()) &&
                         plan.words.front().last_token == 1;
      if (whole) shown.erase(shown.begin());
      if (focus && whole) {
        if (*focus == 0) refuse("explain", "the first word is left out; --sink keep shows it");
        --*focus;
      }
      answer.emplace(plan, decided, std::move(shown), focus);
      if (first_token) answer->result.sink = Sink{.token = *first_token, .folded = units.folds};
    }
    answer->add(number, reading, units);
    if (number == 0) first.emplace(std::move(reading));
    report(number + 1, plan.windows.size());
  }
  return {std::move(*first), std::move(*answer).finish()};
}

}  // namespace attend::explain
