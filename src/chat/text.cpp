#include "chat/text.h"

#include <utf8proc.h>

#include <algorithm>

#include "io/utf8.h"

namespace attend::chat {

Text Text::from_message(std::string_view from) {
  Text text(from);
  text.given.assign(from.size(), '\1');
  return text;
}

Text Text::part(std::size_t begin, std::size_t end) const {
  Text result;
  result.append(*this, begin, end);
  return result;
}

void Text::append(const Text& other, std::size_t begin, std::size_t end) {
  if (!other.given.empty() || !given.empty()) {
    given.resize(bytes.size(), '\0');
    if (other.given.empty()) {
      given.append(end - begin, '\0');
    } else {
      given.append(other.given, begin, end - begin);
    }
  }
  bytes.append(other.bytes, begin, end - begin);
}

void Text::append(std::string_view literal, bool is_given) {
  if (is_given || !given.empty()) {
    given.resize(bytes.size(), '\0');
    given.append(literal.size(), is_given ? '\1' : '\0');
  }
  bytes += literal;
}

bool is_python_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

Text strip(const Text& text, const Text* characters, bool left, bool right) {
  const auto goes = [&](char32_t c) {
    if (characters == nullptr) return is_python_space(c);
    for (std::size_t at = 0; at < characters->size();) {
      if (io::next_char(characters->bytes, at) == c) return true;
    }
    return false;
  };
  std::size_t begin = 0, end = text.size();
  while (left && begin < end) {
    std::size_t next = begin;
    if (!goes(io::next_char(text.bytes, next))) break;
    begin = next;
  }
  while (right && begin < end) {
    std::size_t before = end;
    if (!goes(io::previous_char(text.bytes, before))) break;
    end = before;
  }
  return text.part(begin, end);
}

namespace {

std::vector<Text> split_at_spaces(const Text& text, std::ptrdiff_t most) {
  // The first place from `at` on where being a space is as wanted.
  const auto next_place = [&](std::size_t at, bool wanted) {
    while (at < text.size()) {
      std::size_t next = at;
      if (is_python_space(io::next_char(text.bytes, next)) == wanted) break;
      at = next;
    }
    return at;
  };
  std::vector<Text> parts;
  for (std::size_t at = next_place(0, false); at < text.size(); at = next_place(at, false)) {
    const bool last = most >= 0 && std::ssize(parts) == most;
    const std::size_t end = last ? text.size() : next_place(at, true);
    parts.push_back(text.part(at, end));
    at = end;
  }
  return parts;
}

}  // namespace

std::vector<Text> split(const Text& text, const Text* separator, std::ptrdiff_t most, bool from_right) {
  if (separator == nullptr) return split_at_spaces(text, most);
  std::vector<Text> parts;
  if (from_right) {
    std::size_t end = text.size();
    while (most < 0 || std::ssize(parts) < most) {
      if (end < separator->size()) break;
      const std::size_t found = text.bytes.rfind(separator->bytes, end - separator->size());
      if (found == std::string::npos) break;
      parts.push_back(text.part(found + separator->size(), end));
      end = found;
    }
    parts.push_back(text.part(0, end));
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  std::size_t begin = 0;
  while (most < 0 || std::ssize(parts) < most) {
    const std::size_t found = text.bytes.find(separator->bytes, begin);
    if (found == std::string::npos) break;
    parts.push_back(text.part(begin, found));
    begin = found + separator->size();
  }
  parts.push_back(text.part(begin, text.size()));
  return parts;
}

std::vector<Text> split_lines(const Text& text) {
  const auto ends_line = [](char32_t c) {
    return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
  };
  std::vector<Text> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at;
    const char32_t c = io::next_char(text.bytes, at);
    if (!ends_line(c)) continue;
    if (c == '\r' && at < text.size() && text.bytes[at] == '\n') ++at;
    lines.push_back(text.part(begin, end));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.part(begin, text.size()));
  return lines;
}

Text replaced(const Text& text, const Text& from, const Text& to, std::ptrdiff_t most) {
  Text result;
  std::ptrdiff_t count = 0;
  if (from.empty()) {  // before each character, and at the end
    for (std::size_t at = 0; at < text.size();) {
      if (most < 0 || count++ < most) result.append(to);
      const std::size_t begin = at;
      io::next_char(text.bytes, at);
      result.append(text, begin, at);
    }
    if (most < 0 || count < most) result.append(to);
    return result;
  }
  std::size_t begin = 0;
  for (; most < 0 || count < most; ++count) {
    const std::size_t found = text.bytes.find(from.bytes, begin);
    if (found == std::string::npos) break;
    result.append(text, begin, found);
    result.append(to);
    begin = found + from.size();
  }
  result.append(text, begin, text.size());
  return result;
}

std::vector<Text> characters_of(const Text& text) {
  std::vector<Text> characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    io::next_char(text.bytes, at);
    characters.push_back(text.part(begin, at));
  }
  return characters;
}

Text reversed(const Text& text) {
  Text result;
  for (std::size_t end = text.size(); end > 0;) {
    std::size_t begin = end;
    io::previous_char(text.bytes, begin);
    result.append(text, begin, end);
    end = begin;
  }
  return result;
}

namespace {

// Letters map one to one, which is all that roles, keys and names of types need; sharp s is the one that
// texts have and that does not.
void append_cased(Text& out, const Text& text, std::size_t begin, Case wanted) {
  std::size_t at = begin;
  const char32_t c = io::next_char(text.bytes, at);
  if (c < 0x80) {
    const bool changes = wanted == Case::upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z';
    const char cased = static_cast<char>(changes ? c ^ 0x20u : c);
    out.append(std::string_view(&cased, 1), text.is_given(begin));
  } else if (c == 0xDF && wanted == Case::upper) {
    out.append("SS", text.is_given(begin));
  } else {
    const auto given = static_cast<utf8proc_int32_t>(c);
    const auto cased = wanted == Case::upper ? utf8proc_toupper(given) : utf8proc_tolower(given);
    std::string bytes;
    io::append_char(bytes, static_cast<char32_t>(cased));
    out.append(bytes, text.is_given(begin));
  }
}

// Every character to the case that `choose` says, which is told whether the one before has a case.
template <class Choose>
Text cased_by(const Text& text, Choose choose) {
  Text result;
  char32_t before = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = io::next_char(text.bytes, at);
    append_cased(result, text, begin, choose(begin, before));
    before = c;
  }
  return result;
}

bool has_case(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

}  // namespace

Text with_case(const Text& text, Case wanted) {
  return cased_by(text, [&](std::size_t, char32_t) { return wanted; });
}

Text capitalized(const Text& text) {
  return cased_by(text, [](std::size_t at, char32_t) { return at == 0 ? Case::upper : Case::lower; });
}

Text titled(const Text& text) {
  return cased_by(text, [](std::size_t at, char32_t before) {
    return at > 0 && has_case(before) ? Case::lower : Case::upper;
  });
}

Text titled_words(const Text& text) {
  return cased_by(text, [](std::size_t at, char32_t before) {
    const bool starts = at == 0 || is_python_space(before) || before == '-' || before == '(' ||
                        before == '{' || before == '[' || before == '<';
    return starts ? Case::upper : Case::lower;
  });
}

}  // namespace attend::chat
