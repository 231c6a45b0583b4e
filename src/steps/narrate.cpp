#include "steps/narrate.h"

#include <attend/positions.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "draw/heatmap_terminal.h"
#include "draw/prose.h"
#include "draw/style.h"
#include "draw/table.h"
#include "draw/text_width.h"
#include "steps/weights_figure.h"

namespace attend::steps {
namespace {

constexpr int kIndent = 2;
constexpr std::int64_t kMostShown = 200;   // more rows or columns than any screen has; tables drop the rest
constexpr std::size_t kRowsOfInputs = 60;  // longer tables omit their middle
constexpr std::size_t kRowsOfProjections = 16;

// The first and the last of many: a table omits the middle anyway, so it need not be built.
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
    inner_.width = terminal.width - kIndent;
  }

  std::string run() {
    inputs();
    if (lesson_.wq || lesson_.q) vectors();
    for (std::int64_t head = 0; head < walk_.heads; ++head) one_head(head);
    if (walk_.heads > 1 || lesson_.wo) joined();
    return std::move(text_);
  }

 private:
  // `name` is that of the walk's step, whose shape is shown beside the heading. Explanations are not repeated
  // for later heads, which do the same.
  void step(std::string_view name, const std::string& what, const std::string& why) {
    std::string title = std::to_string(++number_);
    title.append(". ").append(what);
    const std::string shape = shape_of(name);
    if (draw::text_width(title) + 3 + draw::text_width(shape) <= terminal_.width) {
      draw::StyledLine line(terminal_.color);
      text_ += line.add(title, {.emphasis = draw::Emphasis::bold})
                   .add("   ")
                   .add(shape, {.emphasis = draw::Emphasis::dim})
                   .finish();
    } else {
      text_ += draw::heading(title, terminal_);
      text_ += draw::indent(draw::paragraph(shape, inner_), kIndent);
    }
    if (explained_.insert(why).second) text_ += draw::indent(draw::paragraph(why, inner_), kIndent);
  }

  std::string shape_of(std::string_view name) const {
    for (const Step& step : walk_.steps) {
      if (step.name == name) return step.shape;
    }
    return {};
  }

  // A matrix with the names of its rows and columns, where it has any.
  void matrix(ConstTensorView values, const std::vector<std::string>& rows,
              const std::vector<std::string>& columns = {}, std::string title = "",
              std::size_t most_rows = kRowsOfInputs) {
    std::vector<std::string> row_labels, column_labels;
    std::vector<double> cells;
    const std::vector<std::int64_t> shown_columns = shown_indices(values.size(1));
    for (const std::int64_t i : shown_indices(values.size(0))) {
      if (!rows.empty()) row_labels.push_back(rows[static_cast<std::size_t>(i)]);
      for (const std::int64_t j : shown_columns) {
        cells.push_back(values.data<double>()[i * values.stride(0) + j * values.stride(1)]);
      }
    }
    if (!columns.empty()) {
      for (const std::int64_t j : shown_columns)
        column_labels.push_back(columns[static_cast<std::size_t>(j)]);
    }
    const draw::Table table = draw::matrix_table(std::move(title), row_labels, column_labels, cells,
                                                 shown_columns.size(), draw::number_format_for(cells));
    text_ += draw::indent(draw::render_table(table, inner_, most_rows), kIndent) + "\n";
  }

  // A projection and its bias, before their result.
  void projection(const std::string& name, const Tensor& w, const std::string& bias_name,
                  const std::optional<Tensor>& bias) {
    matrix(w, {}, {}, name, kRowsOfProjections);
    if (bias) matrix(bias->view().with_axis(0), {}, {}, bias_name);
  }

  void heatmap(std::int64_t head) {
    text_ += draw::indent(draw::render_heatmap(weights_map(lesson_, walk_, head), inner_), kIndent) + "\n";
  }

  void inputs() {
    if (!lesson_.x) return;
    step("Input", "Input X: one vector per token",
         "Each row is what a token means before it has attended to any other.");
    matrix(*lesson_.x, lesson_.tokens);
    if (lesson_.context) {
      step("Context", "Context C: the tokens to look at", "Keys and values come from here, queries from X.");
      matrix(*lesson_.context, lesson_.key_tokens);
    }
    if (lesson_.sinusoidal_positions) positions();
  }

  void positions() {
    Tensor table(DType::f64, walk_.x.shape());
    sinusoidal_positions(table);
    std::vector<std::string> places;
    for (std::int64_t i = 0; i < walk_.queries; ++i) places.push_back(std::to_string(i));
    step(
        "Positions", "Positions P: X + P, from here on called X",
        "Row p of P is sin p, cos p, then sines and cosines of lower frequency: no two positions are alike.");
    matrix(table, places, {}, "P");
    matrix(walk_.x, lesson_.tokens, {}, "X + P");
    if (lesson_.context) matrix(walk_.context, lesson_.key_tokens, {}, "C + P, from here on called C");
  }

  // Queries, keys or values: given directly, or projected.
  struct Vectors {
    const char* name;
    const char* why;
    char letter;
    const char* source;  // what is projected
    const std::optional<Tensor>&w, &bias;
    const Tensor& result;
    const std::vector<std::string>& labels;
  };

  void vectors() {
    const char* const source = lesson_.context ? "C" : "X";
    one_of({"Queries", "What each token is looking for.", 'q', "X", lesson_.wq, lesson_.bq, walk_.q,
            lesson_.tokens});
    one_of({"Keys", "What each token has to offer.", 'k', source, lesson_.wk, lesson_.bk, walk_.k,
            lesson_.key_tokens});
    one_of({"Values", "What each token gives when it is attended to.", 'v', source, lesson_.wv, lesson_.bv,
            walk_.v, lesson_.key_tokens});
  }

