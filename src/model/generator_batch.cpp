#include <attend/generator_batch.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "model/pass_plan.h"
#include "model/text_in_progress.h"

namespace attend {
namespace {

constexpr const char* kBatchOperation = "generate";
// Chunks of a prompt begin at multiples of this, where tiles of queries begin, too; and none has as few
// tokens as attention's kernel for single queries takes. So a row meets the kernel and the tile that it meets
// in a prompt that is read at once, and has the same bits.
constexpr std::int64_t kChunkStep = 64, kFewestInChunk = 9;

std::int64_t rounded_up(std::int64_t value) {
  return std::max<std::int64_t>(1, (value + kChunkStep - 1) / kChunkStep) * kChunkStep;
}

}  // namespace

struct GeneratorBatch::Text {
  Text(const TextModel& model, const GenerationDefaults& defaults, Id number, CacheType type,
       std::span<const std::int32_t> prompt, const GenerateOptions& options, bool ends_without_room)
      : id(number),
        cache(model.transformer().description(), type),
        progress(model, defaults, options, {prompt.begin(), prompt.end()},
                 ends_without_room ? model::WithoutRoom::end : model::WithoutRoom::read_again) {}

  Id id;
  TransformerCache cache;
  model::TextInProgress progress;
  std::span<const std::int32_t> unread{};  // of what progress wants read next
  std::int64_t last_read = 0;              // the step at which some of its prompt was read
};

// A prompt that was read, and what the cache holds of it: all.
struct GeneratorBatch::Kept {
  std::vector<std::int32_t> prompt;
  TransformerCache cache;
};

// What one step reads of a text.
struct GeneratorBatch::Chunk {
  Text* text;
  std::span<const std::int32_t> ids;
};

GeneratorBatch::GeneratorBatch(const Generator& generator, const GeneratorBatchOptions& options)
    : model_(generator.model_),
      output_(generator.output_),
      defaults_(generator.defaults_),
      options_{.cache = options.cache.value_or(generator.cache_type_),
               .prompt_tokens = rounded_up(options.prompt_tokens),
               .kept_tokens = options.kept_tokens} {}

GeneratorBatch::~GeneratorBatch() = default;

GeneratorBatch::Id GeneratorBatch::add(std::span<const std::int32_t> prompt, const GenerateOptions& options,
                                       bool ends_without_room) {
  model::require_prompt(prompt);
  model::check_ids(prompt, model_.transformer().description());
  texts_.emplace_back(model_, defaults_, next_id_, *options_.cache, prompt, options, ends_without_room);
  reuse(texts_.back());
  return next_id_++;
}

// Takes over the cache that has most of a text's prompt, up to where chunks begin.
void GeneratorBatch::reuse(Text& text) {
  const std::vector<std::int32_t>& prompt = text.progress.prompt();
  const ModelDescription& description = model_.transformer().description();
  if (std::ssize(prompt) > description.max_tokens()) return;  // it is cut at its start
  auto best = kept_.end();
  std::int64_t most = 0;
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    const std::int64_t same = std::ranges::mismatch(kept->prompt, prompt).in1 - kept->prompt.begin();
    const std::int64_t usable =
        std::min(same, std::max<std::int64_t>(0, std::ssize(prompt) - kFewestInChunk)) / kChunkStep *
        kChunkStep;
    // Keys are rotated as the length of the text asked that they were read in.
    if (usable <= most || description.rotation_changes(usable, std::ssize(prompt)) ||
        description.rotation_changes(usable, std::ssize(kept->prompt)))
      continue;
    most = usable;
    best = kept;
  }
  if (best == kept_.end()) return;
  text.cache = std::move(best->cache);
  kept_.erase(best);
  text.cache.truncate(most);
  text.progress.reuse(most);
}

void GeneratorBatch::keep(Text& text) {
  const std::vector<std::int32_t>& prompt = text.progress.prompt();
  const Generated& written = text.progress.so_far();
  const std::int64_t size = std::ssize(prompt);
  if (size < kChunkStep || size > options_.kept_tokens || written.dropped > 0 || written.rereads > 0 ||
      text.cache.has_source() || text.cache.length() < size ||
      model_.transformer().description().rotation_changes(size, text.cache.length()))
    return;
  text.cache.truncate(size);
  kept_.push_front({.prompt = prompt, .cache = std::move(text.cache)});
  std::int64_t tokens = 0;
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    tokens += std::ssize(kept->prompt);
    kept = tokens > options_.kept_tokens ? kept_.erase(kept) : std::next(kept);
  }
}

void GeneratorBatch::remove(Id id) {
  texts_.remove_if([&](const Text& text) { return text.id == id; });
}

std::int64_t GeneratorBatch::size() const noexcept {
  return static_cast<std::int64_t>(texts_.size() + ended_.size());
}

std::int64_t GeneratorBatch::tokens() const noexcept {
  std::int64_t sum = 0;
  for (const Text& text : texts_) sum += text.cache.length();
  return sum;
}

std::vector<GeneratorBatch::Ended> GeneratorBatch::step() {
  if (const std::vector<Chunk> next = chunks(); !next.empty()) read(next);
  return std::exchange(ended_, {});
}

