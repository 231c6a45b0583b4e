// Normalizers: they rewrite text before it is cut into words, and keep track of what each byte came from.
#pragma once

#include <memory>

#include "io/json_document.h"
#include "text/aligned_text.h"
#include "text/allowance.h"

namespace attend::text {

class Normalizer {
 public:
  virtual ~Normalizer() = default;

  // Rewrites `text`; `scratch` is memory to work in, whatever it holds. std::invalid_argument where the
  // allowance is not enough.
  virtual void apply(AlignedText& text, AlignedText& scratch, Allowance& allowance) const = 0;
};

// What "normalizer" of a tokenizer.json describes; nothing for null.
std::unique_ptr<const Normalizer> read_normalizer(const io::JsonValue& normalizer);

struct BertNormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};
std::unique_ptr<const Normalizer> make_bert_normalizer(const BertNormalizerOptions& options);

// One for each kind, in the file of that name.
std::unique_ptr<const Normalizer> read_bert_normalizer(const io::JsonValue& normalizer);
std::unique_ptr<const Normalizer> make_normal_form(bool compatible, bool composed);
std::unique_ptr<const Normalizer> read_precompiled(const io::JsonValue& normalizer);

}  // namespace attend::text
