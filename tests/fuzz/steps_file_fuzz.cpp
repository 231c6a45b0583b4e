// Any bytes at all as the user's file for `attend steps`: a lesson whose parts fit, or LessonError.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "steps/check_lesson.h"
#include "steps/steps_file.h"

namespace {

using attend::Tensor;
using attend::steps::Lesson;
using attend::steps::LessonError;

void require(bool condition) {
  if (!condition) __builtin_trap();
}

void require_finite(const std::optional<Tensor>& tensor, int rank) {
  if (!tensor) return;
  require(tensor->rank() == rank);
  const auto values = tensor->values<double>();
  require(std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }));
}

void require_sound(const Lesson& lesson) {
  require(lesson.x.has_value() != lesson.q.has_value());
  require(lesson.q.has_value() == lesson.k.has_value() && lesson.q.has_value() == lesson.v.has_value());
  require(lesson.wq.has_value() == lesson.wk.has_value() && lesson.wq.has_value() == lesson.wv.has_value());
  for (const auto* matrix : {&lesson.x, &lesson.context, &lesson.q, &lesson.k, &lesson.v, &lesson.wq,
                             &lesson.wk, &lesson.wv, &lesson.wo}) {
    require_finite(*matrix, 2);
  }
  for (const auto* bias : {&lesson.bq, &lesson.bk, &lesson.bv, &lesson.bo}) require_finite(*bias, 1);
  require(!lesson.scale || std::isfinite(*lesson.scale));

  const Tensor& queries = lesson.x ? *lesson.x : *lesson.q;
  const Tensor& keys = lesson.context ? *lesson.context : lesson.x ? *lesson.x : *lesson.k;
  const Tensor& query_columns = lesson.wq ? *lesson.wq : queries;
  const Tensor& key_columns = lesson.wk ? *lesson.wk : keys;
  const Tensor& value_columns = lesson.wv ? *lesson.wv : lesson.v ? *lesson.v : keys;
  require(queries.size(0) > 0 && keys.size(0) > 0 && query_columns.size(1) > 0 && value_columns.size(1) > 0);
  require(static_cast<std::int64_t>(lesson.tokens.size()) == queries.size(0));
  require(static_cast<std::int64_t>(lesson.key_tokens.size()) == keys.size(0));
  require(query_columns.size(1) == key_columns.size(1));
  require(lesson.heads >= 1);
  require(query_columns.size(1) % lesson.heads == 0 && value_columns.size(1) % lesson.heads == 0);
  require(!lesson.wo || lesson.wo->size(0) == value_columns.size(1));
}

// One sentence: the name, then printable text on one line.
void require_sentence(std::string_view sentence) {
  require(sentence.starts_with("fuzz.json: "));
  require(sentence.size() < 500);
  require(std::none_of(sentence.begin(), sentence.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Lesson lesson = attend::steps::parse_lesson("fuzz.json", text);
    require_sound(lesson);
    attend::steps::check_lesson("fuzz.json", lesson);
  } catch (const LessonError& error) {
    require_sentence(error.what());
  }  // anything else ends the fuzzer
  return 0;
}