// One token of each text that writes; and of prompts as much as one step reads, first of those for which it
// is the longest ago: a long prompt and short ones take turns.
std::vector<GeneratorBatch::Chunk> GeneratorBatch::chunks() {
  std::vector<Chunk> chunks;
  std::vector<Text*> prompts;
  for (auto place = texts_.begin(); place != texts_.end();) {
    Text& text = *place++;  // which may be the last that is seen of it
    if (text.unread.empty() && !wants_more(text)) continue;
    if (text.unread.size() == 1) {
      chunks.push_back({&text, text.unread});
    } else {
      prompts.push_back(&text);
    }
  }
  std::ranges::stable_sort(prompts, {}, &Text::last_read);
  ++steps_;
  std::int64_t room = options_.prompt_tokens;
  for (Text* const text : prompts) {
    if (room <= 0) break;
    chunks.push_back({text, text->unread.first(chunk_size(*text))});
    text->last_read = steps_;
    room -= std::ssize(chunks.back().ids);
  }
  return chunks;
}

// Whether there is something to be read of a text, or it ends.
bool GeneratorBatch::wants_more(Text& text) {
  if (model_.transformer().description().has_source() && !text.cache.has_source())
    model_.transformer().read_source(text.progress.prompt(), text.cache);
  const std::optional<model::NextRead> next = text.progress.next(text.cache.length());
  if (!next) {
    end(text.id);
    return false;
  }
  if (next->from_start) text.cache.clear();
  text.unread = next->ids;
  return true;
}

// Of what is unread of a prompt. Where the rotation depends on the text's length, all of it.
std::size_t GeneratorBatch::chunk_size(const Text& text) const {
  const std::int64_t most = options_.prompt_tokens, wanted = std::ssize(text.unread),
                     held = text.cache.length();
  if (wanted < most + kFewestInChunk) return text.unread.size();
  const bool whole = model_.transformer().description().rotation_changes(held + most, held + wanted);
  return static_cast<std::size_t>(whole ? wanted : most);
}

void GeneratorBatch::read(const std::vector<Chunk>& chunks) {
  std::vector<NextTokens> next;
  for (const Chunk& chunk : chunks) next.push_back({.ids = chunk.ids, .cache = &chunk.text->cache});
  std::vector<std::int64_t> before;
  for (const Chunk& chunk : chunks) before.push_back(chunk.text->cache.length());
  const Tensor hidden = model_.transformer().read(next);

  // The texts of which all is read, and what leaves the model for their last token.
  std::vector<Text*> writing;
  std::vector<std::int64_t> last_rows;
  std::int64_t row = 0;
  for (const Chunk& chunk : chunks) {
    row += std::ssize(chunk.ids);
    if (chunk.ids.size() < chunk.text->unread.size()) continue;
    writing.push_back(chunk.text);
    last_rows.push_back(row - 1);
  }
  std::vector<GeneratedToken> tokens(writing.size());
  std::vector<std::exception_ptr> failures(writing.size());
  try {
    if (!writing.empty()) {
      Tensor last(DType::f32, {std::ssize(writing), hidden.size(1)});
      for (std::int64_t i = 0; i < last.size(0); ++i) {
        const std::int64_t from = last_rows[static_cast<std::size_t>(i)];
        copy(hidden.view().slice(0, from, from + 1), last.view().slice(0, i, i + 1));
      }
      const Tensor logits = output_.next_logits(last);
      detail::parallel_for(std::ssize(writing), [&](std::int64_t i, int) noexcept {
        const auto at = static_cast<std::size_t>(i);
        try {
          tokens[at] = writing[at]->progress.draw(logits.view().select(0, i));
        } catch (...) {
          failures[at] = std::current_exception();
        }
      });
    }
  } catch (...) {  // an interruption: nothing is read
    for (std::size_t i = 0; i < chunks.size(); ++i) chunks[i].text->cache.truncate(before[i]);
    throw;
  }
  for (const Chunk& chunk : chunks) chunk.text->unread = chunk.text->unread.subspan(chunk.ids.size());
  for (std::size_t i = 0; i < writing.size(); ++i) {
    const Id id = writing[i]->id;
    try {
      if (failures[i]) std::rethrow_exception(failures[i]);
      writing[i]->progress.take(std::move(tokens[i]));
    } catch (...) {
      remove(id);
      ended_.push_back({.id = id, .failure = std::current_exception()});
    }
  }
}

void GeneratorBatch::end(Id id) {
  const auto text = std::find_if(texts_.begin(), texts_.end(), [&](const Text& one) { return one.id == id; });
  ended_.push_back({.id = id});
  try {
    model_.require_intact();
    keep(*text);
    ended_.back().written = std::move(text->progress).finished();
  } catch (...) {
    ended_.back().failure = std::current_exception();
  }
  texts_.erase(text);
}

std::vector<Generated> generate_together(const Generator& generator,
                                         std::span<const std::vector<std::int32_t>> prompts,
                                         const GenerateOptions& options, const TogetherOptions& together) {
  if (options.on_token) refuse(kBatchOperation, "on_token is for one text and not for several at once");
  if (together.at_once < 1) refuse(kBatchOperation, "at_once is ", together.at_once, ", expected 1 or more");
  GeneratorBatch batch(generator);
  std::vector<Generated> all(prompts.size());
  std::map<GeneratorBatch::Id, std::size_t> places;
  std::size_t next = 0;
  while (next < prompts.size() || batch.size() > 0) {
    for (; next < prompts.size() && batch.size() < together.at_once; ++next)
      places.emplace(batch.add(prompts[next], options, together.ends_without_room), next);
    for (GeneratorBatch::Ended& ended : batch.step()) {
      if (ended.failure) std::rethrow_exception(ended.failure);
      all[places.at(ended.id)] = std::move(ended.written);
    }
  }
  return all;
}

}  // namespace attend
