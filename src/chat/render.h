// What a ChatTemplate is made of, and rendering it over any data.
#pragma once

#include <attend/chat_template.h>

#include "chat/evaluator.h"

namespace attend {

struct ChatTemplate::Parts {
  std::string name;
  chat::Statement::Body body;
};

namespace chat {

// Throws FileError.
Text render(const ChatTemplate::Parts& parts, Scope context, const std::tm& now,
            std::size_t budget = Budget::kUsual);

}  // namespace chat
}  // namespace attend
