// Products of vectors with the rows of a table as it is stored.
#pragma once

#include <attend/tensor.h>

#include "base/detail.h"

namespace attend::detail {

// out[i][j] = row i of x . row j of table: x (m, k) and out (m, n) of f32, table (n, k) of f32, bf16 or f16,
// on the host, with rows whose elements lie side by side. The same bits on any number of threads and whatever
// the other rows are.
void row_products(ConstTensorView x, ConstTensorView table, TensorView out);

}  // namespace attend::detail
