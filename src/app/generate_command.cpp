// attend generate: text from a model that writes.
#include <attend/generation.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/command.h"
#include "app/ctrl_c.h"
#include "app/generate_options.h"
#include "app/get_model.h"
#include "app/model_options.h"
#include "app/output.h"
#include "base/error.h"
#include "draw/printable.h"
#include "draw/style.h"
#include "draw/terminal.h"

namespace attend::app {
namespace {

struct GenerateArguments {
  ModelOptions model_options;
  CacheType cache_type = CacheType::f32;
  std::string model{kDefaultWriter};
  std::optional<std::string> prompt, system;
  GenerateOptions options{};
  bool new_only = false, chat = false, json = false;
};

constexpr const char* kGenerateFooter = R"(
Works with every model that writes: causal ones, such as GPT-2 and Llama, and
those with an encoder and a decoder. Settings that are not given come from the
model's generation_config.json. The text ends at the model's end tokens. The same
seed gives the same text.

With --chat the prompt is a user's message, which the model's own chat template
puts into the form that the model was trained on; an answer ends when the model
runs out of positions. Without --chat a prompt that is too long loses its
beginning, and when positions run out the second half is read again. A model with
an encoder and a decoder, such as that of `attend train reverse`, reads PROMPT as
its source and writes its answer.

Try:
  attend generate "Once upon a time"
  attend generate "Once upon a time" --temperature 0 --stop "."
  attend generate --chat "What is attention?" --json
  attend generate -m ./my-model "Once upon a time")";

std::vector<ChatMessage> messages_of(const GenerateArguments& given, const std::string& prompt) {
  std::vector<ChatMessage> messages;
  if (given.system) messages.push_back({"system", *given.system});
  messages.push_back({"user", prompt});
  return messages;
}

// A decoder that drops the space before the first word drops that between the prompt and what follows.
std::string space_between(const Tokenizer& tokenizer, const std::string& prompt, std::int32_t first) {
  const std::vector<std::int32_t> ids =
      tokenizer.encode(prompt, {.add_special_tokens = false, .truncate = false}).ids;
  if (ids.empty()) return "";
  const std::int32_t both[] = {ids.back(), first};
  const std::string joint = tokenizer.decode(both);
  const auto alone = [&](std::size_t i) { return tokenizer.decode(std::span(both).subspan(i, 1)); };
  return joint == alone(0) + " " + alone(1) ? " " : "";
}

std::string json_of(const GenerateArguments& given, const std::string& prompt, const Tokenizer& tokenizer,
                    const Generated& written) {
  nlohmann::ordered_json tokens = nlohmann::ordered_json::array();
  for (const GeneratedToken& token : written.tokens) {
    tokens.push_back({{"id", token.id},
                      {"token", std::string(tokenizer.token(token.id))},
                      {"text", token.text},
                      {"log_probability", token.log_probability}});
  }
  nlohmann::ordered_json answer = {{"prompt", prompt}};
  if (given.system) answer["system"] = *given.system;
  answer["text"] = written.text;
  answer["reason"] = interrupted ? std::string("interrupted") : std::string(name_of(written.reason));
  answer["prompt_tokens"] = written.prompt_tokens;
  answer["dropped_tokens"] = written.dropped;
  answer["rereads"] = written.rereads;
  answer["tokens"] = std::move(tokens);
  return answer.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void run_generate(const GenerateArguments& given, const Globals& globals) {
  check_generation_options(given.options);
  if (given.system && !given.chat) throw UsageError("--system needs --chat");
  if (given.chat && !given.prompt) throw UsageError("--chat needs a prompt: what does the user say?");
  const std::string prompt = given.prompt.value_or("\n");
  const TextModel model = open_model(given.model, given.model_options);
  Generator generator(model, given.cache_type);
  warn_of_left_out(generator);
  if (given.chat) generator.chat_template();  // says what is wrong with it before anything is written
  const bool repeats_prompt =
      !given.json && !given.new_only && !given.chat && !model.transformer().description().has_source();
  if (prompt.empty() && !given.chat && !generator.defaults().begin_token)
    throw UsageError("the prompt is empty; a model needs at least one token to continue");
  GenerateOptions options = given.options;
  options.log_probabilities = given.json;
  // In colours, what was given stands back from what is written.
  const draw::ColorDepth color = draw::detect_terminal(STDOUT_FILENO, globals.color).color;
  const auto write_prompt = [&](const std::string& space) {
    if (color == draw::ColorDepth::none) return write_output(prompt + space);
    const std::size_t end = prompt.find_last_not_of(' ') + 1;  // blanks at the end have no style
    write_styled(draw::styled(draw::printable(prompt.substr(0, end), draw::Allow::lines), draw::kDim, color) +
                 prompt.substr(end) + space);
  };
  bool prompt_written = false;
  try {
    const Generated written = write_while_generating(options, !given.json, [&](GenerateOptions asked) {
      if (repeats_prompt) {
        asked.on_token = [&, next = asked.on_token](const GeneratedToken& token) {
          if (!prompt_written) write_prompt(space_between(model.tokenizer(), prompt, token.id));
          prompt_written = true;
          return next(token);
        };
      }
      Generated result =
          given.chat ? generator.chat(messages_of(given, prompt), asked) : generator.generate(prompt, asked);
      if (repeats_prompt && !prompt_written) write_prompt("");
      return result;
    });
    write_output(given.json ? json_of(given, prompt, model.tokenizer(), written) : "\n");
    if (written.dropped > 0) {
      say(joined("The first ", written.dropped,
                 " tokens of the prompt were left out: the model reads at most ",
                 model.transformer().description().max_tokens(), "."));
    }
    if (written.reason == StopReason::context)
      say("The answer ends here: the model has run out of positions.");
  } catch (const Interrupted&) {
    if (!given.json) write_output("\n");
  }
}

}  // namespace

void add_generate_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  const auto given = std::make_shared<GenerateArguments>();
  CLI::App* const command = program.add_subcommand("generate", "Generate text with a causal model");
  command->add_option("PROMPT", given->prompt, "The text to continue (default: a newline)")->type_name("");
  add_model_option(*command, given->model);
  add_precision_option(*command, given->model_options);
  add_cache_option(*command, given->cache_type);
  add_generation_options(*command, given->options);
  command->add_flag("--chat", given->chat, "PROMPT is a user's message: use the model's chat template")
      ->disable_flag_override();
  command->add_option("--system", given->system, "With --chat: the system's message")
      ->take_last()
      ->type_name("TEXT");
  command->add_flag("--new-only", given->new_only, "Print only what follows the prompt")
      ->disable_flag_override();
  command->add_flag("--json", given->json, "Print JSON: text, tokens, log-probabilities, and why it ended")
      ->disable_flag_override();
  add_color_option(*command, globals);
  command->footer(kGenerateFooter);
  command->callback([given, &globals, &run] { run = [given, &globals] { run_generate(*given, globals); }; });
}

}  // namespace attend::app
