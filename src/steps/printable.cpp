#include "steps/printable.h"

namespace attend::steps {
namespace {

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u; }

void append_escape(std::string& out, unsigned char code) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\x";
  out += kDigits[code >> 4];
  out += kDigits[code & 0xFu];
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  const bool cut = text.size() > limit;
  if (cut) {
    while (limit > 0 && continues_character(text[limit])) --limit;
    text = text.substr(0, limit);
  }
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte < 0x20 || byte == 0x7F) {
      append_escape(out, byte);
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // U+0080 .. U+009F, as two bytes
      append_escape(out, next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return cut ? out + "..." : out;
}

std::string counted(std::int64_t count, std::string_view thing) {
  std::string text = std::to_string(count) + " ";
  text += thing;
  if (count != 1) text += 's';
  return text;
}

}  // namespace attend::steps
