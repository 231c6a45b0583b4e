// Whether a text is well-formed XML, as far as our own SVG goes: one root, tags that match, attributes in
// double quotes and each once, no bare & or <, no character that XML does not have.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace attend::draw {

// What is wrong with it; empty when nothing is.
inline std::string xml_error(std::string_view text) {
  std::vector<std::string> open;
  bool had_root = false;
  const auto bad_text = [](std::string_view words) -> std::string {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto byte = static_cast<unsigned char>(words[i]);
      if (byte < 0x20 && byte != '\n' && byte != '\t') return "a control character";
      if (words[i] == '<') return "a bare <";
      if (words.substr(i, 3) == "\xEF\xBF\xBE" || words.substr(i, 3) == "\xEF\xBF\xBF")
        return "U+FFFE or U+FFFF";
      if (words[i] != '&') continue;
      bool known = false;
      for (const std::string_view name : {"&amp;", "&lt;", "&gt;", "&quot;"})
        known = known || words.substr(i, name.size()) == name;
      if (!known) return "a bare &";
    }
    return {};
  };
  if (text.starts_with("<?xml ")) text.remove_prefix(text.find("?>") + 2);
  while (!text.empty()) {
    const std::size_t tag = std::min(text.find('<'), text.size());
    if (const std::string error = bad_text(text.substr(0, tag)); !error.empty()) return error;
    if (open.empty() && text.substr(0, tag).find_first_not_of(" \n") != text.npos)
      return "text outside the root";
    text.remove_prefix(tag);
    if (text.empty()) break;
    const std::size_t end = text.find('>');
    if (end == text.npos) return "a tag without end";
    std::string_view inside = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (inside.starts_with('/')) {
      if (open.empty() || open.back() != inside.substr(1)) return "</" + std::string(inside.substr(1)) + ">";
      open.pop_back();
      continue;
    }
    const bool closed = inside.ends_with('/');
    if (closed) inside.remove_suffix(1);
    const std::size_t name_end = std::min(inside.find_first_of(" \n"), inside.size());
    const std::string name(inside.substr(0, name_end));
    inside.remove_prefix(name_end);
    std::set<std::string> names;
    while (inside.find_first_not_of(" \n") != inside.npos) {
      inside.remove_prefix(inside.find_first_not_of(" \n"));
      const std::size_t equals = inside.find("=\"");
      const std::size_t quote = equals == inside.npos ? inside.npos : inside.find('"', equals + 2);
      if (quote == inside.npos) return "an attribute without value in <" + name + ">";
      if (!names.insert(std::string(inside.substr(0, equals))).second)
        return "an attribute twice in <" + name + ">";
      if (const std::string error = bad_text(inside.substr(equals + 2, quote - equals - 2)); !error.empty())
        return error;
      inside.remove_prefix(quote + 1);
    }
    if (open.empty() && had_root) return "a second root";
    had_root = true;
    if (!closed) open.push_back(name);
  }
  if (!open.empty()) return "<" + open.back() + "> is never closed";
  return had_root ? "" : "nothing";
}

}  // namespace attend::draw
