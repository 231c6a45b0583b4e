#include "steps/words.h"

#include "draw/text_width.h"

namespace attend::steps {

std::string shown(std::string_view text) {
  // A character takes 4 bytes at most; cutting bytes first keeps a message about a huge text cheap.
  return draw::shorten(draw::printable(text.substr(0, 1000)), 40);
}

}  // namespace attend::steps
