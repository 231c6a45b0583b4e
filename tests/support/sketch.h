// A large tensor as a few numbers, from which the size of an error can still be told:
// tools/golden/make_minilm.py makes the same ones.
#pragma once

#include <attend/tensor.h>

#include <array>
#include <cstdint>

namespace attend {

inline constexpr std::size_t kSketchSigns = 8;
using Sketch = std::array<double, kSketchSigns>;

// The sums of a state's numbers, each under its own random choice of signs, which follow from the number of
// the text. The difference of two sketches is the sketch of the difference, and the mean of its squares is,
// in expectation over the signs, the sum of the squared differences.
Sketch sketch_of(std::int64_t text, ConstTensorView state);

}  // namespace attend
