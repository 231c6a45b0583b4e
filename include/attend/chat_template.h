// A model's chat template: from the messages of a conversation to the text that the model was trained on.
//
//   const ChatTemplate chat = ChatTemplate::parse(source);
//   chat.render({{{"user", "Hello"}}}, {.bos_token = "<s>"}).text
#pragma once

#include <cstddef>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend {

struct ChatMessage {
  std::string role;     // "system", "user" or "assistant"
  std::string content;  // what is not UTF-8 in it becomes U+FFFD
};

struct RenderedChat {
  std::string text;
  // The bytes that came from roles and contents, as ranges begin .. end - 1 in their order. The rest is the
  // template's own; special tokens may be found only there (EncodeOptions::plain).
  std::vector<std::pair<std::size_t, std::size_t>> given;
};

struct ChatRenderOptions {
  bool add_generation_prompt = true;  // ends with what begins the model's answer
  std::string bos_token{}, eos_token{};
  std::optional<std::tm> now{};  // for templates that write the date; default: the local time
};

// A template in the part of Jinja that chat templates use (docs/chat.md), with trim_blocks and lstrip_blocks
// on. It is code of unknown origin: it sees the messages and nothing else, and its work and memory are
// bounded.
//
// Const and safe to use from several threads at once. Copies share what was parsed.
class ChatTemplate {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 10;

  // Throws FileError, which names the line and, where it uses what is not there, that feature. `name` is what
  // errors call the file.
  static ChatTemplate parse(std::string_view source, const std::string& name = "chat_template");

  // Throws FileError with the line where it fails, also for messages that the template itself refuses.
  RenderedChat render(std::span<const ChatMessage> messages, const ChatRenderOptions& options = {}) const;

  struct Parts;  // of src/chat
  const Parts& parts() const noexcept { return *parts_; }

 private:
  explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace attend
