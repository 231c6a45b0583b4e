// Numbers as JSON.
#pragma once

#include <attend/tensor.h>

#include <string>

namespace attend::save {

// Appends nested arrays of an f32 or f64 tensor: of each number the shortest digits that read back the same,
// and null where JSON has none. Written straight to the text: as nodes of a tree, the numbers of two maps of
// 4096 x 4096 would take 2 GB.
void append_json_array(std::string& text, ConstTensorView values);

}  // namespace attend::save
