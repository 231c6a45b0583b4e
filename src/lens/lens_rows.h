// Rows of a lens, block by block: what maps of any size are made of.
#pragma once

#include <attend/lens.h>

#include <functional>

namespace attend::lens {

// Calls take(place in rows, row of n numbers) for each of the rows, in order. Memory for a block of rows
// only.
void for_each_row(const Reading& reading, const LensQuery& query, std::span<const std::int64_t> rows,
                  const std::function<void(std::size_t, std::span<const double>)>& take);

}  // namespace attend::lens
