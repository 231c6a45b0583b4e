// Post-processors: what is added around a text, and how offsets are trimmed.
#pragma once

#include <attend/tokenizer.h>

#include <memory>
#include <vector>

#include "io/json_document.h"

namespace attend::text {

// The tokens of one text on their way to an Encoding, and how much white space each of them starts and ends
// with.
struct Part {
  Encoding encoding;
  std::vector<std::uint32_t> white_before,
      white_after;  // filled where a post-processor trims offsets, else empty
};

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;

  // How many tokens it adds to one text, or to a pair.
  virtual std::int64_t added(bool pair) const = 0;
  virtual bool trims() const { return false; }

  // From one part a text to any number of parts, which are then put one after the other.
  virtual void apply(std::vector<Part>& parts, bool add_special_tokens) const = 0;

  // Every id that it adds.
  virtual void ids(std::vector<std::int64_t>& out) const = 0;
};

std::unique_ptr<const PostProcessor> read_post_processor(const io::JsonValue& processor);
std::unique_ptr<const PostProcessor> make_bert_processor(std::int32_t cls, std::int32_t sep);

// Appends a token that stands for no text.
void append_special(Encoding& encoding, std::int32_t id, std::int32_t type_id);
void append(Encoding& encoding, const Encoding& other);

}  // namespace attend::text
