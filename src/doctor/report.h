// The doctor's report: facts under headings, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "draw/table.h"
#include "draw/terminal.h"

namespace attend::doctor {

using Json = nlohmann::ordered_json;

struct Fact {
  std::string key;  // in the JSON object; shown to a reader with spaces
  Json value;
  std::string text;  // for people; empty: the fact is for programs only
};

struct Section {
  std::string key, title;
  std::vector<Fact> facts{};
  std::vector<draw::Table> tables{};
  std::vector<std::string> notes{};  // sentences at the end

  void add(std::string fact, Json value, std::string text) {
    facts.push_back({std::move(fact), std::move(value), std::move(text)});
  }
  // A fact whose text is the value itself.
  void add(std::string fact, const std::string& value) { add(std::move(fact), value, value); }
};

std::string render(const std::vector<Section>& sections, const draw::Terminal& terminal);
std::string to_json(const std::vector<Section>& sections);  // one object, with an object for each section

std::string joined_names(const std::vector<std::string>& names, const char* none = "none");

}  // namespace attend::doctor
