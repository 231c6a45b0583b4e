// What a tokenizer is made of.
#pragma once

#include <attend/gguf.h>
#include <attend/tokenizer.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/json_document.h"
#include "io/open_file.h"
#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"
#include "text/subword_model.h"
#include "text/truncation.h"

namespace attend {

struct Tokenizer::Parts {
  std::unique_ptr<const text::Normalizer> normalizer;       // may be empty
  std::unique_ptr<const text::PreTokenizer> pre_tokenizer;  // may be empty
  std::unique_ptr<const text::SubwordModel> model;
  std::unique_ptr<const text::PostProcessor> post_processor;  // may be empty
  std::unique_ptr<const text::Decoder> decoder;               // may be empty
  text::AddedTokens added;
  std::optional<text::Truncation> truncation;

  // White space at the ends of every token; filled where the post-processor trims offsets.
  struct White {
    std::uint8_t before, after;
  };
  std::vector<White> white;
};

namespace text {

std::shared_ptr<const Tokenizer::Parts> read_tokenizer(const io::JsonDocument& document);

// A vocab.txt, and the tokenizer_config.json beside it, where there is one.
std::shared_ptr<const Tokenizer::Parts> read_bert_vocabulary(const io::FileText& text,
                                                             std::optional<io::FileText> config);

// What a GGUF file carries.
std::shared_ptr<const Tokenizer::Parts> read_gguf_tokenizer(const Gguf& file);

// How many characters at the start, or the end, are white space or its byte-level form.
std::uint32_t white_at_start(std::string_view token);
std::uint32_t white_at_end(std::string_view token);

}  // namespace text
}  // namespace attend
