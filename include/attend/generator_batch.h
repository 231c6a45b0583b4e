// Several texts that a model writes at the same time: each step takes every one of them a token further, for
// little more than the time of one. Texts join and leave between steps.
//
//   GeneratorBatch batch(generator);
//   const auto first = batch.add(ids, {.max_tokens = 20});
//   while (batch.size() > 0)
//     for (GeneratorBatch::Ended& text : batch.step()) std::cout << text.written.text;
//
// A text has the bits that Generator::generate() gives it, whatever else is written. One thread at a time.
#pragma once

#include <attend/generation.h>

#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace attend {

struct GeneratorBatchOptions {
  std::optional<CacheType> cache{};  // default: the generator's
  // Of prompts, read in one step: a long prompt takes several, so that the other texts go on meanwhile.
  // Rounded up to a multiple of 64.
  std::int64_t prompt_tokens = 256;
  // Of prompts that were read, kept when their texts have ended, the newest: a prompt that begins as one of
  // them, such as the next one of a conversation, is read from where they differ. What was written is not
  // kept: a prompt's tokens are computed many at a time, and have other bits than the same tokens one by one.
  std::int64_t kept_tokens = 0;
};

class GeneratorBatch {
 public:
  using Id = std::int64_t;
  struct Ended {
    Id id = 0;
    Generated written{};
    std::exception_ptr failure{};  // why this text alone was given up; `written` is then empty
  };

  // Shares the generator's model and matrices, and nothing that changes.
  explicit GeneratorBatch(const Generator& generator, const GeneratorBatchOptions& options = {});
  ~GeneratorBatch();
  GeneratorBatch(const GeneratorBatch&) = delete;
  GeneratorBatch& operator=(const GeneratorBatch&) = delete;

  // A text that joins at the next step; on_token is called from within step(). As generate() does, a text
  // without room goes on with its second half; ends_without_room: it ends with StopReason::context, as
  // chat() does. Throws std::invalid_argument as generate() and chat() do.
  Id add(std::span<const std::int32_t> prompt, const GenerateOptions& options,
         bool ends_without_room = false);
  void remove(Id id);  // it leaves unfinished; an id that has left already is ignored

  // Reads what is to be read next of each text, and draws. The texts that ended with this step. An exception
  // is of what all have in common, such as a lack of memory; no text has then changed, but for sources that
  // were read.
  std::vector<Ended> step();

  std::int64_t size() const noexcept;    // texts that are being written, or have ended and were not told yet
  std::int64_t tokens() const noexcept;  // that their caches hold

 private:
  struct Text;
  struct Chunk;
  struct Kept;
  std::vector<Chunk> chunks();
  bool wants_more(Text& text);
  std::size_t chunk_size(const Text& text) const;
  void read(const std::vector<Chunk>& chunks);
  void end(Id id);
  void keep(Text& text);
  void reuse(Text& text);

  const TextModel model_;
  const TokenHead output_;
  const GenerationDefaults defaults_;
  const GeneratorBatchOptions options_;
  std::list<Text> texts_;     // in the order in which they joined
  std::vector<Ended> ended_;  // that step() has not told yet
  std::list<Kept> kept_;      // the newest first
  Id next_id_ = 1;
  std::int64_t steps_ = 0;
};

// What follows each prompt, `at_once` of them at a time. on_token is not for several texts at once, and
// refused. What is thrown of one text ends them all.
struct TogetherOptions {
  std::int64_t at_once = 16;
  bool ends_without_room = false;
};
std::vector<Generated> generate_together(const Generator& generator,
                                         std::span<const std::vector<std::int32_t>> prompts,
                                         const GenerateOptions& options = {},
                                         const TogetherOptions& together = {});

}  // namespace attend
