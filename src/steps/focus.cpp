#include "steps/focus.h"
#include "io/fail.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <span>

#include "draw/bars_terminal.h"
#include "draw/number.h"
#include "draw/prose.h"
#include "draw/text_width.h"
#include "steps/equations.h"
#include "steps/lesson_error.h"
#include "steps/narrate.h"

namespace attend::steps {
namespace {

constexpr std::int64_t kMostTerms = 16;  // of a sum or a vector; the rest becomes "…"
constexpr std::int64_t kMostKeys = 40;   // of a row; those with the largest weights are shown

// Writes a group of numbers, all in the same format.
class Writer {
 public:
  explicit Writer(std::span<const double> values) : format_(draw::number_format_for(values)) {}
  std::string operator()(double value) const { return draw::format_number(value, format_); }
  std::string in_sum(double value) const { return value < 0 ? "(" + (*this)(value) + ")" : (*this)(value); }

 private:
  draw::NumberFormat format_;
};

Pieces vector_pieces(std::span<const double> values, const Writer& write) {
  Pieces pieces;
  for (const double value : values.first(std::min<std::size_t>(values.size(), kMostTerms))) {
    pieces.push_back(write(value) + ",");
  }
  if (values.size() > kMostTerms) pieces.emplace_back("…,");
  pieces.front().insert(0, "[");
  pieces.back().back() = ']';
  return pieces;
}

// a + b + c
Pieces sum_pieces(const std::vector<std::string>& terms) {
  Pieces pieces;
  for (std::size_t i = 0; i < terms.size(); ++i) pieces.push_back(i == 0 ? terms[i] : "+ " + terms[i]);
  return pieces;
}

// 0.6 × 0.9 + 0.5 × 0.8 + 0.4 × 0.7
std::vector<std::string> products_of(std::span<const double> a, const Writer& write_a,
                                     std::span<const double> b, const Writer& write_b) {
  std::vector<std::string> terms;
  for (std::size_t c = 0; c < std::min<std::size_t>(a.size(), kMostTerms); ++c) {
    const std::string first = c == 0 ? write_a(a[c]) : write_a.in_sum(a[c]);
    terms.push_back(first + " × " + write_b.in_sum(b[c]));
  }
  if (a.size() > kMostTerms) terms.emplace_back("…");
  return terms;
}

std::string text_of(const Pieces& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text.append(text.empty() ? "" : " ").append(piece);
  return text;
}

class FocusNarrator {
 public:
  FocusNarrator(const Lesson& lesson, const Walk& walk, std::int64_t row, const draw::Terminal& terminal)
      : lesson_(lesson), walk_(walk), row_(row), terminal_(terminal), token_(label(lesson.tokens, row)) {}

  std::string run() {
    for (head_ = 0; head_ < walk_.heads; ++head_) {
      std::string title = "The row of " + token_ + place_among_equals();
      if (walk_.heads > 1) title.append(", head ").append(std::to_string(head_ + 1));
      text_ += draw::heading(title + ", written out", terminal_);
      if (head_ == 0) say("Rounded to the digits shown; computed with all the digits of float64.");
      take_keys();
      products();
      scaling();
      exponentials();
      quotients();
      weighted_sum();
    }
    output();
    return std::move(text_);
  }

 private:
  static std::string label(const std::vector<std::string>& labels, std::int64_t i) {
    return "“" + draw::shorten(draw::printable(labels[static_cast<std::size_t>(i)]), 24) + "”";
  }
  // ", number 2 of 3" where several tokens have the same name.
  std::string place_among_equals() const {
    const auto& tokens = lesson_.tokens;
    const auto here = tokens.begin() + row_;
    const auto all = std::count(tokens.begin(), tokens.end(), *here);
    if (all == 1) return {};
    return ", number " + std::to_string(std::count(tokens.begin(), here, *here) + 1) + " of " +
           std::to_string(all);
  }
  std::string key(std::int64_t j) const { return label(lesson_.key_tokens, j); }

  // This row of a stage (heads, n, m).
  std::span<const double> row_of(const Tensor& stage) const {
    return stage.values<double>().subspan(
        static_cast<std::size_t>((head_ * walk_.queries + row_) * walk_.keys),
        static_cast<std::size_t>(walk_.keys));
  }
  // This head's part of a row of a matrix (rows, heads * size).
  std::span<const double> part(const Tensor& matrix, std::int64_t row, std::int64_t size) const {
    return matrix.values<double>().subspan(static_cast<std::size_t>(row * matrix.size(1) + head_ * size),
                                           static_cast<std::size_t>(size));
  }
  static double at(std::span<const double> row, std::int64_t j) { return row[static_cast<std::size_t>(j)]; }

