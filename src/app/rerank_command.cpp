// attend rerank: passages in the order in which they answer a query, by a cross-encoder.
#include <memory>
#include <optional>

#include "app/command.h"
#include "app/figure_output.h"
#include "app/output.h"
#include "app/score_options.h"
#include "base/error.h"
#include "score/best_passages.h"
#include "score/report.h"

namespace attend::app {
namespace {

constexpr const char* kRerankFooter = R"(
The model is a cross-encoder, which reads query and passage together: a folder
whose config.json names a class that ends in ForSequenceClassification and has
one label. A line of the output is the score, the line number of the passage and
the passage, with tabs between, the best first. Scores are those of
sentence-transformers' CrossEncoder; --raw leaves out its function, usually a
sigmoid.

  .tsv, .txt    such lines
  .json         {"query": "...", "results": [{"index": 0, "score": 0.9, "text": "..."}]}

Try:
  attend pull cross-encoder/ms-marco-MiniLM-L6-v2
  attend rerank "how do bees fly" passages.txt -m cross-encoder/ms-marco-MiniLM-L6-v2
  grep -i bee notes.txt | attend rerank "how do bees fly" - -m ./reranker --top 5)";

struct RerankArguments : ScoreArguments {
  std::string query;
  std::optional<std::size_t> top;
};

void run_rerank(const RerankArguments& given) {
  require_extension(given.output, {".tsv", ".txt", ".json"});
  const TextModel model = open_scorer(given);
  if (const std::int64_t count = model.sequence_head()->count(); count != 1) {
    throw FileError(model.files().name, "",
                    joined("gives ", count,
                           " scores for a text, and ranking needs exactly one; `attend "
                           "classify` shows them"));
  }
  score::ScoreJob job{.query = given.query,
                      .options = {.max_tokens = given.max_tokens, .batch_tokens = given.batch_tokens}};
  if (given.raw) job.options.function = ScoreFunction::identity;
  score::BestPassages best(given.top);
  score_file(model, given, job, "rerank", [&](score::ScoredText passage) { best.add(std::move(passage)); });
  const std::vector<score::ScoredText> passages = best.take();
  if (given.json || given.output.ends_with(".json"))
    return write_text(score::passages_json(given.query, passages), given.output);
  std::string text;
  for (const score::ScoredText& passage : passages) text += score::passage_text(passage);
  write_text(text, given.output);
}

}  // namespace

void add_rerank_command(CLI::App& program, Globals&, std::function<void()>& run) {
  CLI::App* const command =
      program.add_subcommand("rerank", "Order passages by how well they answer a query");
  const auto given = std::make_shared<RerankArguments>();
  command->add_option("query", given->query, "The question that the passages should answer")
      ->required()
      ->type_name("QUERY");
  add_score_options(*command, *given);
  command->add_option("--top", given->top, "Print only the K best")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", given->json, "Print the result as JSON");
  command->footer(kRerankFooter);
  command->callback([&run, given] { run = [given] { run_rerank(*given); }; });
}

}  // namespace attend::app
