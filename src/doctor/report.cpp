#include "doctor/report.h"

#include <algorithm>

#include "draw/style.h"
#include "draw/text_width.h"

namespace attend::doctor {
namespace {

constexpr int kLabelWidth = 16;

// Text broken between words into lines of at most `width`; a longer word is not broken, since it may be a
// path to copy.
std::vector<std::string> lines_of(std::string_view text, int width) {
  std::vector<std::string> lines{""};
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    std::string& line = lines.back();
    if (!line.empty() && draw::text_width(line) + 1 + draw::text_width(word) > width) {
      lines.emplace_back(word);
    } else {
      line.append(line.empty() ? "" : " ").append(word);
    }
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return lines;
}

std::string fact_lines(const Fact& fact, const draw::Terminal& terminal) {
  std::string label = fact.key, result;
  std::replace(label.begin(), label.end(), '_', ' ');
  const int width = std::clamp(terminal.width, 40, 110) - kLabelWidth - 2;
  for (const std::string& line : lines_of(draw::printable(fact.text), width)) {
    result += "  " + draw::pad_right(std::exchange(label, ""), kLabelWidth) + line + "\n";
  }
  return result;
}

}  // namespace

std::string render(const std::vector<Section>& sections, const draw::Terminal& terminal) {
  std::string text;
  for (const Section& section : sections) {
    if (!text.empty()) text += "\n";
    text += draw::styled(draw::printable(section.title), {.emphasis = draw::Emphasis::bold}, terminal.color) +
            "\n";
    for (const Fact& fact : section.facts) {
      if (!fact.text.empty()) text += fact_lines(fact, terminal);
    }
    for (const draw::Table& table : section.tables) text += "\n" + draw::render_table(table, terminal);
    if (!section.notes.empty()) text += "\n";
    for (const std::string& note : section.notes) {
      for (const std::string& line : lines_of(draw::printable(note), std::clamp(terminal.width, 40, 110)))
        text += line + "\n";
    }
  }
  return text;
}

std::string to_json(const std::vector<Section>& sections) {
  Json all = Json::object();
  for (const Section& section : sections) {
    Json object = Json::object();
    for (const Fact& fact : section.facts) object[fact.key] = fact.value;
    all[section.key] = std::move(object);
  }
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string joined_names(const std::vector<std::string>& names, const char* none) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text.empty() ? none : text;
}

}  // namespace attend::doctor
