// The path of a token through the blocks of a model: the stream, what attention and the feed-forward part
// read of it and add to it, and what each of these additions does for the logit of a token that may come
// next.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <attend/lens.h>

namespace attend {

// One part of a block, which reads the stream and adds to it. All are Euclidean lengths but the cosine.
struct BlockPart {
  double input = 0;   // what the part reads: the norm of the stream, or the stream itself
  double length = 0;  // what it adds
  double cosine = 0;  // of what it adds with the stream as it stands where the part reads it
};

// A layer in which the token takes part. Where norms stand after the sums, as in BERT, middle and out are
// those after the norms, and what is added is added before them.
struct BlockLayer {
  std::int64_t layer = 1;
  double in = 0, middle = 0, out = 0;  // the stream before attention, after it, after the layer
  BlockPart attention{};
  // What each head adds. Where the output of attention has a norm of its own, that is held at its value.
  std::vector<double> heads{};
  double rest = 0;  // what attention adds that belongs to no head: biases
  std::optional<BlockPart> feed_forward{};
};

// Direct attribution: the final norm held at its value, a logit is the sum of what the embedding, each head
// and each feed-forward part have put into the stream, and a constant. What a part does through later parts
// that read it is not in its share, but in theirs.
struct LayerLogits {
  std::vector<double> heads{};  // of the layers of BlockPath::layers
  double rest = 0, feed_forward = 0;
};
struct LogitParts {
  std::int32_t token = 0;
  double logit = 0;  // the sum of all; before the cap on logits that some models have
  double embedding = 0;
  double constant = 0;  // the bias of the final norm
  std::vector<LayerLogits> layers{};
};

struct BlockPath {
  std::int64_t place = 0;
  std::vector<BlockLayer> layers{};
  std::vector<LogitParts> logits{};  // of the tokens that were asked for
};

struct BlockQuestion {
  std::int64_t place = 0;
  std::vector<std::int32_t> tokens{};  // candidates for the next token
};

// Whether logits can be taken apart: the model writes, and its layers only add to the stream.
bool has_logit_parts(const Reading& reading);

// Needs a reading that kept the attention of all layers. Throws std::invalid_argument for a place that is not
// a token of the text, and for tokens where has_logit_parts() is false.
std::vector<BlockPath> block_paths(const Reading& reading, std::span<const BlockQuestion> questions);
BlockPath block_path(const Reading& reading, std::int64_t place, std::vector<std::int32_t> tokens = {});

}  // namespace attend
