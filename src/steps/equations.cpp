#include "steps/equations.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "draw/text_width.h"

namespace attend::steps {
namespace {

constexpr int kEquationIndent = 2;

std::string joined_pieces(const Pieces& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text.append(text.empty() ? "" : " ").append(piece);
  return text;
}

// Lines of at most `width` columns, all but the first indented.
class Broken {
 public:
  explicit Broken(int width) : width_(width) {}

  void add(const std::string& piece) {
    if (fits(piece)) {
      line_.append(line_.empty() ? "" : " ").append(piece);
      return;
    }
    const std::size_t blank = piece.rfind(' ');
    if (draw::text_width(piece) > room() && blank != std::string::npos) {
      add(piece.substr(0, blank));
      add(piece.substr(blank + 1));
      return;
    }
    end_line();
    line_ = piece;
  }

  void end_line() {
    if (line_.empty()) return;
    text_ += draw::indent(line_ + "\n", text_.empty() ? 0 : kEquationIndent);
    line_.clear();
  }

  std::string finish() {
    end_line();
    return std::move(text_);
  }

 private:
  int room() const { return width_ - (text_.empty() ? 0 : kEquationIndent); }
  bool fits(const std::string& piece) const {
    const int before = line_.empty() ? 0 : draw::text_width(line_) + 1;
    return before + draw::text_width(piece) <= room();
  }
  int width_;
  std::string text_, line_;
};

}  // namespace

void Equations::add(std::string label, Pieces left, Pieces right) {
  equations_.push_back({std::move(label), std::move(left), std::move(right)});
}

std::string Equations::finish(int width) {
  int label_width = 0, left_width = 0, right_width = 0;
  for (const auto& [label, left, right] : equations_) {
    label_width = std::max(label_width, draw::text_width(label));
    left_width = std::max(left_width, draw::text_width(joined_pieces(left)));
    right_width = std::max(right_width, draw::text_width(joined_pieces(right)));
  }
  const bool one_line_each = kEquationIndent + label_width + 2 + left_width + 3 + right_width <= width;
  std::string text;
  for (const auto& [label, left, right] : std::exchange(equations_, {})) {
    if (one_line_each) {
      text += draw::pad_right(label, label_width) + "  " + draw::pad_right(joined_pieces(left), left_width) +
              " = " + draw::pad_left(joined_pieces(right), right_width) + "\n";
      continue;
    }
    Broken lines(width - 2 * kEquationIndent);
    for (const std::string& piece : left) lines.add(piece);
    lines.end_line();
    for (std::size_t i = 0; i < right.size(); ++i) lines.add(i == 0 ? "= " + right[i] : right[i]);
    text +=
        draw::shorten(label, width - kEquationIndent) + "\n" + draw::indent(lines.finish(), kEquationIndent);
  }
  return draw::indent(text, kEquationIndent) + "\n";
}

}  // namespace attend::steps
