// attend chat: a conversation in the terminal.
#include <unistd.h>

#include <iostream>
#include <memory>

#include "app/answer_attention.h"
#include "app/command.h"
#include "app/ctrl_c.h"
#include "app/generate_options.h"
#include "app/get_model.h"
#include "app/model_options.h"
#include "app/output.h"
#include "base/error.h"

namespace attend::app {
namespace {

struct ChatArguments {
  ModelOptions model_options;
  CacheType cache_type = CacheType::f32;
  std::string model{kDefaultWriter}, system;
  GenerateOptions options{};
};

constexpr const char* kChatFooter = R"(
One line is one message. The model's own chat template puts messages into the form
that the model was trained on; only the template adds special tokens, whatever you
type. What the model has read is kept from turn to turn.

  /attention     which words of the conversation the last answer looked at; a
                 line with just a ? does the same
  /system TEXT   sets the system's message and begins a new conversation
  /clear         begins a new conversation
  /quit          ends the program, as Ctrl-D does; Ctrl-C ends an answer

Try:
  attend chat
  attend chat --system "You answer in one sentence." --temperature 0)";

class Conversation {
 public:
  Conversation(Generator& generator, const ChatArguments& given, const draw::Terminal& terminal)
      : generator_(generator), options_(given.options), terminal_(terminal), system_(given.system) {
    begin();
  }

  // One line of the user; false: the conversation is over.
  bool take(const std::string& line) {
    const std::string word = line.substr(0, line.find(' '));
    if (line.empty()) return true;
    if (word == "/quit") return false;
    if (word == "/clear") {
      begin();
    } else if (word == "/system") {
      system_ = line.size() > word.size() ? line.substr(word.size() + 1) : std::string();
      begin();
    } else if (word == "/attention" || line == "?") {
      show_attention();
    } else if (word.starts_with('/')) {
      say("There is no " + word + "; the commands are /attention, /system TEXT, /clear and /quit.");
    } else {
      answer(line);
    }
    return true;
  }

 private:
  void begin() {
    messages_.clear();
    if (!system_.empty()) messages_.push_back({"system", system_});
  }

  void answer(const std::string& line) {
    messages_.push_back({"user", line});
    try {
      const Generated written = write_while_generating(
          options_, true, [&](const GenerateOptions& asked) { return generator_.chat(messages_, asked); });
      write_output("\n");
      if (written.reason == StopReason::context)
        say("The answer ends here: the model has run out of positions. /clear begins a new conversation.");
      messages_.push_back({"assistant", written.text});
    } catch (const Interrupted&) {
      write_output("\n");
      messages_.pop_back();
    } catch (
        const std::invalid_argument& error) {  // no room, or the template refuses: the message is taken back
      messages_.pop_back();
      say(plain_sentence(error));
    } catch (const FileError& error) {
      messages_.pop_back();
      say(error.what());
    }
  }

  void show_attention() {
    if (messages_.empty() || messages_.back().role != "assistant") {
      say("There is no answer yet.");
    } else {
      write_styled(answer_attention(generator_, messages_, terminal_));
    }
  }

  Generator& generator_;
  const GenerateOptions& options_;
  const draw::Terminal terminal_;
  std::string system_;
  std::vector<ChatMessage> messages_;
};

void run_chat(const ChatArguments& given, const Globals& globals) {
  check_generation_options(given.options);
  Generator generator(open_model(given.model, given.model_options), given.cache_type);
  generator.chat_template();
  warn_of_left_out(generator);
  Conversation conversation(generator, given, draw::detect_terminal(STDOUT_FILENO, globals.color));
  const bool asks = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  for (std::string line;;) {
    if (asks) write_output("> ");
    if (!std::getline(std::cin, line)) break;
    if (line.ends_with('\r')) line.pop_back();
    if (!conversation.take(line)) return;
  }
  if (asks) write_output("\n");
}

}  // namespace

void add_chat_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  const auto given = std::make_shared<ChatArguments>();
  CLI::App* const command =
      program.add_subcommand("chat", "Talk to a model, and see what its answers looked at");
  add_model_option(*command, given->model);
  add_precision_option(*command, given->model_options);
  add_cache_option(*command, given->cache_type);
  command->add_option("--system", given->system, "The system's message")->take_last()->type_name("TEXT");
  add_generation_options(*command, given->options);
  add_color_option(*command, globals);
  command->footer(kChatFooter);
  command->callback([given, &globals, &run] { run = [given, &globals] { run_chat(*given, globals); }; });
}

}  // namespace attend::app
