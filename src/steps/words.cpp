#include "steps/words.h"

#include "draw/text_width.h"

namespace attend::steps {

std::string shown(std::string_view text) {
  // A character takes 4 bytes at most; cutting bytes first keeps a message about a huge text cheap.
  return draw::shorten(draw::printable(text.substr(0, 1000)), 40);
}

std::string counted(std::int64_t count, std::string_view thing) {
  std::string text = std::to_string(count);
  text.append(" ").append(thing);
  if (count != 1) text += 's';
  return text;
}

}  // namespace attend::steps
