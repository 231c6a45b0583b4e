// Where the operands of mma m16n8k16 lie in a swizzled tile. Constexpr, so that tests/cuda proves it on any
// machine.
#pragma once

#include "cuda/visibility.h"

namespace attend::cuda {

// Which 8 x 8 matrices ldmatrix takes from a tile for the first operand of mma m16n8k16, and where: lane l
// gives the address of 16 bytes, row (a key) and 8 columns. Matrices 0 to 3 are lanes 0 to 7, 8 to 15, 16 to
// 23, 24 to 31. The operand's matrices are its upper left, lower left, upper right and lower right quarters.
struct MatrixRow {
  int key, eighth;  // of the head size
};
// Keys as rows of k q^T: 16 keys, 16 elements.
ATTEND_BOTH constexpr MatrixRow key_matrix_row(int lane, int sixteenth_of_keys, int step) {
  return {sixteenth_of_keys * 16 + lane % 16, step * 2 + lane / 16};
}
// Columns of values as rows of v^T p^T, turned on the way: 16 columns, 16 keys.
ATTEND_BOTH constexpr MatrixRow value_matrix_row(int lane, int step, int sixteenth_of_columns) {
  return {step * 16 + lane / 16 * 8 + lane % 8, sixteenth_of_columns * 2 + lane / 8 % 2};
}
// Where those 16 bytes are in a tile that the copy engine wrote: 64 columns a row, swizzled in groups of 8
// rows.
ATTEND_BOTH constexpr int swizzled_bytes(MatrixRow at, int keys) {
  return at.eighth / 8 * keys * 128 + at.key * 128 + ((at.eighth % 8) ^ (at.key % 8)) * 16;
}

// The sums of m16n8k16: element e of a lane.
ATTEND_BOTH constexpr int product_row(int lane, int e) { return lane / 4 + e / 2 * 8; }
ATTEND_BOTH constexpr int product_column(int lane, int e) { return lane % 4 * 2 + e % 2; }

}  // namespace attend::cuda
