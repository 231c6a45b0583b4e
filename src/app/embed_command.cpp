// attend embed: pooled or contextual vectors for texts from a file or a pipe.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/command.h"
#include "app/get_model.h"
#include "app/model_options.h"
#include "app/output.h"
#include "app/over_processes.h"
#include "app/status_line.h"
#include "app/unknown_words.h"
#include "base/error.h"
#include "doctor/finite_weights.h"
#include "embed/embed_texts.h"
#include "embed/spread_texts.h"

namespace attend::app {
namespace {

constexpr const char* kEmbedFooter = R"(
One text per line; without -o the vectors are printed as lines of JSON. A file
appears under its name only when it is complete, so an interrupted run leaves no
partial file.

  .npy                 embeddings (texts, size)
  .npz, .safetensors   the same; with --tokens or --words also ends (texts + 1) and
                       offsets (rows, 2) in characters, with --tokens ids (rows) too
  .jsonl               {"index": 0, "text": "...", "embedding": [...]}

The model is a folder, or a name on the hub (attend pull downloads it). Pooling,
normalisation and prompt are those of its folder, unless given.

A text that is too long for the model is cut (truncate), refused with its line
number (error), or divided into pieces whose vectors are averaged (split). The
same applies to a line of more than 4 MiB; truncate reads its first 4 MiB. With
--tokens or --words such a line is refused instead of divided; with --jsonl it is
always refused.

With --mpi the processes of an mpirun read each text together, for texts that are
too long for one. Each holds some of the tokens; the first reads and writes files.
docs/scale.md has what that costs.

Try:
  echo "The bank of the river" | attend embed -
  attend embed texts.txt -o vectors.npy
  attend embed texts.jsonl --jsonl -o vectors.safetensors --on-overflow split
  attend embed texts.txt --words -o words.npz
  mpirun -n 4 attend embed book.txt --mpi -m MODEL -o book.npy)";

struct EmbedArguments {
  ModelOptions model_options;
  std::string file, model{kDefaultModel}, output, overflow = "truncate";
  std::vector<std::string> pooling;
  std::optional<bool> normalize;
  std::optional<std::int64_t> layer, max_tokens;
  std::optional<std::string> prompt, prompt_name;
  std::int64_t batch_tokens = EmbedOptions{}.batch_tokens;
  bool jsonl = false, tokens = false, words = false;
  bool mpi = false;  // each text is read by all processes together
  std::string way = "gathered";
};

// A status line on a terminal: how many texts, how fast and, for a file, the time left; updated at most ten
// times a second.
class EmbedStatus {
 public:
  explicit EmbedStatus(const embed::TextLines& lines) : lines_(lines) {}

  void show(const embed::EmbedProgress& done) {
    if (!line_.due()) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (seconds < 0.3 || done.texts == 0) return;
    char text[160];
    int size = std::snprintf(text, sizeof text, "%lld texts  %.0f texts/s  %.0f tokens/s",
                             static_cast<long long>(done.texts), static_cast<double>(done.texts) / seconds,
                             static_cast<double>(done.tokens) / seconds);
    if (lines_.bytes_in_all() && lines_.bytes_read() > 0) {
      const double part =
          static_cast<double>(lines_.bytes_read()) / static_cast<double>(*lines_.bytes_in_all());
      const int filled = static_cast<int>(part * 20);
      std::snprintf(text + size, sizeof text - static_cast<std::size_t>(size), "  [%.*s%.*s]  %.0f s left",
                    filled, "####################", 20 - filled, "....................",
                    seconds * (1 - part) / part);
    }
    line_.show(text);
  }

