// attend compare: how far the vector of a word differs between two texts, and which tokens moved it.
#include <unistd.h>

#include <memory>
#include <optional>

#include "app/command.h"
#include "app/get_model.h"
#include "app/input_text.h"
#include "app/model_options.h"
#include "app/output.h"
#include "app/unknown_words.h"
#include "explain/comparison.h"

namespace attend::app {
namespace {

constexpr const char* kCompareFooter = R"(
Prints the cosine between the word's vectors in the two texts: `static` for the
row of the embedding table, 0 for the embeddings with positions, then each layer.
With one text, the occurrences of the word in it are compared. A text may also be
the name of a file, or - for standard input.

Try:
  attend compare "She sat on the bank of the river." \
                 "He put the money in the bank." --word bank
  attend compare "Apple launched a new phone while I was eating an apple." --word apple)";

struct CompareArguments {
  ModelOptions model_options;
  std::string first, word, model{kDefaultModel};
  std::optional<std::string> second, other_word;
  bool json = false;
};

void run_compare(const CompareArguments& given, const Globals& globals) {
  if (given.other_word && !given.second)
    throw UsageError("--other-word is for a second text, but there is only one text");
  if (given.first == "-" && given.second == "-")
    throw UsageError("only one of the texts can be standard input");
  const std::string first_text = input_text(given.first);
  const std::optional<std::string> second_text =
      given.second ? std::optional(input_text(*given.second)) : std::nullopt;
  const TextModel model = open_model(given.model, given.model_options);

  const Reading first(model, first_text);
  warn_of_truncation(first);
  warn_of_unknown(first);
  std::optional<Reading> second;
  if (second_text) {
    warn_of_truncation(second.emplace(model, *second_text));
    warn_of_unknown(*second);
  }
  warn_of_not_finite(first.not_finite() || !second ? first : *second);
  const explain::Comparison comparison =
      second ? explain::compare_texts(first, *second, given.word, given.other_word.value_or(given.word))
             : explain::compare_occurrences(first, given.word);
  if (given.json) {
    write_output(comparison_json(comparison));
  } else {
    write_styled(comparison_text(comparison, draw::detect_terminal(STDOUT_FILENO, globals.color)));
  }
}

}  // namespace

void add_compare_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  CLI::App* const command = program.add_subcommand(
      "compare", "Compare a word in two texts: how far its vector moved, and what moved it");
  const auto given = std::make_shared<CompareArguments>();
  command->add_option("first", given->first, "A text")->required()->type_name("TEXT");
  command->add_option("second", given->second, "Another")->type_name("TEXT");
  command->add_option("-w,--word", given->word, "The word; bank#2 is the second \"bank\"")
      ->required()
      ->type_name("WORD");
  command
      ->add_option("--other-word", given->other_word, "The word in the second text, if it is a different one")
      ->type_name("WORD");
  add_model_option(*command, given->model);
  add_precision_option(*command, given->model_options);
  command->add_flag("--json", given->json, "Print the numbers as JSON");
  add_color_option(*command, globals);
  command->footer(kCompareFooter);
  command->callback([given, &globals, &run] { run = [given, &globals] { run_compare(*given, globals); }; });
}

}  // namespace attend::app