  void one_of(const Vectors& some) {
    const std::string w_name{'W', some.letter}, bias_name{'b', some.letter};
    const std::string capital(1, static_cast<char>(some.letter - 'a' + 'A'));
    std::string what = some.name + (" " + capital);
    if (some.w) what.append(" = ").append(some.source).append(" ").append(w_name);
    if (some.bias) what.append(" + ").append(bias_name);
    step(some.name, what, some.why);
    if (some.w) projection(w_name, *some.w, bias_name, some.bias);
    matrix(some.result, some.labels, {}, some.w ? capital : "");
  }

  // "Head 2 of 3: columns 3 to 4 of Q and K, 5 to 7 of V"
  void introduce(std::int64_t head) {
    const auto columns = [&](std::int64_t size) {
      const std::string first = std::to_string(head * size + 1), last = std::to_string((head + 1) * size);
      return size == 1 ? first : first + " to " + last;
    };
    const std::string q = walk_.q_name, k = walk_.k_name, v = walk_.v_name;
    std::string text = "Head " + std::to_string(head + 1) + " of " + std::to_string(walk_.heads) +
                       ": column" + (walk_.d == 1 && walk_.dv == 1 ? " " : "s ") + columns(walk_.d) + " of " +
                       q;
    if (walk_.d != walk_.dv) {
      text += " and " + k + ", " + columns(walk_.dv) + " of " + v;
    } else if (q == "Q") {
      text += ", K and V";
    } else if (k != q) {
      text += " and " + k;
    }
    text_ += draw::heading(text, terminal_) + "\n";
  }

  void one_head(std::int64_t head) {
    const std::string which = walk_.heads > 1 ? " of head " + std::to_string(head + 1) : "";
    const std::string q = walk_.q_name, k = walk_.k_name, v = walk_.v_name;
    if (walk_.heads > 1) introduce(head);
    step("Scores", "Scores" + which + " = " + q + " " + k + "ᵀ",
         "Row by row: the dot product of that token's query with every key, large where the two point the "
         "same way.");
    matrix(walk_.products.view().select(0, head), lesson_.tokens, lesson_.key_tokens);
    if (walk_.scale != 1) {
      const std::string factor = draw::format_short(walk_.scale, 6);
      step("Scale", "Scaled scores" + which,
           lesson_.scale ? "Every score times the scale, " + factor + "."
                         : "Every score divided by √" + std::to_string(walk_.d) + " (times " + factor +
                               "), so that longer vectors do not make larger scores.");
      matrix(walk_.scores.view().select(0, head), lesson_.tokens, lesson_.key_tokens);
    }
    if (lesson_.causal) {
      step("Mask", "Masked scores" + which, "A token may not see a later key: its score becomes -inf.");
      matrix(walk_.biased.view().select(0, head), lesson_.tokens, lesson_.key_tokens);
    }
    step("Weights", "Weights" + which + " = softmax(scores), row by row",
         "exp(score) divided by the sum of the row's exp: positive, and each row adds up to 1.");
    heatmap(head);
    step("Output", "Output" + which + " = weights " + v,
         "Each token becomes the average of the values, weighted by its row.");
    const std::int64_t first = head * walk_.dv;
    matrix(ConstTensorView(walk_.concat).slice(1, first, first + walk_.dv), lesson_.tokens);
  }

  void joined() {
    const bool several = walk_.heads > 1;
    if (several) {
      step("Concat", "Concatenation", "The outputs of the heads side by side, one row per token.");
      matrix(walk_.concat, lesson_.tokens);
    }
    if (lesson_.wo) {
      std::string what = several ? "Projected output = concatenation Wo" : "Projected output = output Wo";
      if (lesson_.bo) what += " + bo";
      step("Project", what,
           several ? "The output projection mixes what the heads found."
                   : "The output projection maps the result to the output size.");
      projection("Wo", *lesson_.wo, "bo", lesson_.bo);
      matrix(walk_.output, lesson_.tokens, {}, "Output");
    }
  }

  const Lesson& lesson_;
  const Walk& walk_;
  draw::Terminal terminal_, inner_;
  int number_ = 0;
  std::set<std::string> explained_;
  std::string text_;
};

}  // namespace

std::string narrate_steps(const Lesson& lesson, const Walk& walk, const draw::Terminal& terminal) {
  return Narrator(lesson, walk, terminal).run();
}

std::string narrate_shapes(const Walk& walk, const draw::Terminal& terminal) {
  draw::Table table;
  table.label_header = "step";
  table.columns = {{"operation", draw::Align::left}, {"shape", draw::Align::left}};
  for (const Step& step : walk.steps) table.rows.push_back({step.name, {step.operation, step.shape}});
  draw::Terminal inner = terminal;
  inner.width -= kIndent;
  std::string text = draw::render_table(table, inner);
  if (text.find("…") != std::string::npos) {  // too narrow for a table, and no shape may be omitted
    text.clear();
    draw::Terminal narrower = inner;
    narrower.width -= kIndent;
    for (const Step& step : walk.steps) {
      text += draw::paragraph(step.name + ": " + step.operation, inner);
      text += draw::indent(draw::paragraph(step.shape, narrower), kIndent);
    }
  }
  return draw::heading("Shapes", terminal) + draw::indent(text, kIndent);
}

}  // namespace attend::steps
