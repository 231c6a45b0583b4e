// Texts in the batches in which they go through a model.
#pragma once

#include <attend/tokenizer.h>
#include <attend/transformer.h>

#include <cstdint>
#include <span>

#include "base/error.h"

namespace attend::model {

// Calls visit(batch, index of its first text) for as many texts at a time as have `most_tokens`, at least
// one. A model with an encoder and a decoder reads one at a time.
template <class Visit>
void for_each_batch(const char* operation, const ModelDescription& description,
                    std::span<const Encoding> texts, std::int64_t most_tokens, const Visit& visit) {
  if (most_tokens < 1) refuse(operation, "batch_tokens is ", most_tokens, ", expected at least 1");
  for (std::size_t first = 0, last = 0; first < texts.size(); first = last) {
    TokenBatch batch;
    do {
      batch.add(texts[last].ids, texts[last].type_ids);
      ++last;
    } while (last < texts.size() && !description.has_source() &&
             batch.tokens() + static_cast<std::int64_t>(texts[last].size()) <= most_tokens);
    visit(batch, static_cast<std::int64_t>(first));
  }
}

}  // namespace attend::model
