#include "draw/figure_terminal.h"

#include "draw/bars_terminal.h"
#include "draw/head_view_terminal.h"
#include "draw/plot_terminal.h"
#include "draw/prose.h"
#include "draw/style.h"
#include "draw/text_width.h"
#include "draw/thumbnails_terminal.h"

namespace attend::draw {
namespace {

struct Renderer {
  const Terminal& terminal;
  const HeatmapOptions& options;

  std::string operator()(const Heatmap& map) const { return render_heatmap(map, terminal, options); }
  std::string operator()(const HeadView& view) const { return render_head_view(view, terminal); }
  std::string operator()(const ModelView& view) const { return render_model_view(view, terminal); }
  std::string operator()(const Bars& bars) const {
    return render_bars(bars, terminal, options.most_decimals);
  }
  std::string operator()(const Plot& plot) const { return render_plot(plot, terminal); }
  std::string operator()(const Table& table) const {
    return render_table(table, terminal, table.rows.size());
  }
  std::string operator()(const FilmStrip& strip) const { return render_film_strip(strip, terminal); }
};

}  // namespace

std::string render_figure(const Figure& figure, const Terminal& terminal, const HeatmapOptions& options) {
  std::string text;
  StyledLine line(terminal.color);
  if (!figure.title.empty()) {
    const std::string title = shorten(printable(figure.title), terminal.width);
    text += line.add(title, {.emphasis = Emphasis::bold}).finish() + "\n";
  }
  for (const Part& part : figure.parts) {
    text += std::visit(Renderer{terminal, options}, part);
    if (&part != &figure.parts.back()) text += "\n";
  }
  if (!figure.notes.empty() && !figure.parts.empty()) text += "\n";
  for (const std::string& note : figure.notes) {
    const std::string lines = wrap(printable(note), terminal.width);
    for (std::size_t start = 0; start < lines.size();) {
      const std::size_t end = lines.find('\n', start);
      text += line.add(lines.substr(start, end - start), {.emphasis = Emphasis::dim}).finish();
      start = end + 1;
    }
  }
  return text;
}

}  // namespace attend::draw
