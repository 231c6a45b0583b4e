#include "learn/config.h"

#include <attend/file_error.h>
#include <gtest/gtest.h>

#include "learn/config_keys.h"

namespace attend::learn {
namespace {

// What check() says about a key, or nothing.
std::string complaint(const Config& config) {
  try {
    check(config);
  } catch (const ConfigError& error) {
    return error.key;
  }
  return "";
}

TEST(Config, WhatIsPrintedIsReadBack) {
  for (const std::string_view task : task_names()) {
    Config config = default_config(task);
    EXPECT_EQ(complaint(config), "");
    set_key(config, "training.rate", "0.00123");
    set_key(config, "model.positions", "rotary");
    set_key(config, "data.file", "a \"quoted\" name");
    EXPECT_EQ(to_json(parse_config(to_json(config), "file")), to_json(config));
  }
}

TEST(Config, EveryKeyCanBeSet) {
  Config config = default_config("recall");
  const Config wanted = default_config("text");
  each_key(wanted, [&](std::string_view key, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::string>) {
      set_key(config, key, value);
    } else if constexpr (std::is_same_v<Value, bool>) {
      set_key(config, key, value ? "true" : "false");
    } else if constexpr (std::is_enum_v<Value>) {
      set_key(config, key, model::names_of(value)[static_cast<std::size_t>(value)]);
    } else {
      set_key(config, key, std::to_string(value));
    }
  });
  EXPECT_EQ(config.task, "text");
  EXPECT_EQ(config.model.hidden, default_config("text").model.hidden);
}

// A number that makes no sense is found by its own key.
TEST(Config, EveryNumberIsChecked) {
  const Config defaults = default_config("recall");
  each_key(defaults, [&](std::string_view key, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, double>) {
      Config config = default_config("recall");
      set_key(config, key, "-1");
      EXPECT_EQ(complaint(config), key);
      if constexpr (std::is_same_v<Value, double>) {
        set_key(config, key, "nan");
        EXPECT_EQ(complaint(config), key);
      }
    }
  });
}

// A size that no training can have is found by its own key, before anything is allocated: both with --set and
// in a file.
TEST(Config, EverySizeHasALimit) {
  for (const std::string_view task : task_names()) {
    const Config defaults = default_config(task);
    each_key(defaults, [&](std::string_view key, const auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::int64_t>) {
        if (key == "training.seed") return;
        for (const char* number : {"1099511627776", "4611686018427387904", "9223372036854775807"}) {
          Config config = defaults;
          set_key(config, key, number);
          EXPECT_EQ(complaint(config), key) << task;
          EXPECT_EQ(complaint(parse_config(to_json(config), "file")), key) << task;
        }
        Config config = defaults;
        EXPECT_THROW(set_key(config, key, "9223372036854775808"), ConfigError) << key;
      }
    });
  }
}

TEST(Config, TheWordsOfRecallHaveALimitTogether) {
  Config config = default_config("recall");
  set_key(config, "data.values", "61679");
  EXPECT_EQ(complaint(config), "");
  set_key(config, "data.values", "61681");
  EXPECT_EQ(complaint(config), "data.values");
}

TEST(Config, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "[]", "{\"model\": 3", "{\"model\": {\"layers\": {}}}"}) {
    EXPECT_THROW(parse_config(text, "file"), FileError) << text;
  }
}

}  // namespace
}  // namespace attend::learn
