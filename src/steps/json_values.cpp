#include "steps/json_values.h"

#include <cmath>

#include "steps/words.h"

namespace attend::steps {
namespace {

// Appends the numbers of one array and returns how many there were.
std::int64_t append_numbers(JsonText& json, JsonValue array, const Where& where,
                            std::vector<double>& values) {
  const std::size_t before = values.size();
  json.for_each_element(array, "an array of numbers", where,
                        [&](JsonValue number) { values.push_back(json.number(number, where)); });
  return static_cast<std::int64_t>(values.size() - before);
}

void require_at_most(const JsonText& json, std::int64_t count, std::string_view key, std::string_view thing,
                     const char* place) {
  if (count <= kMaxTokens) return;
  json.fail(LessonCause::too_large, place, key, " has more than ", kMaxTokens, " ", thing);
}

}  // namespace

Tensor read_matrix(JsonText& json, JsonValue value, std::string_view key) {
  std::vector<double> values;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  json.for_each_element(value, "an array of rows", {key}, [&](JsonValue row) {
    const char* const place = JsonText::place_of(row);
    require_at_most(json, ++rows, key, "rows", place);
    const std::int64_t count = append_numbers(json, row, {key, rows}, values);
    if (rows == 1) columns = count;
    if (count != columns) {
      json.fail(LessonCause::ragged_rows, place, key, " row ", rows, " has ", counted(count, "number"),
                ", row 1 has ", columns);
    }
  });
  return Tensor::from<double>({rows, columns}, values);
}

Tensor read_vector(JsonText& json, JsonValue value, std::string_view key) {
  std::vector<double> values;
  const std::int64_t count = append_numbers(json, value, {key}, values);
  return Tensor::from<double>({count}, values);
}

std::vector<std::string> read_labels(JsonText& json, JsonValue value, std::string_view key) {
  std::vector<std::string> labels;
  json.for_each_element(value, "an array of strings", {key}, [&](JsonValue label) {
    const char* const place = JsonText::place_of(label);
    labels.push_back(json.string(label, {key}));
    require_at_most(json, static_cast<std::int64_t>(labels.size()), key, "labels", place);
  });
  return labels;
}

std::int64_t read_count(JsonText& json, JsonValue value, std::string_view key) {
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53: beyond it doubles skip whole numbers
  const char* const place = JsonText::place_of(value);
  const double count = json.number(value, {key});
  if (!(count >= 1 && count <= kLargestExact && std::floor(count) == count)) {
    json.fail(LessonCause::bad_value, place, key, " is ", shown(json.word(place)),
              ", expected a whole number of at least 1");
  }
  return static_cast<std::int64_t>(count);
}

}  // namespace attend::steps
