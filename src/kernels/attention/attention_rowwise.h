// Attention in fp32, one query row at a time: O(keys) scratch, the exact maximum, no n x n anywhere. Each row
// is computed from its own query alone, so its bits depend neither on its neighbours nor on the number of
// threads.
#pragma once

#include <attend/stage.h>

#include "kernels/attention/head.h"

namespace attend::kernels {

// Rows [first, last). scratch: scratch_size_rowwise(keys, dv) elements.
void attention_rowwise(const Head<float>& head, std::int64_t first, std::int64_t last,
                       const HeadOutput<float>& output, float* scratch) noexcept;
inline std::int64_t scratch_size_rowwise(std::int64_t keys, std::int64_t dv) noexcept { return keys + dv; }

// One row at one stage: row[0 .. keys).
void stage_row(const Head<float>& head, std::int64_t query, Stage stage, float* row) noexcept;

}  // namespace attend::kernels
