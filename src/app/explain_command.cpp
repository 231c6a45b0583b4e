// attend explain: a real model's attention on a text.
#include <attend/lens_recording.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <set>

#include "app/command.h"
#include "app/figure_output.h"
#include "app/get_model.h"
#include "app/input_text.h"
#include "app/max_tokens.h"
#include "app/model_options.h"
#include "app/output.h"
#include "app/status_line.h"
#include "app/unknown_words.h"
#include "base/error.h"
#include "draw/text_width.h"
#include "explain/explanation_terminal.h"
#include "explain/windows.h"
#include "page/self_contained.h"

namespace attend::app {
namespace {

constexpr const char* kSentence = "The animal didn't cross the street because it was too tired.";
constexpr const char* kFocus = "it";

constexpr const char* kExplainFooter = R"(
TEXT is a text, the name of a file, or - for standard input. A file that ends in
.attn is the recording of a pass of any model, made in Python. Layers and heads
are counted from 1. Without --layer and --head you see the head that says most about
the text, if one stands out; --mean shows the mean over all of them, which is also
what JSON and arrays have.

  raw      the attention weights: where a word looks
  norm     the length of weight × value × Wo: what it takes from there
  rollout  how much of each word has arrived after all layers
  flow     the most that could have arrived: for one word, with --focus
  grad     weight × gradient: what brought the text closer to another, --towards,
           or made a masked word likelier, --guess

Try:
  attend explain
  attend explain "The cat sat on the mat." --focus cat --layer 2 --head 3
  attend explain --focus it --to animal --top 5
  attend explain --ablate 4.2 --ablate "it>animal"
  attend explain "The cat sat on the mat." --view lines -o cat.pdf
  attend explain "The cat sat on the mat." -o cat.html
  attend explain notes.txt --tokens --special --json
  attend explain book.txt --max-tokens all)";

struct ExplainArguments {
  ModelOptions model_options;
  std::optional<std::string> text, focus, to, towards, guess, format, max_tokens;
  std::vector<std::string> ablate, relations;
  std::string second, model{kDefaultModel}, method = "raw", view = "map", sink = "auto", output;
  std::optional<std::int64_t> layer, head;
  std::size_t top = 8;
  bool tokens = false, special = false, heads = false, mean = false, same_scale = false, json = false;

