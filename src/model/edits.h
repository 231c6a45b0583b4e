// What edits do to a layer's attended values.
#pragma once

#include <attend/transformer.h>

namespace attend::model {

// Throws std::invalid_argument for an edit of something that the model or the batch does not have.
void check_edits(const PassEdits& edits, const ModelDescription& description, const TokenBatch& batch);

// attended (tokens, H, D), as attention left it, becomes what the edits of moment.layer make of it. moment:
// what that attention read and the row state that it wrote.
void apply_edits(const PassEdits& edits, const LayerMoment& moment, TensorView attended);

}  // namespace attend::model
