// The keyword arguments that every function over attention shares, as AttentionOptions.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <optional>
#include <string_view>

#include <attend/attention.h>

#include "array.h"
#include "numbers.h"

// As Python shows them, in help() and to type checkers.
#define ATTEND_OPTIONS_SIGNATURE                                                                          \
  "scale: float | None = None, causal: bool = False, query_offset: QueryOffset | None = None, "           \
  "window: Window | None = None, key_lengths: Integers | None = None, mask: Array | None = None, "        \
  "bias: Array | None = None, alibi_slopes: Floats | None = None, softcap: float = 0.0, sinks: Floats | " \
  "None = None, "                                                                                         \
  "dropout: float = 0.0, dropout_seed: int = 0, cumulative_query_lengths: Integers | None = None, "       \
  "cumulative_key_lengths: Integers | None = None, precision: Precision | None = None"

namespace attend_python {

attend::Indices indices_from(nb::handle object, const char* name);  // None: all of them; an int: that one

// Heads of a model by their numbers, from 1, as indices along an axis with that many heads.
attend::Indices head_indices_from(nb::handle object, std::int64_t heads);

attend::Stage stage_from(nb::handle name);

class Options {
 public:
  // own: takes the keywords of one function beside the shared ones; it returns false for those it does not
  // know.
  using Own = std::function<bool(std::string_view key, nb::handle value)>;
  Options(const char* function, const nb::kwargs& keywords, const Own& own = {});

  const attend::AttentionOptions& get() const { return options_; }
  bool packed() const { return !options_.cumulative_query_lengths.empty(); }
  const std::optional<Array>& bias() const { return bias_; }

 private:
  bool take(std::string_view key, nb::handle value);

  attend::AttentionOptions options_;
  std::optional<Array> mask_, bias_;
};

}  // namespace attend_python
