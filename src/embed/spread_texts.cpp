#include "embed/spread_texts.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace attend::embed {
namespace {

constexpr std::int64_t kNoMore = -1;

template <class T>
void tell(Processes& processes, std::vector<T> numbers) {
  const auto memory = std::make_shared<const std::vector<T>>(std::move(numbers));
  std::vector<Outgoing> outgoing;
  for (int other = 1; other < processes.count(); ++other)
    outgoing.push_back({other, std::as_bytes(std::span(*memory))});
  processes.start(outgoing, {}, memory)->wait();
}

template <class T>
std::vector<T> hear(Processes& processes, std::int64_t count) {
  const auto memory = std::make_shared<std::vector<T>>(static_cast<std::size_t>(count));
  const Incoming incoming[] = {{0, std::as_writable_bytes(std::span(*memory))}};
  processes.start({}, incoming, memory)->wait();
  return *memory;
}

}  // namespace

Tensor SpreadTexts::embed(std::span<const Encoding> texts, const EmbedOptions& options) {
  Tensor vectors(DType::f32, {std::ssize(texts), model_.embedding_size(options)});
  std::int64_t row = 0;
  for (const Encoding& text : texts) {
    tell(processes_, std::vector<std::int64_t>{std::ssize(text.ids)});
    tell(processes_, text.ids);
    const Tensor vector = spread_embed(processes_, way_, model_, text.ids, options);
    copy(vector, vectors.view().slice(0, row, row + 1));
    ++row;
  }
  return vectors;
}

void SpreadTexts::finish() { tell(processes_, std::vector<std::int64_t>{kNoMore}); }

void read_along(Processes& processes, SpreadWay way, const TextModel& model, const EmbedOptions& options) {
  while (true) {
    const std::int64_t count = hear<std::int64_t>(processes, 1).front();
    if (count == kNoMore) return;
    spread_embed(processes, way, model, hear<std::int32_t>(processes, count), options);
  }
}

}  // namespace attend::embed