  // The numbers of the keys that are shown, to choose one format for all.
  std::vector<double> shown_parts(const Tensor& matrix, std::int64_t size) const {
    std::vector<double> values;
    for (const std::int64_t j : keys_) {
      const auto row = part(matrix, j, size).first(static_cast<std::size_t>(std::min(size, kMostTerms)));
      values.insert(values.end(), row.begin(), row.end());
    }
    return values;
  }

  void say(const std::string& sentence) { text_ += draw::paragraph(sentence, terminal_); }
  void finish_equations() { text_ += equations_.finish(terminal_.width); }

  // The keys to show: all, or if there are many those with the largest weights, in order.
  void take_keys() {
    keys_.resize(static_cast<std::size_t>(walk_.keys));
    std::iota(keys_.begin(), keys_.end(), std::int64_t{0});
    if (walk_.keys <= kMostKeys) return;
    const auto weights = row_of(walk_.weights);
    std::stable_sort(keys_.begin(), keys_.end(),
                     [&](std::int64_t a, std::int64_t b) { return at(weights, a) > at(weights, b); });
    keys_.resize(kMostKeys);
    std::sort(keys_.begin(), keys_.end());
    say("The " + std::to_string(kMostKeys) + " keys with the largest weights, of " +
        std::to_string(walk_.keys) + ", are shown; sums include all of them.");
  }

  void products() {
    const auto query = part(walk_.q, row_, walk_.d);
    const auto scores = row_of(walk_.products);
    const Writer write_q(query), write_k(shown_parts(walk_.k, walk_.d)), write(scores);
    say("Its query is " + text_of(vector_pieces(query, write_q)) + ". Multiplied by each key, and added up:");
    for (const std::int64_t j : keys_) {
      equations_.add(key(j), sum_pieces(products_of(query, write_q, part(walk_.k, j, walk_.d), write_k)),
                     {write(at(scores, j))});
    }
    finish_equations();
  }

  void scaling() {
    if (walk_.scale == 1) return;
    const auto before = row_of(walk_.products), after = row_of(walk_.scores);
    const Writer write_before(before), write_after(after);
    const std::string factor = draw::format_short(walk_.scale, 6);
    say("Each score times " + factor +
        (lesson_.scale ? ", the scale:" : ", which is 1/√" + std::to_string(walk_.d) + ":"));
    for (const std::int64_t j : keys_) {
      const std::string times = walk_.scale < 0 ? " × (" + factor + ")" : " × " + factor;
      equations_.add(key(j), {write_before(at(before, j)) + times}, {write_after(at(after, j))});
    }
    finish_equations();
  }

  void exponentials() {
    const auto scores = row_of(walk_.biased);
    const double largest = *std::max_element(scores.begin(), scores.end());
    exponentials_.clear();
    for (const double score : scores) exponentials_.push_back(std::exp(score - largest));
    sum_ = std::accumulate(exponentials_.begin(), exponentials_.end(), 0.0);

    const Writer write(scores), write_exp(exponentials_);
    const bool some_hidden =
        std::any_of(scores.begin(), scores.end(), [](double s) { return std::isinf(s); });
    say("The largest score" + std::string(some_hidden ? " that is not hidden" : "") + " is " +
        write(largest) + "; it is subtracted first, so that no exponential can overflow:");
    std::vector<std::string> terms;
    for (const std::int64_t j : keys_) {
      const std::string value = write_exp(at(exponentials_, j));
      const bool hidden = std::isinf(at(scores, j));
      equations_.add(
          key(j),
          {hidden ? "exp(-inf)" : "exp(" + write(at(scores, j)) + " - " + write.in_sum(largest) + ")"},
          {value});
      if (terms.size() < kMostTerms) terms.push_back(value);
    }
    if (walk_.keys > static_cast<std::int64_t>(terms.size())) terms.emplace_back("…");
    finish_equations();
    equations_.add("Their sum", sum_pieces(terms), {write_exp(sum_)});
    finish_equations();
  }

  void quotients() {
    const auto weights = row_of(walk_.weights);
    const Writer write_exp(exponentials_), write(weights);
    say("Each divided by their sum is the weight of that key:");
    draw::Bars bars;
    bars.full_length = 1;
    for (const std::int64_t j : keys_) {
      equations_.add(key(j), {write_exp(at(exponentials_, j)) + " / " + write_exp(sum_)},
                     {write(at(weights, j))});
      bars.bars.push_back({lesson_.key_tokens[static_cast<std::size_t>(j)], at(weights, j), false});
    }
    finish_equations();
    draw::Terminal narrow = terminal_;
    narrow.width = std::min(terminal_.width - 2, 72);
    text_ += draw::indent(draw::render_bars(bars, narrow), 2) + "\n";
  }