  bool query_of_one_pass() const { return method == "grad" || method == "flow"; }
};

const std::set<std::string> kFormats = {"terminal", "json", "figure", "svg",        "png",
                                        "pdf",      "html", "npz",    "safetensors"};

// From --format, or else from the extension of the file.
std::string format_of(const ExplainArguments& given) {
  if (given.json) return "json";
  if (given.format) return *given.format;
  if (given.output.empty()) return "terminal";
  const std::string extension = extension_of(given.output);
  if (extension == "txt") return "terminal";
  if (!kFormats.contains(extension)) {
    throw UsageError("-o " + given.output +
                     ": expected a name that ends in .svg, .png, .pdf, .html, .json, .npz, .safetensors or "
                     ".txt, or --format");
  }
  return extension;
}

// A page shows every word, head and layer; what it cannot compute is refused.
void check_page(const ExplainArguments& given) {
  if (given.method == "flow" || given.method == "grad")
    throw UsageError("--format html shows raw, norm and rollout, not " + given.method);
  if (given.method == "rollout" && given.head)
    throw UsageError("--method rollout follows paths through all heads of every layer, not one head");
  if (given.view == "film")
    throw UsageError("--format html has no film; its --view model shows every head of every layer");
  if (given.to || given.heads || !given.relations.empty() || !given.ablate.empty())
    throw UsageError(
        "--to, --heads, --relation and --ablate print lists, but --format html is a page of maps");
}

void check(const ExplainArguments& given, const std::string& format) {
  const bool own = given.text.has_value();
  if (given.method == "flow" && !given.focus && own)
    throw UsageError("--method flow is for one word: name it with --focus");
  if (given.method == "flow" && given.view != "map")
    throw UsageError("--method flow is for one word, so it has no --view");
  if (given.to && !given.focus && own)
    throw UsageError("--to needs --focus: which word should the heads link to it?");
  if (given.same_scale && given.view != "model")
    throw UsageError("--same-scale is for --view model, which draws many maps");
  if (given.mean && (given.layer || given.head))
    throw UsageError("--mean is the mean over all layers and heads, so it takes no --layer and no --head");
  if (given.head && !given.layer)
    throw UsageError("--head needs --layer: which layer's head " + std::to_string(*given.head) + "?");
  if (given.method == "rollout" && given.view == "model")
    throw UsageError("--method rollout combines the heads, but --view model shows each one separately");
  if (given.method == "grad" && given.towards.has_value() == given.guess.has_value()) {
    throw UsageError(
        "--method grad needs an output to explain: --towards TEXT, the similarity to another text, or "
        "--guess WORD, the word expected at a mask");
  }
  if (given.towards && given.method != "grad") throw UsageError("--towards is for --method grad");
  if (given.guess && given.method != "grad") throw UsageError("--guess is for --method grad");
  if (format == "html") check_page(given);
  const std::set<std::string> printed = {"terminal", "json", "figure", "svg", "html"};
  if (given.output.empty() && !printed.contains(format))
    throw UsageError("--format " + format + " needs -o FILE");
}

void check_page_size(std::int64_t tokens) {
  if (tokens <= page::kMostTokens) return;
  throw std::invalid_argument(joined("the text has ", tokens, " tokens, but a page holds at most ",
                                     page::kMostTokens, " (about 80 MB); attend explore can show more"));
}

// What is about one pass cannot be said of several.
void check_windows(const TextModel& model, const ExplainArguments& given, const std::string& format) {
  const std::pair<bool, const char*> kinds[] = {
      {format == "html", "--format html"},
      {given.view == "model" || given.view == "film", "--view model and film"},
      {given.query_of_one_pass(), "--method grad and flow"},
      {given.tokens, "--tokens"},
      {given.special, "--special"},
      {given.heads, "--heads"},
      {given.to.has_value(), "--to"},
      {!given.relations.empty(), "--relation"},
      {!given.ablate.empty(), "--ablate"},
      {!given.second.empty(), "--second"},
  };
  for (const auto& [asked, name] : kinds) {
    if (asked)
      throw UsageError(
          joined(name, " needs a text that is read in one pass, which for this model means --max-tokens ",
                 model.most_tokens(), " or less"));
  }
}

// A long text takes time and memory: says how much before it starts.
void announce(const TextModel& model, const std::string& text, const ExplainArguments& given,
              const std::string& format, std::optional<std::int64_t> only_layer) {
  constexpr std::int64_t kLong = 2048;  // tokens
  const std::optional<std::int64_t> most = tokens_wanted(given.max_tokens);
  const Encoding tokens =
      given.second.empty() ? model.encode(text, most) : model.encode(text, given.second, most);
  const auto n = static_cast<std::int64_t>(tokens.size());
  if (format == "html") check_page_size(n);
  if (n < kLong) return;
  const ModelDescription& description = model.transformer().description();
  const std::int64_t kept = only_layer ? 1 : description.layer_count();
  // The output, q, k and v of each layer that is kept, and the working memory of a pass.
  const std::int64_t bytes =
      n * 4 *
      (kept * 4 * description.hidden_size + 7 * description.hidden_size + description.largest_inner_size());
  say(joined(n, " tokens, ", description.layer_count(), " layers × ", description.heads(), " heads",
             only_layer ? joined(", of which layer ", *only_layer, " is kept") : "", ": about ",
             bytes / 1'000'000, " MB; weights are computed row by row and not kept."));
}

// Programs get the mean unless they name a head, and are told which heads stand out.
bool chooses_head(const ExplainArguments& given, const std::string& format) {
  const bool data = format == "json" || format == "npz" || format == "safetensors";
  return !given.mean && !data && (given.view == "map" || given.view == "lines" || format == "html");
}

std::string page_of(const Reading& reading, const ExplainArguments& given,
                    const explain::ExplainRequest& request) {
  if (request.query.method == LensMethod::norm) reading.model();  // refused where there is none
  page::FirstView first{.tab = given.view,
                        .same_scale = given.same_scale,
                        .method = request.query.method,
                        .heads = request.query.heads,
                        .tokens = given.tokens,
                        .special = request.special,
                        .sink = request.sink};
  if (request.focus)
    first.focus = find_word(given.tokens ? single_tokens(reading) : reading.words(), *request.focus);
  return page::self_contained_page(reading, first);
}

// What was read, and its explanation where that takes more than one pass.
struct Explained {
  Reading reading;
  std::optional<explain::Explanation> windows{};
};

Explained read_in_windows(const TextModel& model, const std::string& text, std::int64_t wanted,
                          const explain::ExplainRequest& request) {
  StatusLine line;
  auto [first, explanation] =
      explain::explain_windows(model, text, wanted, request, [&](std::size_t done, std::size_t of) {
        if (line.due()) line.show(joined("window ", done, " of ", of));
      });
  return {std::move(first), std::move(explanation)};
}

// The pass of the model over the text, or the one that was recorded, or as many as a long text takes.
Explained read_for(const ExplainArguments& given, explain::ExplainRequest& request,
                   const std::string& format) {
  if (given.text && is_recording(*given.text)) {
    require_no_model(given.model, given.model_options, *given.text);
    if (!given.second.empty()) throw UsageError("--second is a text to read, but a recording has been read");
    if (given.max_tokens) throw UsageError("--max-tokens is for a text, but a recording has been read");
    Reading reading(load_recording(*given.text));
    require_layer(reading, given.layer, given.head);
    if (format == "html") check_page_size(reading.size());
    return {std::move(reading)};
  }
  const std::string text = given.text ? input_text(*given.text) : kSentence;
  const TextModel model = open_model(given.model, given.model_options);
  require_layer(model, given.layer, given.head);
  // A model with a decoder begins its answer with a special token, so these are shown.
  const bool has_source = model.transformer().description().has_source();
  request.special = given.special || has_source;
  const std::optional<std::int64_t> wanted = tokens_wanted(given.max_tokens);
  if (wanted) require_room(model, *wanted);
  if (wanted && !has_source && explain::needs_windows(model, text, *wanted)) {
    check_windows(model, given, format);
    return read_in_windows(model, text, *wanted, request);
  }
  const bool one_map = (given.view == "map" || given.view == "lines") && format != "html";
  const std::optional<std::int64_t> only_layer = one_map ? explain::only_layer_of(request) : std::nullopt;
  announce(model, text, given, format, only_layer);
  return {Reading(model, text, given.second, {.max_tokens = wanted, .only_layer = only_layer})};
}

void run_explain(const ExplainArguments& given, const Globals& globals) {
  const std::string format = format_of(given);
  check(given, format);
  explain::ExplainRequest request{
      .query = {.method = *lens_method_named(given.method), .heads = {.layer = given.layer}},
      .tokens = given.tokens,
      .special = given.special,
      .sink = *sink_choice_named(given.sink),
      .focus = given.focus,
      .to = given.to,
      .heads = given.heads,
      .same_scale = given.same_scale,
      .relations = given.relations,
      .ablate = given.ablate,
      .top = given.top};
  request.query.heads.head = given.head;
  if (!given.text && !given.focus) request.focus = kFocus;
  Explained read = read_for(given, request, format);
  const Reading& reading = read.reading;
  if (!read.windows) warn_of_truncation(reading, hint_at_max_tokens(reading));
  if (read.windows) {
    warn_of_unknown(reading.model(), read.windows->windows->text, read.windows->units,
                    read.windows->windows->ids);
  } else {
    warn_of_unknown(reading);
  }
  warn_of_not_finite(reading);
  if (!read.windows && chooses_head(given, format)) explain::choose_head(reading, request);
  if (format == "html") {
    write_text(page_of(reading, given, request), given.output);
    return;
  }
  PassGradients gradients;
  if (given.towards) {
    gradients = gradients_towards(reading, text_vector(Reading(reading.model(), input_text(*given.towards))));
    request.query.gradients = &gradients;
  }
  if (given.guess) {
    gradients =
        gradients_towards_token(reading, guessed_place(reading), guessed_token(reading, *given.guess));
    request.query.gradients = &gradients;
    request.goal = "spoke for “" + draw::shorten(draw::printable(*given.guess), 40) + "”";
    request.guesses = true;
  }
  const explain::Explanation explanation =
      read.windows ? std::move(*read.windows) : explain::explain(reading, request);
  if (!reading.not_finite()) {  // otherwise it has been reported
    if (const std::string note = explain::not_finite_note(reading, explanation); !note.empty()) say(note);
  }
  const explain::View view = *explain::view_named(given.view);

  if (format == "json") {
    write_text(explain::explanation_json(reading, request, explanation), given.output);
  } else if (format == "terminal") {
    const draw::Terminal terminal =
        given.output.empty() ? draw::detect_terminal(STDOUT_FILENO, globals.color) : draw::Terminal{};
    write_rendered(explain::explanation_text(reading, request, explanation, view, terminal), given.output);
  } else if (format == "npz" || format == "safetensors") {
    explain::save_arrays(reading, explanation, given.output, format);
  } else {
    write_figure(explain::explanation_figure(reading, request, explanation, view), format, given.output);
  }
}

}  // namespace

