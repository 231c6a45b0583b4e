// Whether two views share memory: an output that overlaps an input would be read after it was written.
#pragma once

#include <attend/tensor.h>

#include "base/detail.h"

namespace attend::detail {

// True when some byte belongs to an element of both. Exact, so two column blocks of one matrix are apart
// although their rows interleave; only for strides so odd that the search grows long is a possible overlap
// taken for one.
bool overlaps(ConstTensorView a, ConstTensorView b);

// The same elements in the same order: what "out may be x" allows.
bool same_elements(ConstTensorView a, ConstTensorView b);

// False when every index is an element of its own, as in any slice or permutation of a dense array: something
// to write to. Strides that interleave axes in other ways are taken for a repetition.
bool may_repeat_elements(ConstTensorView view);

}  // namespace attend::detail
