// Says which words of a text a model does not know, and which model would read them.
#pragma once

#include <attend/lens.h>

#include <cstdint>
#include <span>
#include <string>

namespace attend::app {

// On standard error, where a text has tokens that are [UNK]. ids: its tokens, without special ones.
void warn_of_unknown(const TextModel& model, const std::string& text, std::span<const Word> words,
                     std::span<const std::int32_t> ids);
void warn_of_unknown(const Reading& reading);

// A way on for a text that a model does not read: a sentence, which names a model. for_vectors: one that
// makes vectors is wanted.
std::string model_that_reads(const TextModel& model, const std::string& text, bool for_vectors);

}  // namespace attend::app