void add_explain_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  CLI::App* const command =
      program.add_subcommand("explain", "Show a real model's attention on a text: who looks at whom");
  const auto given = std::make_shared<ExplainArguments>();
  command->add_option("text", given->text, "A text, a file, or - for standard input")->type_name("TEXT");
  add_model_option(*command, given->model);
  add_precision_option(*command, given->model_options);
  command->add_option("--second", given->second, "The second text of a pair")->type_name("TEXT");
  command->add_option("-f,--focus", given->focus, "Show this word in detail; the#2 is the second \"the\"")
      ->type_name("WORD");
  command->add_option("--layer", given->layer, "One layer, from 1")->type_name("N");
  command->add_option("--head", given->head, "One head of that layer, from 1")->type_name("N");
  command->add_flag("--mean", given->mean,
                    "The mean over all heads, not the head that says most about the text");
  command->add_flag("--same-scale", given->same_scale,
                    "With --view model: colour all heads by one scale, not each by its own");
  command->add_option("--to", given->to, "Which heads link the focus to this word?")->type_name("WORD");
  command->add_flag("--heads", given->heads, "What each head does: previous token, separator, ...");
  command
      ->add_option(
          "--relation", given->relations,
          "Which heads link pairs of words such as subject-verb:cat>sat,dog>ran (the mean over the pairs)")
      ->type_name("NAME:WORD>WORD,...")
      ->allow_extra_args(false);
  command->add_option("--towards", given->towards, "For grad: the text to compare this one with")
      ->type_name("TEXT");
  command
      ->add_option("--guess", given->guess,
                   "For grad: a word that a language model may expect at the text's [MASK] (a causal model: "
                   "after the text)")
      ->type_name("WORD");
  command
      ->add_option(
          "--ablate", given->ablate,
          "How the output changes without: 4.2 (layer.head), it>animal, 4.2:it>animal; =0.5 scales instead")
      ->type_name("WHAT")
      ->allow_extra_args(false);
  command->add_option("--top", given->top, "Number of lines in each list")
      ->type_name("K")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--method", given->method, "What to show: raw, norm, rollout, flow or grad")
      ->check(CLI::IsMember({"raw", "norm", "rollout", "flow", "grad"}))
      ->type_name("HOW")
      ->capture_default_str();
  command->add_flag("--tokens,!--words", given->tokens, "Show tokens; --words, the default, shows words");
  command->add_flag("--special", given->special, "Show special tokens such as [CLS], too");
  add_sink_option(*command, given->sink);
  command
      ->add_option(
          "--max-tokens", given->max_tokens,
          "Read up to N tokens of the text, or all (default: what the model's folder says); more than "
          "the model has positions are read in windows that overlap")
      ->type_name("N");
  command
      ->add_option("--view", given->view,
                   "What to draw large: map, lines, model (all heads) or film (all layers)")
      ->check(CLI::IsMember({"map", "lines", "model", "film"}))
      ->type_name("HOW")
      ->capture_default_str();
  command->add_option("-o,--output", given->output, "Write to this file; its extension selects the format")
      ->type_name("FILE");
  command
      ->add_option(
          "--format", given->format,
          "terminal, svg, png, pdf, html, json, npz, safetensors, or figure: its description as JSON")
      ->check(CLI::IsMember(kFormats))
      ->type_name("FORMAT");
  command->add_flag("--json", given->json, "Short for --format json");
  add_color_option(*command, globals);
  command->footer(kExplainFooter);
  command->callback([given, &globals, &run] { run = [given, &globals] { run_explain(*given, globals); }; });
}

}  // namespace attend::app
