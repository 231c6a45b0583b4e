// One text while it is written: what the model is to read next, and what becomes of the logits that follow.
//
//   while (const auto next = text.next(cache.length())) text.take(text.draw(logits of next->ids));
//   Generated all = std::move(text).finished();
//
// Who reads, and whether other texts are read in the same pass, is not its business.
#pragma once

#include <attend/generation.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attend::model {

// Where no position is left: the second half is read again from the start, or the text ends with `context`.
enum class WithoutRoom : std::uint8_t { read_again, end };

struct NextRead {
  std::span<const std::int32_t> ids{};  // until the next call
  bool from_start = false;              // after an emptied cache
};

// What is written so far, and whether it ends here.
class WrittenSoFar {
 public:
  // What it is given must outlive it.
  WrittenSoFar(const Tokenizer& tokenizer, const GenerateOptions& options,
               const std::vector<std::int32_t>& ends)
      : decoder_(tokenizer), options_(options), ends_(ends) {}

  bool goes_on(GeneratedToken token);
  bool end(StopReason reason) {
    result.reason = reason;
    return false;
  }
  Generated finished() &&;
  std::span<const std::int32_t> ids() const { return ids_; }

  Generated result{};

 private:
  bool add_text(const std::string& piece);

  StreamingDecoder decoder_;
  const GenerateOptions& options_;
  const std::vector<std::int32_t>& ends_;
  std::vector<std::int32_t> ids_{};
  std::size_t told_ = 0;  // bytes of the text that on_token was given
  bool cut_ = false;
};

void require_prompt(std::span<const std::int32_t> prompt);  // that there is one

class TextInProgress {
 public:
  // The model and the defaults must outlive it. Throws std::invalid_argument for options without meaning and,
  // with WithoutRoom::end, for a prompt that leaves no room for an answer.
  TextInProgress(const TextModel& model, const GenerationDefaults& defaults, const GenerateOptions& options,
                 std::vector<std::int32_t> prompt, WithoutRoom without_room = WithoutRoom::read_again);
  TextInProgress(const TextInProgress&) = delete;  // its parts refer to one another
  TextInProgress& operator=(const TextInProgress&) = delete;

  const std::vector<std::int32_t>& prompt() const noexcept { return prompt_; }
  void reuse(std::int64_t tokens);  // which the cache holds already, from the prompt's start

  // What is to be read, after the `held` tokens that its cache holds; nothing: the text ends here.
  std::optional<NextRead> next(std::int64_t held);
  // The token that follows, of (vocabulary) f32; of several texts at once from several threads.
  GeneratedToken draw(ConstTensorView logits) const;
  void take(GeneratedToken token);
  const Generated& so_far() const noexcept { return written_.result; }
  Generated finished() &&;

 private:
  const ModelDescription& description_;
  const GenerateOptions options_;
  const std::vector<std::int32_t> prompt_;
  const std::int64_t most_;
  const WithoutRoom without_room_;
  WrittenSoFar written_;
  std::vector<std::int32_t> next_{}, all_{};  // all: what is read once `next` is, from the beginning
  std::int64_t count_ = 0;
  bool ended_ = false;
};

}  // namespace attend::model
