// The (maximum, sum) of rows in the form that weights are made from: weight = exp(biased - max) * inverse.
// Read from what attention() stored, or computed from the scores in float64, so that the weights of a row of
// any length add up to 1.
#pragma once

#include "cuda/problem.h"

namespace attend::cuda {

// A row that has no keys: maximum 0 and inverse 0, so that its weights are 0. A row whose weights are NaN:
// NaN and NaN.
struct alignas(16) Settled {
  float max, inverse, log_sum;
};

// Rows of some heads of some sequences, in the order of lists on the device; null: all of them.
struct Chosen {
  const std::int64_t *sequences = nullptr, *heads = nullptr, *rows = nullptr;
  std::int64_t sequence_count = 0, head_count = 0, row_count = 0;

  ATTEND_BOTH static std::int64_t at(const std::int64_t* list, std::int64_t place) {
    return list == nullptr ? place : list[place];
  }
};

// Where the settled state of the row at a place is. Places are those of the lists; where all rows are taken,
// those of packed sequences lie one after the other.
struct SettledPlaces {
  Settled* data = nullptr;
  std::int64_t sequence = 0, head = 0, row = 0;
  bool packed = false;  // rows are counted from the first of all sequences

  ATTEND_BOTH Settled& of(std::int64_t a, std::int64_t b, std::int64_t first, std::int64_t r) const {
    return data[a * sequence + b * head + ((packed ? first : 0) + r) * row];
  }
};

// How many rows of how many sequences and heads there are to settle, and room for them.
class SettledRows {
 public:
  // All rows of a call.
  SettledRows(plugin::Place place, const plugin::Attention& call);
  // The chosen ones; their lists are on the device.
  SettledRows(plugin::Place place, const Chosen& chosen);
  const SettledPlaces& places() const { return places_; }

 private:
  Scratch memory_;
  SettledPlaces places_;
};

Chosen all_rows(const plugin::Attention& call);

void settle(plugin::Place place, const plugin::Attention& call, const Problem& problem,
            const plugin::RowState& state, const Chosen& chosen, const SettledPlaces& places);

}  // namespace attend::cuda
