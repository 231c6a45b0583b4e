#include "steps/focus.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "draw/bars_terminal.h"
#include "draw/number.h"
#include "draw/text_width.h"
#include "steps/lesson_error.h"
#include "steps/narrate.h"
#include "steps/words.h"

namespace attend::steps {
namespace {

constexpr std::int64_t kMostTerms = 8;  // of a sum; the rest is "…"
constexpr std::int64_t kMostKeys = 40;  // of a row; the heaviest are shown

std::string number(double value) { return draw::format_number(value, {.decimals = 4, .scientific = false}); }
std::string brief(double value) { return draw::format_short(value, 4); }

std::string vector_text(const double* values, std::int64_t count) {
  std::string text = "[";
  for (std::int64_t c = 0; c < std::min(count, kMostTerms); ++c)
    text.append(c > 0 ? ", " : "").append(brief(values[c]));
  return text.append(count > kMostTerms ? ", …]" : "]");
}

// 0.6 × 0.9 + 0.5 × 0.8 + 0.4 × 0.7
std::string products_text(const double* a, const double* b, std::int64_t count) {
  std::string text;
  for (std::int64_t c = 0; c < std::min(count, kMostTerms); ++c) {
    if (c > 0) text += " + ";
    text.append(brief(a[c])).append(" × ");
    text.append(b[c] < 0 ? "(" + brief(b[c]) + ")" : brief(b[c]));
  }
  return text.append(count > kMostTerms ? " + …" : "");
}

// Lines of "label  left = right" with their columns below each other.
class Lines {
 public:
  void add(const std::string& label, const std::string& left, const std::string& right) {
    label_width_ = std::max(label_width_, draw::text_width(label));
    left_width_ = std::max(left_width_, draw::text_width(left));
    right_width_ = std::max(right_width_, draw::text_width(right));
    lines_.push_back({label, left, right});
  }
  std::string finish(int most_left) {
    const int width = std::min(left_width_, std::max(most_left - label_width_ - right_width_, 12));
    std::string text;
    for (const auto& [label, left, right] : lines_) {
      text += "  " + draw::pad_right(label, label_width_) + "  " +
              draw::pad_right(draw::shorten(left, width), width) + " = " +
              draw::pad_left(right, right_width_) + "\n";
    }
    lines_.clear();
    label_width_ = left_width_ = right_width_ = 0;
    return text + "\n";
  }

 private:
  struct Line {
    std::string label, left, right;
  };
  std::vector<Line> lines_;
  int label_width_ = 0, left_width_ = 0, right_width_ = 0;
};

class FocusNarrator {
 public:
  FocusNarrator(const Lesson& lesson, const Walk& walk, std::int64_t row, const draw::Terminal& terminal)
      : lesson_(lesson), walk_(walk), row_(row), terminal_(terminal), token_(label(lesson.tokens, row)) {}

  std::string head(std::int64_t h) {
    const std::string which = walk_.heads > 1 ? ", head " + std::to_string(h + 1) : "";
    text_ += heading("The row of " + token_ + which + ", written out", terminal_);
    take(h);
    products();
    exponentials();
    weighted_sum();
    return std::move(text_);
  }

 private:
  static std::string label(const std::vector<std::string>& labels, std::int64_t i) {
    return "“" + draw::shorten(draw::printable(labels[static_cast<std::size_t>(i)]), 24) + "”";
  }
  std::string key(std::int64_t j) const { return label(lesson_.key_tokens, j); }
  double at(const Tensor& stage, std::int64_t j) const {
    return stage.values<double>()[static_cast<std::size_t>((head_ * walk_.queries + row_) * walk_.keys + j)];
  }
  const double* part(const Tensor& matrix, std::int64_t row, std::int64_t size) const {
    return matrix.values<double>().data() + row * matrix.size(1) + head_ * size;
  }
  bool hidden(std::int64_t j) const {
    return at(walk_.biased, j) == -std::numeric_limits<double>::infinity();
  }

  // The keys to show: all, or the heaviest of many, in their order.
  void take(std::int64_t h) {
    head_ = h;
    keys_.clear();
    for (std::int64_t j = 0; j < walk_.keys; ++j) keys_.push_back(j);
    if (walk_.keys <= kMostKeys) return;
    std::stable_sort(keys_.begin(), keys_.end(), [&](std::int64_t a, std::int64_t b) {
      return at(walk_.weights, a) > at(walk_.weights, b);
    });
    keys_.resize(kMostKeys);
    std::sort(keys_.begin(), keys_.end());
    text_ += paragraph("The " + std::to_string(kMostKeys) + " heaviest of " + std::to_string(walk_.keys) +
                           " keys are shown; sums run over all of them.",
                       terminal_);
  }