 private:
  const embed::TextLines& lines_;
  StatusLine line_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

embed::Overflow overflow_named(const std::string& name) {
  if (name == "error") return embed::Overflow::error;
  return name == "split" ? embed::Overflow::split : embed::Overflow::truncate;
}

SpreadWay way_named(const std::string& name) {
  if (name == "ring") return SpreadWay::ring;
  return name == "heads" ? SpreadWay::heads : SpreadWay::gathered;
}

Pooling pooling_given(const std::string& name) {
  if (const auto pooling = pooling_named(name)) return *pooling;
  throw UsageError("--pool is \"" + name +
                   "\"; expected cls, max, mean, mean_sqrt_length, weighted_mean or last_token");
}

embed::Job job_of(const EmbedArguments& given) {
  if (given.tokens && given.words) throw UsageError("--tokens and --words exclude each other");
  embed::Job job{.grain = given.tokens  ? embed::Grain::token
                          : given.words ? embed::Grain::word
                                        : embed::Grain::text,
                 .overflow = overflow_named(given.overflow)};
  if (job.grain != embed::Grain::text && (!given.pooling.empty() || given.prompt || given.prompt_name)) {
    throw UsageError(
        "--pool, --prompt and --prompt-name are for one vector per text; they cannot be combined with "
        "--tokens "
        "or --words");
  }
  if (given.mpi && job.grain != embed::Grain::text)
    throw UsageError("--mpi is for one vector per text; it cannot be combined with --tokens or --words");
  for (const std::string& name : given.pooling) job.options.pooling.push_back(pooling_given(name));
  job.options.normalize = given.normalize;
  job.options.layer = given.layer;
  job.options.max_tokens = given.max_tokens;
  job.options.prompt = given.prompt;
  job.options.batch_tokens = given.batch_tokens;
  return job;
}

// One of the prompts in the model's folder.
std::string prompt_named(const TextModel& model, const std::string& name) {
  const auto& prompts = model.files().prompts;
  if (const auto found = prompts.find(name); found != prompts.end()) return found->second;
  std::string known;
  for (const auto& [other, text] : prompts) known.append(known.empty() ? "" : ", ").append(other);
  throw UsageError("--prompt-name is \"" + name + "\"; the model has " +
                   (known.empty() ? "no prompts" : known));
}

// Passes vectors on to another sink and counts the texts whose vectors are not finite.
class FiniteCheck : public embed::Sink {
 public:
  explicit FiniteCheck(embed::Sink& next) : next_(next) {}

  void add(const embed::EmbeddedText& text) override {
    const Tensor copied = copy_of(text.vectors, DType::f32);
    const auto finite = [](float value) { return std::isfinite(value); };
    if (!std::ranges::all_of(copied.values<float>(), finite) && bad_++ == 0) first_ = text.index;
    next_.add(text);
  }
  void finish() override { next_.finish(); }

  // Reports them on standard error, if there were any.
  void warn(const embed::Outcome& outcome, const TextModel& model) const {
    if (bad_ == 0) return;
    say(joined("attend embed: the vectors of ", bad_, " of ", outcome.done.texts,
               " texts are not finite, starting with text ", first_ + 1,
               "; why: ", doctor::cause_of_not_finite(model.files())));
  }

