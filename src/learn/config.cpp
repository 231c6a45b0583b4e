#include "learn/config.h"

#include <attend/file_error.h>
#include <attend/model_files.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "io/fail.h"
#include "io/json_reader.h"
#include "io/open_file.h"
#include "learn/config_keys.h"

namespace attend::learn {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

[[noreturn]] void wrong(std::string_view key, std::string_view value, const std::string& expected) {
  throw ConfigError(std::string(key), joined('"', io::shown(value), "\" is not ", expected));
}

void parse(std::string_view key, std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) wrong(key, text, "a whole number below 2^63");
  if (error != std::errc() || end != text.data() + text.size()) wrong(key, text, "a whole number");
}

void parse(std::string_view key, std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) wrong(key, text, "a number that float64 can hold");
  if (error != std::errc() || end != text.data() + text.size()) wrong(key, text, "a number");
}

void parse(std::string_view key, std::string_view text, bool& value) {
  if (text != "true" && text != "false") wrong(key, text, "true or false");
  value = text == "true";
}

void parse(std::string_view, std::string_view text, std::string& value) { value = text; }

template <class Choice>
  requires std::is_enum_v<Choice>
void parse(std::string_view key, std::string_view text, Choice& value) {
  const auto names = model::names_of(value);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != text) continue;
    value = static_cast<Choice>(i);
    return;
  }
  wrong(key, text, "one of " + listed(names));
}

template <class Value>
nlohmann::ordered_json as_json(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return model::names_of(value)[static_cast<std::size_t>(value)];
  } else {
    return value;
  }
}

// The keys of the section that `wanted` names; if it names none, the task and the sections.
std::string known_keys(std::string_view wanted) {
  const std::string_view section = wanted.substr(0, wanted.find('.') + 1);  // "model.", or nothing
  std::string of_section, sections = "task";
  const Config config;
  each_key(config, [&](std::string_view key, const auto&) {
    const std::string own(key.substr(0, key.find('.') + 1));
    if (!section.empty() && own == section) of_section.append(of_section.empty() ? "" : ", ").append(key);
    if (!own.empty() && !sections.ends_with(own + "…")) sections.append(", ").append(own).append("…");
  });
  return of_section.empty() ? sections : of_section;
}

// Every value of a file as key and text, sections joined by a dot.
using Settings = std::vector<std::pair<std::string, std::string>>;

std::string value_text(io::JsonReader& json, const std::string& key) {
  using io::JsonKind;
  switch (json.kind()) {
    case JsonKind::string:
      return std::string(json.string(key));
    case JsonKind::number:
      return std::string(json.number_word(key));
    case JsonKind::boolean:
      return json.boolean(key) ? "true" : "false";
    default:
      throw FileError(json.file(), key, "is not a number, a string, true or false");
  }
}

Settings settings_of(io::JsonReader& json) {
  Settings settings;
  json.object("", [&](std::string_view name) {
    const std::string section = io::shown(name);  // no key of ours looks different
    if (json.kind() != io::JsonKind::object) {
      settings.emplace_back(section, value_text(json, section));
      return;
    }
    json.object(section, [&](std::string_view inner) {
      const std::string key = section + "." + io::shown(inner);
      settings.emplace_back(key, value_text(json, key));
    });
  });
  json.end();
  return settings;
}

}  // namespace

std::vector<std::string_view> task_names() {
  return {"recall", "copy", "reverse", "it", "text", "masked", "pairs"};
}

Config default_config(std::string_view task) {
  Config config;
  config.task = task;
  if (task == "recall") {
    config.model.layers = 1;
    config.model.heads = 2;
    config.schedule = {.peak = 3e-3, .floor = 0.1, .warmup = 50, .steps = 600};
    return config;
  }
  if (task == "copy" || task == "reverse") {
    config.schedule = {.peak = 3e-3, .floor = 0.1, .warmup = 50, .steps = 400};
    if (task == "reverse") config.model.layers = 1;
    return config;
  }
  if (task == "it") {
    config.schedule = {.peak = 0.05, .floor = 1, .warmup = 0, .steps = 500};
    return config;
  }
  if (task == "text" || task == "masked") {
    if (task == "masked") {
      config.model.norm_first = false;
      config.model.feed_forward = model::FeedForwardKind::gelu;
      config.model.epsilon = 1e-12;
    }
    config.model.layers = 4;
    config.model.hidden = 128;
    config.model.inner = 512;
    config.length = 128;
    config.batch = 16;
    config.schedule = {.peak = 2e-3, .floor = 0.1, .warmup = 100, .steps = 1000};
    return config;
  }
  if (task == "pairs") {
    config.encoder = kDefaultModel;
    config.dropout = 0.1;
    config.length = 128;
    config.batch = 16;
    config.validation = 0.2;
    config.evaluate = 20;
    config.save = 100;
    config.schedule = {.peak = 5e-5, .floor = 0.1, .warmup = 10, .steps = 100};
    return config;
  }
  throw ConfigError("task", joined('"', io::shown(task), "\" is not one of ", listed(task_names())));
}

void set_key(Config& config, std::string_view key, std::string_view value) {
  bool found = false;
  each_key(config, [&](std::string_view name, auto& place) {
    if (name != key) return;
    found = true;
    parse(key, value, place);
  });
  if (!found) throw ConfigError(io::shown(key), "there is no such key; the keys are " + known_keys(key));
}

Config read_config(const std::filesystem::path& file) {
  const io::FileText text = io::read_text(io::InputFile(file), kMaxConfigBytes);
  return parse_config({text.span().begin(), text.span().end()}, text.name);
}

Config parse_config(std::string text, const std::string& name) {
  io::JsonReader json(name, text);
  const Settings settings = settings_of(json);
  try {
    std::string task = "recall";
    for (const auto& [key, value] : settings) {
      if (key == "task") task = value;
    }
    Config config = default_config(task);
    for (const auto& [key, value] : settings) set_key(config, key, value);
    return config;
  } catch (const ConfigError& error) {
    throw FileError(name, error.key, error.what());
  }
}

std::string to_json(const Config& config) {
  nlohmann::ordered_json json;
  each_key(config, [&](std::string_view key, const auto& value) {
    const std::size_t dot = key.find('.');
    if (dot == key.npos) {
      json[std::string(key)] = as_json(value);
    } else {
      json[std::string(key.substr(0, dot))][std::string(key.substr(dot + 1))] = as_json(value);
    }
  });
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace attend::learn
