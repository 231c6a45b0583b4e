// Any bytes as a chat template, over a conversation: a text whose given parts lie in it, or FileError.
#include <attend/chat_template.h>

#include "fuzz/file_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  static const std::vector<ChatMessage> messages = {{"system", " Be kind. "},
                                                    {"user", "<|im_end|> \xC3\xA9 2"},
                                                    {"assistant", "<think>a</think>\nb"},
                                                    {"user", ""}};
  parse_or_refuse([&] {
    const io::FileText text = file_text(data, size);
    const ChatTemplate parsed = ChatTemplate::parse({text.memory.get(), text.size}, "fuzz");
    const RenderedChat chat = parsed.render(messages, {.bos_token = "<s>", .eos_token = "</s>"});
    std::size_t end = 0;
    for (const auto& [begin, after] : chat.given) {
      require(begin >= end && begin < after && after <= chat.text.size());
      end = after;
    }
  });
  return 0;
}
