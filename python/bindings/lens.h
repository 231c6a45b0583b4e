// A reading as Python holds it: shared with the gradients that were made from it, and never changed.
#pragma once

#include <nanobind/nanobind.h>

#include <attend/lens.h>
#include <attend/lens_change.h>
#include <attend/lens_sink.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace attend_python {

struct LensReading {
  std::shared_ptr<const attend::Reading> reading;
  const attend::Reading& operator*() const { return *reading; }
  const attend::Reading* operator->() const { return reading.get(); }
};

// Gradients know their reading: those of another one would have other shapes.
struct LensGradients {
  std::shared_ptr<const attend::Reading> reading;
  attend::PassGradients gradients;
};

// How a map or a row is asked for. What `gradients` looks at must outlive the query.
attend::LensQuery query_from(const LensReading& reading, nanobind::handle method, nanobind::handle layer,
                             nanobind::handle head, nanobind::handle gradients);
attend::HeadChoice head_choice_from(nanobind::handle layer, nanobind::handle head);

// "auto", "fold" or "keep".
attend::SinkChoice sink_from(nanobind::handle sink);

// The place of a word: its number, or its name as find_word() reads it.
std::size_t word_from(nanobind::handle word, const std::vector<attend::Word>& units);

// The token that is guessed at, or after: by default the only mask, or the last; negative numbers count back
// from the end.
std::int64_t place_from(const LensReading& reading, nanobind::handle place);

nanobind::object numpy_of_values(std::span<const double> values);

// layer, part, token, sentence
using NotFiniteFields = std::tuple<std::int64_t, std::string, std::int64_t, std::string>;
std::optional<NotFiniteFields> fields_of(const attend::Reading& reading,
                                         const std::optional<attend::NotFinite>& where);

// The part of ReadingCore that asks what the output depends on.
void bind_lens_outputs(nanobind::class_<LensReading>& reading);

}  // namespace attend_python
