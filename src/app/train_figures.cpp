#include "app/train_figures.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "draw/heatmap_terminal.h"
#include "draw/number.h"
#include "draw/plot_terminal.h"
#include "draw/prose.h"
#include "draw_cairo/save_figure.h"
#include "learn/run_figures.h"

namespace attend::app {
namespace {

void save_part(const draw::Part& part, const std::filesystem::path& file) {
  draw::Figure figure;
  figure.parts.push_back(part);
  draw::save_figure(figure, file, draw::PageFormat::svg);
}

// Says why there is no film where one might be expected.
std::string without_film(const learn::Trainer& trainer, const draw::Terminal& terminal) {
  const auto example = trainer.task().example();
  if (!example || trainer.config().model.mixer != model::MixerKind::attention) return "";
  return "\n" +
         draw::paragraph(joined("The example has ", example->row_labels.size(),
                                " tokens, too many for maps of its attention; shorter sequences get maps."),
                         terminal);
}

// Whether it has a frame for every snapshot up to its last step.
bool is_complete(const learn::Film& film, std::int64_t steps) {
  const std::vector<std::int64_t> all = learn::snapshot_steps(steps);
  return std::all_of(all.begin(), all.end(), [&](std::int64_t step) {
    return step > film.last_step() || std::any_of(film.frames().begin(), film.frames().end(),
                                                  [&](const auto& frame) { return frame.step == step; });
  });
}

}  // namespace

std::string write_training_figures(learn::Trainer& trainer, const draw::Terminal& terminal, bool keep_film) {
  const std::filesystem::path& folder = trainer.folder();
  std::string text;
  if (!trainer.losses().empty()) {
    const draw::Plot plot = learn::loss_plot(trainer);
    text += "\n" + draw::render_plot(plot, terminal);
    save_part(plot, folder / "loss.svg");
  }
  if (!trainer.film()) return text + without_film(trainer, terminal);
  learn::Film film = *trainer.film();
  if (film.last_step() < trainer.step()) film.take(trainer.step(), trainer.maps(film.example()));
  const draw::Heatmap last = film.last();
  text += "\n" + draw::render_heatmap(last, terminal);
  if (film.has_answers()) {
    text += draw::paragraph(
        "The weight on the answer is " + draw::format_number(film.weight_on_answers(), {.decimals = 3}) + ".",
        terminal);
  }
  save_part(last, folder / "attention.svg");
  const std::filesystem::path file = folder / "film.svg";
  std::error_code error;
  if (keep_film && !is_complete(film, trainer.config().schedule.steps) &&
      std::filesystem::exists(file, error)) {
    return text;
  }
  save_part(film.strip(), file);
  return text;
}

}  // namespace attend::app
