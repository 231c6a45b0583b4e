// Turns a file of texts into a file of vectors, in constant memory.
#pragma once

#include <attend/text_model.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "embed/pieces.h"
#include "embed/sink.h"
#include "embed/text_lines.h"

namespace attend::embed {

struct Job {
  EmbedOptions options{};
  Grain grain = Grain::text;
  Overflow overflow = Overflow::truncate;
  // What computes the vectors of texts; default: the model's embed(). Of whole texts only.
  std::function<Tensor(std::span<const Encoding> texts, const EmbedOptions& options)> embed{};
};

struct EmbedProgress {
  std::int64_t texts = 0, tokens = 0;
};

struct Outcome {
  EmbedProgress done{};
  std::int64_t too_long = 0;                   // texts that were truncated or, with Overflow::split, divided
  std::int64_t over_long = 0;                  // of those, lines that were longer than TextLines::kLongest
  std::vector<std::int64_t> too_long_lines{};  // the first of them
  std::int64_t unknown = 0;                    // texts of which the model knows no token
  std::vector<std::int64_t> unknown_lines{};   // the first of them
  std::string unknown_text{};                  // the very first
};

// Throws FileError for a text that is too long with Overflow::error, and for one that the tokenizer refuses.
Outcome embed_texts(const TextModel& model, TextLines& lines, const Job& job, Sink& sink,
                    const std::function<void(const EmbedProgress&)>& report);

}  // namespace attend::embed
