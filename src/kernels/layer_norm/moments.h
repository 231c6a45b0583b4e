// What layer normalisation finds out about a row on its way.
#pragma once

namespace attend::kernels {

template <class Number>
struct RowMoments {
  Number mean;
  Number inverse_deviation;  // 1 / sqrt(variance + epsilon)
};

}  // namespace attend::kernels
