#include "steps/narrate.h"

#include <algorithm>
#include <cmath>

#include "draw/heatmap_terminal.h"
#include "draw/style.h"
#include "draw/table.h"
#include "draw/text_width.h"

namespace attend::steps {
namespace {

constexpr int kIndent = 2;
constexpr std::int64_t kMostShown =
    200;  // more rows or columns than any screen has; the table itself drops what does not fit

// The first and the last of many: a table leaves out the middle anyway, and need not be built for it.
std::vector<std::int64_t> shown_indices(std::int64_t count) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < std::min(count, kMostShown); ++i) {
    const bool first_half = count <= kMostShown || i < kMostShown / 2;
    indices.push_back(first_half ? i : count - kMostShown + i);
  }
  return indices;
}

class Narrator {
 public:
  Narrator(const Lesson& lesson, const Walk& walk, const draw::Terminal& terminal)
      : lesson_(lesson), walk_(walk), terminal_(terminal), inner_(terminal) {
    inner_.width = std::max(terminal.width - kIndent, 20);
  }

  std::string run() {
    inputs();
    if (lesson_.wq || lesson_.q) vectors();
    for (std::int64_t head = 0; head < walk_.heads; ++head) one_head(head);
    if (walk_.heads > 1 || lesson_.wo) joined();
    return std::move(text_);
  }

 private:
  void step(const std::string& what, const std::string& why) {
    std::string number = std::to_string(++number_);
    text_ += heading(number.append(". ").append(what), terminal_);
    text_ += draw::indent(paragraph(why, inner_), kIndent);
  }

  void matrix(ConstTensorView values, const std::vector<std::string>& rows,
              const std::vector<std::string>& columns) {
    std::vector<std::string> row_labels, column_labels;
    std::vector<double> cells;
    const std::vector<std::int64_t> shown_columns = shown_indices(values.size(1));
    for (const std::int64_t i : shown_indices(values.size(0))) {
      row_labels.push_back(rows[static_cast<std::size_t>(i)]);
      for (const std::int64_t j : shown_columns) {
        cells.push_back(values.data<double>()[i * values.stride(0) + j * values.stride(1)]);
      }
    }
    if (!columns.empty()) {
      for (const std::int64_t j : shown_columns)
        column_labels.push_back(columns[static_cast<std::size_t>(j)]);
    }
    const draw::Table table = draw::matrix_table("", row_labels, column_labels, cells, shown_columns.size(),
                                                 draw::number_format_for(cells));
    text_ += draw::indent(draw::render_table(table, inner_), kIndent) + "\n";
  }

  void heatmap(ConstTensorView weights, ConstTensorView biased) {
    draw::Heatmap map;
    map.rows = static_cast<std::size_t>(weights.size(0));
    map.columns = static_cast<std::size_t>(weights.size(1));
    map.row_labels = lesson_.tokens;
    map.column_labels = lesson_.key_tokens;
    const Tensor values = copy_of(weights), hidden = copy_of(biased);
    map.values.assign(values.values<double>().begin(), values.values<double>().end());
    if (lesson_.causal) {
      for (const double value : hidden.values<double>()) map.masked.push_back(std::isinf(value));
    }
    map.range = {0, draw::range_of(map).high};
    text_ += draw::indent(draw::render_heatmap(map, inner_), kIndent) + "\n";
  }

  void inputs() {
    if (!lesson_.x) return;
    const bool positions = lesson_.sinusoidal_positions;
    step(positions ? "Input X: one vector per token, with its position added"
                   : "Input X: one vector per token",
         positions ? "Each row is the token's own vector plus the sines and cosines of its place."
                   : "Each row is what a token means before it has looked at any other.");
    matrix(walk_.x, lesson_.tokens, {});
    if (!lesson_.context) return;
    step("Context C: the tokens to look at", "Keys and values come from here, queries from X.");
    matrix(walk_.context, lesson_.key_tokens, {});
  }

