// A soft cap, which numbers approach but do not exceed: Gemma's logits.
#pragma once

#include <cmath>
#include <span>

namespace attend::model {

// x becomes c tanh(x / c); c = 0: it stays as it is.
template <class T>
void softcap(std::span<T> values, double c) {
  if (c == 0) return;
  for (T& value : values) value = static_cast<T>(c * std::tanh(static_cast<double>(value) / c));
}

}  // namespace attend::model
