#include "steps/json_values.h"

#include <cmath>

#include "draw/prose.h"
#include "io/fail.h"

namespace attend::steps {
namespace {

// Appends the numbers of one array and returns how many there were.
std::int64_t append_numbers(JsonText& json, const Where& where, std::vector<double>& values) {
  const std::size_t before = values.size();
  json.for_each_element("an array of numbers", where, [&] { values.push_back(json.number(where)); });
  return static_cast<std::int64_t>(values.size() - before);
}

void require_at_most(const JsonText& json, std::int64_t count, std::string_view key, std::string_view thing,
                     std::size_t place) {
  if (count <= kMaxTokens) return;
  json.fail(LessonCause::too_large, place, key, " has more than ", kMaxTokens, " ", thing);
}

}  // namespace

Tensor read_matrix(JsonText& json, std::string_view key) {
  std::vector<double> values;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  json.for_each_element("an array of rows", {key}, [&] {
    const std::size_t place = json.place();
    require_at_most(json, ++rows, key, "rows", place);
    const std::int64_t count = append_numbers(json, {key, rows}, values);
    if (rows == 1) columns = count;
    if (count != columns) {
      json.fail(LessonCause::ragged_rows, place, key, " row ", rows, " has ", draw::counted(count, "number"),
                ", row 1 has ", columns);
    }
  });
  return Tensor::from<double>({rows, columns}, values);
}

Tensor read_vector(JsonText& json, std::string_view key) {
  std::vector<double> values;
  const std::int64_t count = append_numbers(json, {key}, values);
  return Tensor::from<double>({count}, values);
}

std::vector<std::string> read_labels(JsonText& json, std::string_view key) {
  std::vector<std::string> labels;
  json.for_each_element("an array of strings", {key}, [&] {
    const std::size_t place = json.place();
    labels.push_back(json.string({key}));
    require_at_most(json, static_cast<std::int64_t>(labels.size()), key, "labels", place);
  });
  return labels;
}

std::int64_t read_count(JsonText& json, std::string_view key) {
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53: beyond it doubles skip whole numbers
  const std::size_t place = json.place();
  const double count = json.number({key});
  if (!(count >= 1 && count <= kLargestExact && std::floor(count) == count)) {
    json.fail(LessonCause::bad_value, place, key, " is ", io::shown(json.word(place)),
              ", expected a whole number of at least 1");
  }
  return static_cast<std::int64_t>(count);
}

}  // namespace attend::steps