  void products() {
    const double* const query = part(walk_.q, row_, walk_.d);
    text_ += paragraph(
        "Its query " + walk_.q_name + " = " + vector_text(query, walk_.d) + ", times each key, added up:",
        terminal_);
    for (const std::int64_t j : keys_) {
      lines_.add(key(j), products_text(query, part(walk_.k, j, walk_.d), walk_.d),
                 number(at(walk_.products, j)));
    }
    text_ += lines_.finish(terminal_.width - 8);
    if (walk_.scale == 1) return;
    text_ += paragraph("Each score times " + brief(walk_.scale) +
                           (lesson_.scale ? " (the scale):" : " (1/√" + std::to_string(walk_.d) + "):"),
                       terminal_);
    for (const std::int64_t j : keys_) {
      lines_.add(key(j), number(at(walk_.products, j)) + " × " + brief(walk_.scale),
                 number(at(walk_.scores, j)));
    }
    text_ += lines_.finish(terminal_.width - 8);
  }

  void exponentials() {
    max_ = -std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < walk_.keys; ++j) max_ = std::max(max_, at(walk_.biased, j));
    sum_ = 0;
    for (std::int64_t j = 0; j < walk_.keys; ++j) sum_ += std::exp(at(walk_.biased, j) - max_);
    text_ += paragraph("The largest score is " + number(max_) +
                           "; taken off first, so that no exponential can overflow. The exponentials:",
                       terminal_);
    for (const std::int64_t j : keys_) {
      const double score = at(walk_.biased, j);
      lines_.add(
          key(j),
          hidden(j) ? "exp(-inf), it comes later" : "exp(" + number(score) + " - " + number(max_) + ")",
          number(std::exp(score - max_)));
    }
    lines_.add("their sum", "", number(sum_));
    text_ += lines_.finish(terminal_.width - 8);

    text_ += paragraph("Each divided by their sum gives the weights:", terminal_);
    draw::Bars bars;
    bars.full_length = 1;
    for (const std::int64_t j : keys_) {
      lines_.add(key(j), number(std::exp(at(walk_.biased, j) - max_)) + " / " + number(sum_),
                 number(at(walk_.weights, j)));
      bars.bars.push_back({lesson_.key_tokens[static_cast<std::size_t>(j)], at(walk_.weights, j), false});
    }
    text_ += lines_.finish(terminal_.width - 8);
    draw::Terminal narrow = terminal_;
    narrow.width = std::min(terminal_.width, 72);
    text_ += draw::indent(draw::render_bars(bars, narrow), 2) + "\n";
  }

  void weighted_sum() {
    text_ += paragraph("The weighted sum of the values is its new vector:", terminal_);
    for (const std::int64_t j : keys_) {
      const double weight = at(walk_.weights, j);
      const double* const value = part(walk_.v, j, walk_.dv);
      std::vector<double> scaled(value, value + walk_.dv);
      for (double& element : scaled) element *= weight;
      lines_.add(key(j), number(weight) + " × " + vector_text(value, walk_.dv),
                 vector_text(scaled.data(), walk_.dv));
    }
    lines_.add("added up", "", vector_text(part(walk_.concat, row_, walk_.dv), walk_.dv));
    text_ += lines_.finish(terminal_.width - 8);
  }

  const Lesson& lesson_;
  const Walk& walk_;
  std::int64_t row_;
  const draw::Terminal& terminal_;
  std::string token_;
  std::int64_t head_ = 0;
  std::vector<std::int64_t> keys_;
  double max_ = 0, sum_ = 0;
  Lines lines_;
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
    known.append(i > 0 ? ", " : "").append(shown(lesson.tokens[i]));
  }
  if (lesson.tokens.size() > 12) known += ", …";
  refuse_lesson(LessonCause::unknown_token, name, "there is no token \"", shown(token),
                "\" to focus on, the tokens are ", known);
}

std::string narrate_focus(const Lesson& lesson, const Walk& walk, std::int64_t row,
                          const draw::Terminal& terminal) {
  std::string text;
  FocusNarrator narrator(lesson, walk, row, terminal);
  for (std::int64_t head = 0; head < walk.heads; ++head) text += narrator.head(head);
  return text;
}

}  // namespace attend::steps
