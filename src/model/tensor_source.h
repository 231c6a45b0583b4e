// Tensors of a source, checked.
#pragma once

#include <attend/transformer.h>

#include <optional>
#include <string>

namespace attend::model {

// A view in place. Throws FileError unless the source has a tensor of that name and shape, of a floating
// type.
ConstTensorView required_tensor(const TensorSource& tensors, const std::string& name, const Dims& shape);

// The same without reading it, where the source can: a view of zeros that has its shape and type.
ConstTensorView required_form(const TensorSource& tensors, const std::string& name, const Dims& shape);

// The blocks of a matrix of this shape, checked likewise; none where it is stored as numbers.
std::optional<StoredBlocks> stored_blocks(const TensorSource& tensors, const std::string& name,
                                          const Dims& shape);

}  // namespace attend::model
