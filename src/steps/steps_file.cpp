#include "steps/steps_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "io/fail.h"
#include "steps/check_lesson.h"
#include "steps/json_text.h"
#include "steps/json_values.h"

namespace attend::steps {
namespace {

// A key of the file, and where its value goes.
using ReadKey = void (*)(JsonText&, std::string_view key, Lesson&);
struct Key {
  std::string_view name;
  ReadKey read;
};

template <std::optional<Tensor> Lesson::*Member>
void matrix(JsonText& json, std::string_view key, Lesson& lesson) {
  lesson.*Member = read_matrix(json, key);
}

template <std::optional<Tensor> Lesson::*Member>
void bias(JsonText& json, std::string_view key, Lesson& lesson) {
  lesson.*Member = read_vector(json, key);
}

template <std::vector<std::string> Lesson::*Member>
void labels(JsonText& json, std::string_view key, Lesson& lesson) {
  lesson.*Member = read_labels(json, key);
}

void heads(JsonText& json, std::string_view key, Lesson& lesson) { lesson.heads = read_count(json, key); }

void causal(JsonText& json, std::string_view key, Lesson& lesson) { lesson.causal = json.boolean({key}); }

void scale(JsonText& json, std::string_view key, Lesson& lesson) { lesson.scale = json.number({key}); }

void positions(JsonText& json, std::string_view key, Lesson& lesson) {
  const std::size_t place = json.place();
  const std::string kind = json.string({key});
  if (kind != "sinusoidal" && kind != "none") {
    json.fail(LessonCause::bad_value, place, key, " is \"", io::shown(kind),
              "\", expected \"sinusoidal\" or \"none\"");
  }
  lesson.sinusoidal_positions = kind == "sinusoidal";
}

constexpr std::array<Key, 19> kFileKeys = {{
    {"tokens", labels<&Lesson::tokens>},
    {"key_tokens", labels<&Lesson::key_tokens>},
    {"x", matrix<&Lesson::x>},
    {"context", matrix<&Lesson::context>},
    {"q", matrix<&Lesson::q>},
    {"k", matrix<&Lesson::k>},
    {"v", matrix<&Lesson::v>},
    {"wq", matrix<&Lesson::wq>},
    {"wk", matrix<&Lesson::wk>},
    {"wv", matrix<&Lesson::wv>},
    {"wo", matrix<&Lesson::wo>},
    {"bq", bias<&Lesson::bq>},
    {"bk", bias<&Lesson::bk>},
    {"bv", bias<&Lesson::bv>},
    {"bo", bias<&Lesson::bo>},
    {"heads", heads},
    {"causal", causal},
    {"scale", scale},
    {"positions", positions},
}};

// The key's place in the table, or the table's size.
std::size_t find_key(std::string_view name) {
  const auto key =
      std::find_if(kFileKeys.begin(), kFileKeys.end(), [&](const Key& one) { return one.name == name; });
  return static_cast<std::size_t>(key - kFileKeys.begin());
}

[[noreturn]] void refuse_unknown(const JsonText& json, std::string_view name, std::size_t place) {
  std::string known;
  for (const Key& key : kFileKeys) known.append(known.empty() ? "" : ", ").append(key.name);
  json.fail(LessonCause::unknown_key, place, "unknown key \"", io::shown(name), "\", the known keys are ",
            known);
}

std::vector<std::string> numbered_labels(char letter, std::int64_t count) {
  std::vector<std::string> labels;
  for (std::int64_t i = 1; i <= count; ++i) labels.emplace_back(1, letter).append(std::to_string(i));
  return labels;
}

// Labels that the file omits. Without queries or keys there is nothing to label, which check_lesson reports.
void fill_labels(Lesson& lesson, bool has_tokens, bool has_key_tokens) {
  const std::optional<Tensor>& queries = lesson.x ? lesson.x : lesson.q;
  const std::optional<Tensor>& keys = lesson.context ? lesson.context : lesson.x ? lesson.x : lesson.k;
  if (!queries || !keys) return;
  if (!has_tokens) lesson.tokens = numbered_labels('t', queries->size(0));
  if (has_key_tokens) return;
  const bool keys_are_tokens = !lesson.context && keys->size(0) == queries->size(0);
  lesson.key_tokens = keys_are_tokens ? lesson.tokens : numbered_labels('k', keys->size(0));
}

}  // namespace

Lesson parse_lesson(std::string_view name, std::string_view json_text) {
  Lesson lesson;
  std::array<bool, kFileKeys.size()> seen{};
  JsonText json(name, json_text);
  json.for_each_field([&](std::string_view key, std::size_t place) {
    const std::size_t index = find_key(key);
    if (index == kFileKeys.size()) refuse_unknown(json, key, place);
    if (std::exchange(seen[index], true)) {
      json.fail(LessonCause::duplicate_key, place, "key \"", key, "\" is given twice");
    }
    kFileKeys[index].read(json, kFileKeys[index].name, lesson);
  });
  fill_labels(lesson, seen[find_key("tokens")], seen[find_key("key_tokens")]);
  check_lesson(display_name(name), lesson);
  return lesson;
}

Lesson read_lesson(const std::string& path) { return parse_lesson(path, read_text_file(path)); }

}  // namespace attend::steps