 private:
  embed::Sink& next_;
  std::int64_t bad_ = 0, first_ = 0;
};

// "line 3, 5, ..."
std::string lines_named(const std::vector<std::int64_t>& first, std::int64_t count) {
  std::string lines = "line ";
  for (std::size_t i = 0; i < first.size(); ++i)
    lines.append(i == 0 ? "" : ", ").append(std::to_string(first[i]));
  if (count > static_cast<std::int64_t>(first.size())) lines.append(", ...");
  return lines;
}

void warn_of_unknown_texts(const embed::Outcome& outcome, const TextModel& model) {
  if (outcome.unknown == 0) return;
  say(joined("attend embed: the model knows no word of ", outcome.unknown, " of ", outcome.done.texts,
             " texts (", lines_named(outcome.unknown_lines, outcome.unknown),
             "), and their vectors say nothing about them. ",
             model_that_reads(model, outcome.unknown_text, true)));
}

// What a folder does not say is decided here, and the vectors depend on it.
void tell_of_pooling(const TextModel& model, const embed::Job& job) {
  if (job.grain != embed::Grain::text || !job.options.pooling.empty() || !model.files().pooling.empty())
    return;
  say(joined(
      "attend embed: ", model.files().name,
      " does not say how to pool, so a text's vector is the mean over its tokens; --pool chooses another "
      "way."));
}

void warn_of_long_texts(const embed::Outcome& outcome, const EmbedArguments& given, std::int64_t most) {
  if (outcome.too_long == 0) return;
  say(joined("attend embed: ", outcome.too_long, " of ", outcome.done.texts, " texts had more than ", most,
             outcome.over_long > 0 ? " tokens or 4 MiB and " : " tokens and ",
             given.overflow == "split" ? "were divided" : "were cut", " (",
             lines_named(outcome.too_long_lines, outcome.too_long), ")"));
}

// processes: those that read each text together; null: this one alone.
void run_embed(const EmbedArguments& given, Processes* processes) {
  embed::Job job = job_of(given);
  const TextModel model = open_model(given.model, given.model_options);
  if (given.prompt_name) job.options.prompt = prompt_named(model, *given.prompt_name);
  const std::int64_t size = job.grain == embed::Grain::text ? model.embedding_size(job.options)
                                                            : model.transformer().description().hidden_size;
  const std::int64_t layers = model.transformer().description().layer_count();
  if (given.layer.value_or(0) > layers) {
    throw UsageError("--layer is " + std::to_string(*given.layer) + ", but the model has 0 to " +
                     std::to_string(layers));
  }
  require_max_tokens(model, given.max_tokens);
  const SpreadWay way = way_named(given.way);
  if (processes != nullptr && processes->rank() != 0)
    return embed::read_along(*processes, way, model, job.options);
  std::optional<embed::SpreadTexts> together;
  if (processes != nullptr) {
    together.emplace(*processes, way, model);
    job.embed = [&](std::span<const Encoding> texts, const EmbedOptions& options) {
      return together->embed(texts, options);
    };
  }
  embed::TextLines lines(given.file, given.jsonl ? embed::LineForm::json : embed::LineForm::plain);
  std::unique_ptr<embed::Sink> sink;
  try {
    sink = embed::make_sink(given.output, job.grain, size, write_output);
  } catch (const std::invalid_argument& error) {
    throw UsageError("-o: " + plain_sentence(error));
  }
  embed::Outcome outcome;
  FiniteCheck checked(*sink);
  {
    EmbedStatus line(lines);
    outcome = embed::embed_texts(model, lines, job, checked,
                                 [&](const embed::EmbedProgress& done) { line.show(done); });
  }
  if (together) together->finish();
  checked.finish();
  tell_of_pooling(model, job);
  checked.warn(outcome, model);
  warn_of_long_texts(outcome, given, given.max_tokens.value_or(model.max_tokens()));
  warn_of_unknown_texts(outcome, model);
}

}  // namespace

void add_embed_command(CLI::App& program, Globals&, std::function<void()>& run) {
  CLI::App* const command =
      program.add_subcommand("embed", "Compute vectors for texts from a file or a pipe");
  const auto given = std::make_shared<EmbedArguments>();
  command->add_option("file", given->file, "Texts, one per line; - reads standard input")
      ->required()
      ->type_name("FILE");
  add_model_option(*command, given->model);
  add_precision_option(*command, given->model_options);
  command->add_option("-o,--output", given->output, "Write the vectors to this file")->type_name("FILE");
  command->add_flag("--jsonl", given->jsonl, "Each line is {\"text\": ...} or a JSON string");
  command->add_flag("--tokens", given->tokens, "One vector per token");
  command->add_flag("--words", given->words, "One vector per word: the mean of its tokens");
  command
      ->add_option("--pool", given->pooling,
                   "cls, max, mean, mean_sqrt_length, weighted_mean, last_token; several are concatenated")
      ->type_name("HOW")
      ->delimiter(',');
  // Two flags without a default: if neither is given, the model's folder decides.
  CLI::Option* const normalize = command->add_flag_callback(
      "--normalize", [given] { given->normalize = true; }, "Scale each vector to length 1");
  command
      ->add_flag_callback(
          "--no-normalize", [given] { given->normalize = false; }, "Leave each vector as it is")
      ->excludes(normalize);
  command->add_option("--layer", given->layer, "Take the output of this layer; 0 = the embeddings")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  CLI::Option* const prompt =
      command->add_option("--prompt", given->prompt, "Prepended to every text")->type_name("TEXT");
  command->add_option("--prompt-name", given->prompt_name, "A prompt of the model's folder, by its name")
      ->type_name("NAME")
      ->excludes(prompt);
  command
      ->add_option("--max-tokens", given->max_tokens,
                   "At most this many tokens per text, including special ones")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--batch-tokens", given->batch_tokens,
                   "How many tokens are processed at once; does not change the vectors")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--on-overflow", given->overflow,
                   "What to do with a text that is too long: truncate, error or split")
      ->check(CLI::IsMember({"truncate", "error", "split"}))
      ->type_name("HOW")
      ->capture_default_str();
  CLI::Option* const mpi =
      command->add_flag("--mpi", given->mpi, "All processes of an mpirun read each text together");
  command
      ->add_option(
          "--way", given->way,
          "With --mpi: gathered (the vectors of one process), heads (likewise), or ring (least memory)")
      ->check(CLI::IsMember({"gathered", "heads", "ring"}))
      ->needs(mpi)
      ->type_name("HOW")
      ->capture_default_str();
  command->footer(kEmbedFooter);
  command->callback([&run, given] {
    run = [given] {
      if (!given->mpi) return run_embed(*given, nullptr);
      over_processes([&](Processes& processes) { run_embed(*given, &processes); });
    };
  });
}

}  // namespace attend::app
