// One row of the scores at one stage, in fp32: what attention() used on the way and did not keep.
#pragma once

#include <attend/stage.h>

#include "kernels/attention/head.h"

namespace attend::kernels {

// row[0 .. keys). Computed from its own query alone.
void stage_row(const Head<float>& head, std::int64_t query, Stage stage, float* row) noexcept;

}  // namespace attend::kernels