  void weighted_sum() {
    const auto weights = row_of(walk_.weights);
    const auto sum = part(walk_.concat, row_, walk_.dv);
    std::vector<std::vector<double>> scaled;
    std::vector<double> results(sum.begin(), sum.end());
    for (const std::int64_t j : keys_) {
      const auto value = part(walk_.v, j, walk_.dv);
      scaled.emplace_back(value.begin(), value.end());
      for (double& element : scaled.back()) element *= at(weights, j);
      results.insert(results.end(), scaled.back().begin(), scaled.back().end());
    }
    const Writer write_weight(weights), write_value(shown_parts(walk_.v, walk_.dv)), write(results);
    say(walk_.heads > 1 ? "The weighted sum of the values is what this head gives it:"
        : lesson_.wo    ? "The weighted sum of the values is what attention gives it:"
                        : "The weighted sum of the values is its new vector:");
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      Pieces left = vector_pieces(part(walk_.v, keys_[i], walk_.dv), write_value);
      left.front().insert(0, write_weight(at(weights, keys_[i])) + " × ");
      equations_.add(key(keys_[i]), std::move(left), vector_pieces(scaled[i], write));
    }
    equations_.add("added up", {}, vector_pieces(sum, write));
    finish_equations();
  }

  // The outputs of the heads side by side, and the output projection.
  void output() {
    const auto whole_row = [&](const Tensor& matrix) {
      const auto columns = static_cast<std::size_t>(matrix.size(1));
      return matrix.values<double>().subspan(static_cast<std::size_t>(row_) * columns, columns);
    };
    const auto concat = whole_row(walk_.concat), result = whole_row(walk_.output);
    const Writer write_concat(concat), write(result);
    if (walk_.heads > 1) {
      say("The heads side by side" + std::string(lesson_.wo ? "" : " are its new vector") + ": " +
          text_of(vector_pieces(concat, write_concat)) + (lesson_.wo ? "." : "\n"));
    }
    if (!lesson_.wo) return;
    say(std::string("Multiplied by each column of Wo, and added up") + (lesson_.bo ? ", and bo added" : "") +
        ", that is its new vector:");
    const Writer write_wo(lesson_.wo->values<double>());
    for (std::int64_t c = 0; c < std::min(lesson_.wo->size(1), kMostTerms); ++c) {
      const Tensor column = copy_of(ConstTensorView(*lesson_.wo).select(1, c));
      std::vector<std::string> terms = products_of(concat, write_concat, column.values<double>(), write_wo);
      if (lesson_.bo) {
        const auto bias = lesson_.bo->values<double>();
        terms.push_back(Writer(bias).in_sum(at(bias, c)));
      }
      equations_.add("column " + std::to_string(c + 1), sum_pieces(terms), {write(at(result, c))});
    }
    finish_equations();
  }

  const Lesson& lesson_;
  const Walk& walk_;
  std::int64_t row_;
  const draw::Terminal& terminal_;
  std::string token_;
  std::int64_t head_ = 0;
  std::vector<std::int64_t> keys_;
  std::vector<double> exponentials_;
  double sum_ = 0;
  Equations equations_;
  std::string text_;
};

}  // namespace

std::int64_t find_token(std::string_view name, const Lesson& lesson, std::string_view token) {
  const auto place_of = [&](std::string_view wanted, std::int64_t occurrence) -> std::int64_t {
    for (std::size_t i = 0; i < lesson.tokens.size(); ++i) {
      if (lesson.tokens[i] == wanted && --occurrence == 0) return static_cast<std::int64_t>(i);
    }
    return -1;
  };
  if (const std::int64_t place = place_of(token, 1); place >= 0) return place;
  if (const std::size_t hash = token.rfind('#'); hash != std::string_view::npos) {
    std::int64_t occurrence = 0;
    const char* const end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data() + hash + 1, end, occurrence);
    if (error == std::errc{} && stop == end && occurrence >= 1) {
      if (const std::int64_t place = place_of(token.substr(0, hash), occurrence); place >= 0) return place;
    }
  }
  std::string known;
  for (std::size_t i = 0; i < std::min<std::size_t>(lesson.tokens.size(), 12); ++i) {
    known.append(i > 0 ? ", " : "").append(io::shown(lesson.tokens[i]));
  }
  if (lesson.tokens.size() > 12) known += ", …";
  refuse_lesson(LessonCause::unknown_token, name, "there is no token \"", io::shown(token),
                "\" to focus on, the tokens are ", known);
}

std::string narrate_focus(const Lesson& lesson, const Walk& walk, std::int64_t row,
                          const draw::Terminal& terminal) {
  return FocusNarrator(lesson, walk, row, terminal).run();
}

}  // namespace attend::steps