  void vectors() {
    const std::string source = lesson_.context ? "C" : "X";
    const auto name = [&](const char* letter, const std::string& from, const char* w) {
      return lesson_.wq ? std::string(letter) + " = " + from + " " + w : std::string(letter);
    };
    step("Queries " + name("Q", "X", "Wq"), "What each token is looking for.");
    matrix(walk_.q, lesson_.tokens, {});
    step("Keys " + name("K", source, "Wk"), "What each token has to offer.");
    matrix(walk_.k, lesson_.key_tokens, {});
    step("Values " + name("V", source, "Wv"), "What each token gives when it is looked at.");
    matrix(walk_.v, lesson_.key_tokens, {});
  }

  void one_head(std::int64_t head) {
    const std::string which = walk_.heads > 1 ? " of head " + std::to_string(head + 1) : "";
    const std::string q = walk_.q_name, k = walk_.k_name, v = walk_.v_name;
    step("Scores" + which + " = " + q + " " + k + "ᵀ",
         "Row by row: the dot product of that token's query with every key, large where the two point the "
         "same way.");
    matrix(walk_.products.view().select(0, head), lesson_.tokens, lesson_.key_tokens);
    if (walk_.scale != 1) {
      const std::string factor = draw::format_short(walk_.scale, 6);
      step("Scaled scores" + which,
           lesson_.scale ? "Every score times the scale, " + factor + "."
                         : "Every score divided by √" + std::to_string(walk_.d) + " (times " + factor +
                               "), so that longer vectors do not make larger scores.");
      matrix(walk_.scores.view().select(0, head), lesson_.tokens, lesson_.key_tokens);
    }
    if (lesson_.causal) {
      step("Masked scores" + which, "A token may not see a later key: its score becomes -inf.");
      matrix(walk_.biased.view().select(0, head), lesson_.tokens, lesson_.key_tokens);
    }
    step("Weights" + which + " = softmax(scores), row by row",
         "exp(score) divided by the sum of the row's exp: positive, and each row adds up to 1.");
    heatmap(walk_.weights.view().select(0, head), walk_.biased.view().select(0, head));
    step("Output" + which + " = weights " + v,
         "Each token becomes the average of the values, weighted by its row.");
    const std::int64_t first = head * walk_.dv;
    matrix(ConstTensorView(walk_.concat).slice(1, first, first + walk_.dv), lesson_.tokens, {});
  }

  void joined() {
    if (walk_.heads > 1) {
      step("Concatenation", "The outputs of the heads side by side, one row per token.");
      matrix(walk_.concat, lesson_.tokens, {});
    }
    if (lesson_.wo) {
      step("Output = concatenation Wo", "The output projection mixes what the heads found.");
      matrix(walk_.output, lesson_.tokens, {});
    }
  }

  const Lesson& lesson_;
  const Walk& walk_;
  draw::Terminal terminal_, inner_;
  int number_ = 0;
  std::string text_;
};

}  // namespace

std::string heading(std::string_view text, const draw::Terminal& terminal) {
  const draw::Style bold{.text = {}, .background = {}, .emphasis = draw::Emphasis::bold};
  return draw::styled(draw::shorten(text, terminal.width), bold, terminal.color) + "\n";
}

std::string paragraph(std::string_view text, const draw::Terminal& terminal) {
  const int width = std::min(terminal.width, 96);  // longer lines are hard to read
  std::string result, line;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    if (!line.empty() && draw::text_width(line) + 1 + draw::text_width(word) > width) {
      result += line + "\n";
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return result + line + "\n";
}

std::string narrate_steps(const Lesson& lesson, const Walk& walk, const draw::Terminal& terminal) {
  return Narrator(lesson, walk, terminal).run();
}

std::string narrate_shapes(const Walk& walk, const draw::Terminal& terminal) {
  draw::Table table;
  table.label_header = "step";
  table.columns = {{"operation", draw::Align::left}, {"shape", draw::Align::left}};
  for (const Step& step : walk.steps) table.rows.push_back({step.name, {step.operation, step.shape}});
  return heading("Shapes", terminal) + draw::indent(draw::render_table(table, terminal), kIndent);
}

}  // namespace attend::steps
