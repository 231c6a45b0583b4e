// attend train: trains a small model, and shows how attention learns.
#include <attend/isa.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/command.h"
#include "app/ctrl_c.h"
#include "app/output.h"
#include "app/train_figures.h"
#include "app/train_it.h"
#include "app/train_progress.h"
#include "base/error.h"
#include "draw/number.h"
#include "draw/prose.h"
#include "draw/text_width.h"
#include "learn/config.h"
#include "learn/trainer.h"

namespace attend::app {
namespace {

struct TrainOptions {
  std::optional<std::string> config, folder, watch, precision;
  std::vector<std::string> settings;
  bool print_config = false, resume = false;
};

constexpr const char* kTrainFooter = R"(
Tasks:
  recall    "d7 a3 f1 ... a?": find the digit that goes with the letter
  copy      repeat a sequence
  reverse   repeat it backwards, with an encoder and a decoder
  it        fit Wq and Wk on six sentences until "it" finds "animal"
  text      a language model of a file (data.file), by bytes or by a tokenizer
  masked    an encoder that guesses hidden tokens of a file, as BERT does
  pairs     fine-tune an encoder on sentences that belong together, from a .tsv
            or .jsonl of pairs (data.file), with scores or without

CONFIG is the name of a task, or a JSON file in the form that --print-config
prints; keys that it omits have the defaults of the task.

Try:
  attend train recall                            takes a few seconds; shows where attention looks
  attend train recall --print-config             every key with its value
  attend train recall --set model.scaled=false   without the 1/sqrt(d)
  attend train recall --set model.mixer=gru --set data.distance=32
                                                 a recurrent network instead of attention
  attend train text --set data.file=book.txt -o book
  attend train pairs --set data.file=pairs.tsv -o tuned
  attend train text --set data.file=book.txt --precision bf16 -o book
                                                 the same, multiplying in bf16
  attend train --resume -o book                  continue where it stopped

The folder gets model.safetensors, config.json and tokenizer.json, which
`attend explain -m FOLDER` opens; metrics.jsonl; loss.svg; attention.svg and
film.svg, which show where attention looked at the end and during training; and
training.safetensors, from which --resume continues, bit for bit as if it had
never stopped. Ctrl-C saves and stops.)";

learn::Config chosen_config(const TrainOptions& options) {
  const std::string name = options.config.value_or("recall");
  try {
    bool is_task = false;
    for (const std::string_view task : learn::task_names()) is_task = is_task || task == name;
    std::error_code error;  // for a name that cannot be a file name
    const bool is_file = name.find_first_of("./") != name.npos || std::filesystem::exists(name, error);
    learn::Config config = is_task || !is_file ? learn::default_config(name) : learn::read_config(name);
    for (const std::string& setting : options.settings) {
      const std::size_t equals = setting.find('=');
      if (equals == setting.npos) {
        throw UsageError("--set \"" + setting + "\" is not of the form KEY=VALUE");
      }
      learn::set_key(config, setting.substr(0, equals), setting.substr(equals + 1));
    }
    if (options.precision) learn::set_key(config, "training.precision", *options.precision);
    learn::check(config);
    return config;
  } catch (const learn::ConfigError& error) {
    throw UsageError(error.key + ": " + error.what());
  }
}

std::string pairs_verdict(const learn::Evaluation& found) {
  std::string text;
  for (const learn::Measure& measure : found.more) {
    const std::string value = draw::format_number(measure.value, {.decimals = 3});
    if (measure.key == "spearman")
      text += "on held-out data the rank correlation of cosines and scores is " + value;
    if (measure.key == "mean_reciprocal_rank") {
      text += "on held-out data " + draw::format_number(100 * found.accuracy, {.decimals = 1}) +
              "% of the sentences are nearest to their own partner (mean reciprocal rank " + value + ")";
    }
  }
  return text + ", loss " + draw::format_number(found.loss, {.decimals = 4}) + ".";
}

std::string verdict(const learn::Trainer& trainer, const learn::Evaluation& found) {
  std::string text = "Step " + std::to_string(found.step) + ": ";
  if (trainer.config().task == "pairs") return text + pairs_verdict(found);
  text += draw::format_number(100 * found.accuracy, {.decimals = 1}) + "% correct on held-out data, loss " +
          draw::format_number(found.loss, {.decimals = 4});
  if (trainer.config().task == "text" || trainer.config().task == "masked")
    text += ", perplexity " + draw::format_number(std::exp(found.loss), {.decimals = 2});
  return text + ".";
}

// Says what is about to happen.
std::string opening(learn::Trainer& trainer, bool resumed) {
  const std::string summary = draw::printable(trainer.task().summary());
  std::string text = trainer.config().task + ", " + std::to_string(trainer.model().parameters().numbers()) +
                     " parameters" + (summary.empty() ? "." : "; " + summary + ".");
  if (trainer.config().precision == Precision::bf16 && isa(Precision::bf16) == isa())
    text += " This processor does not multiply bf16, so the training multiplies in f32.";
  if (!resumed) return text;
  if (trainer.finished())
    return "All " + std::to_string(trainer.step()) + " steps have already been taken: " + text;
  return "Continuing from step " + std::to_string(trainer.step()) + ": " + text;
}

std::string closing_line(const learn::Trainer& trainer, bool had_steps) {
  const std::string name = draw::printable(trainer.folder().string());
  if (!had_steps) return "The training in " + name + " is already finished; there is nothing left to do.";
  if (trainer.finished()) return "Saved in " + name + ".";
  return "Stopped at step " + std::to_string(trainer.step()) + " and saved in " + name +
         "; `attend train --resume -o " + name + "` continues.";
}

void run_train(const TrainOptions& options, const Globals& globals) {
  if (options.print_config) {
    write_output(learn::to_json(chosen_config(options)));
    return;
  }
  if (options.resume && (options.config || !options.settings.empty() || options.precision)) {
    throw UsageError(
        "--resume continues with the saved configuration, so it takes no CONFIG, --set or --precision");
  }
  if (options.resume && !options.folder)
    throw UsageError("--resume needs -o FOLDER, the folder of the training to continue");
  const draw::Terminal terminal = draw::detect_terminal(STDOUT_FILENO, globals.color);

  const learn::Config config = options.resume ? learn::Config{} : chosen_config(options);
  const std::filesystem::path folder = options.folder.value_or(config.task + "-model");
  if (!options.resume && config.task == "it") {
    if (options.watch)
      throw UsageError("--watch is for tasks that train a model, but this one fits two matrices");
    run_train_it(config, folder, terminal);
    return;
  }
  std::optional<learn::Trainer> made;
  try {
    made.emplace(options.resume ? learn::Trainer::resume(folder) : learn::Trainer::start(config, folder));
  } catch (const learn::ConfigError& error) {
    throw UsageError(error.key + ": " + error.what());
  }
  learn::Trainer& trainer = *made;
  const bool had_steps = !trainer.finished();
  if (options.watch) trainer.watch(*options.watch);
  write_styled(draw::paragraph(opening(trainer, options.resume), terminal));
  {
    const StopOnCtrlC stop_on_ctrl_c;
    TrainProgress progress(trainer, globals.color);
    trainer.run({.step = [&](const learn::StepReport& report) { progress.show(report); },
                 .evaluation =
                     [&](const learn::Evaluation& found) {
                       progress.clear();
                       write_output(verdict(trainer, found) + "\n");
                     },
                 .snapshot = {},
                 .stop = &interrupted});
  }
  const std::string figures = write_training_figures(trainer, terminal, !had_steps && !options.watch);
  write_styled(figures + "\n" + draw::paragraph(closing_line(trainer, had_steps), terminal));
}

}  // namespace

void add_train_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App* const command = program.add_subcommand("train", "Train a small model and watch attention learn");
  command->add_option("CONFIG", options->config, "A task, or a JSON file (default: recall)")->type_name("");
  command->add_option("-o,--output", options->folder, "The folder of the model (default: TASK-model)")
      ->take_last()
      ->type_name("FOLDER");
  command->add_option("--set", options->settings, "Change the value of a key; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  command
      ->add_option(
          "--precision", options->precision,
          "The numbers in which it multiplies (training.precision): f32, or bf16, which is faster where "
          "the processor multiplies bf16")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->take_last()
      ->type_name("TYPE");
  command
      ->add_option("--watch", options->watch,
                   "Show the attention on this text during training (default: an example of the task)")
      ->take_last()
      ->type_name("TEXT");
  command->add_flag("--print-config", options->print_config, "Print every key with its value and stop")
      ->disable_flag_override();
  command->add_flag("--resume", options->resume, "Continue the training in FOLDER")->disable_flag_override();
  add_color_option(*command, globals);
  command->footer(kTrainFooter);
  command->callback(
      [options, &globals, &run] { run = [options, &globals] { run_train(*options, globals); }; });
}

}  // namespace attend::app
