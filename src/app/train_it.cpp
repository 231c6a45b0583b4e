#include "app/train_it.h"

#include <cmath>

#include "app/figure_output.h"
#include "app/output.h"
#include "base/error.h"
#include "draw/figure_terminal.h"
#include "draw/number.h"
#include "draw/prose.h"
#include "draw/text_width.h"
#include "learn/pronoun.h"
#include "learn/run_folder.h"
#include "steps/lesson_json.h"
#include "steps/weights_figure.h"

namespace attend::app {
namespace {

steps::Lesson lesson_of(learn::PronounFit& fit) {
  const learn::PronounSentence sentence = learn::textbook_sentence();
  steps::Lesson lesson;
  lesson.tokens = lesson.key_tokens = sentence.tokens;
  lesson.x = learn::word_features(sentence.tokens);
  lesson.wq = copy_of(fit.wq());
  lesson.wk = copy_of(fit.wk());
  lesson.wv = Tensor(DType::f64, {lesson.x->size(1), lesson.x->size(1)});
  for (std::int64_t i = 0; i < lesson.x->size(1); ++i)
    lesson.wv->values<double>()[static_cast<std::size_t>(i * (lesson.x->size(1) + 1))] = 1;
  return lesson;
}

draw::Heatmap map_of(learn::PronounFit& fit, const std::string& title) {
  const steps::Lesson lesson = lesson_of(fit);
  draw::Heatmap map = steps::weights_map(lesson, steps::walk("it", lesson), 0);
  map.title = title;
  map.range = {0, 1};
  map.focus_row = static_cast<std::size_t>(learn::textbook_sentence().pronoun);
  return map;
}

std::string weight_text(learn::PronounFit& fit) { return draw::format_number(fit.weight(), {.decimals = 3}); }

}  // namespace

void run_train_it(const learn::Config& config, const std::filesystem::path& folder,
                  const draw::Terminal& terminal) {
  learn::prepare_folder(folder);
  learn::PronounFit fit(static_cast<std::uint64_t>(config.seed));
  draw::Figure figure;
  figure.title = "What “it” learns to look at";
  figure.parts.push_back(map_of(fit, joined("Before: “it” puts ", weight_text(fit), " on “animal”")));
  double loss = learn::PronounFit::kLearned + 1;
  for (std::int64_t step = 1; step <= config.schedule.steps && loss > learn::PronounFit::kLearned; ++step) {
    loss = fit.step(config.adamw, config.schedule.rate(step));
    if (!std::isfinite(loss))
      throw std::runtime_error(
          joined("the loss is no longer finite at step ", step, "; a lower training.rate may help"));
  }
  figure.parts.push_back(
      map_of(fit, joined("After ", fit.steps(), " steps: “it” puts ", weight_text(fit), " on “animal”")));
  figure.notes.push_back(
      "Wq and Wk learned from six made-up sentences in which “it” stands for the living thing, and never "
      "from "
      "this one. All that is known about a word beforehand is whether it is a noun, a living thing, a place, "
      "a verb, a state, a function word or a pronoun.");
  write_text(steps::lesson_json(lesson_of(fit)), (folder / "lesson.json").string());
  write_figure(figure, "svg", (folder / "it.svg").string());
  const std::string name = draw::printable(folder.string());
  write_styled(draw::render_figure(figure, terminal) + "\n" +
               draw::paragraph(joined("The loss over the sentences is ",
                                      draw::format_number(loss, {.decimals = 4}), ". Saved in ", name,
                                      "; `attend steps ", name, "/lesson.json --focus it` writes it out."),
                               terminal));
}

}  // namespace attend::app
