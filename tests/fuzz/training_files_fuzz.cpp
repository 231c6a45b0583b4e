// Any bytes as what `attend train` is given, by the first of them: pairs with tabs between them, pairs as
// JSON, metrics, a configuration. What is read makes sense, what is not is refused in one sentence or left
// out.
#include <cmath>
#include <string>

#include "fuzz/file_text.h"
#include "learn/config.h"
#include "learn/metrics_file.h"
#include "learn/pair_file.h"

namespace {

void read_pairs(const std::uint8_t* data, std::size_t size, const char* name) {
  using namespace attend;
  parse_or_refuse([&] {
    const io::FileText text = file_text(data, size);
    const learn::PairFile file = learn::parse_pairs({text.span().data(), text.span().size()}, name, 5);
    require(!file.pairs.empty());
    for (const learn::SentencePair& pair : file.pairs)
      require(!pair.first.empty() && !pair.second.empty() && std::abs(pair.score) <= 1 && pair.line > 0);
  });
}

void read_config(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  parse_or_refuse([&] {
    const learn::Config config =
        learn::parse_config(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
    const std::string text = learn::to_json(config);
    require(learn::to_json(learn::parse_config(text, "fuzz")) == text);
    try {
      learn::check(config);
    } catch (const learn::ConfigError& error) {
      require(!error.key.empty() && error.what()[0] != 0);
    }
  });
}

// What is kept is read again as the same.
void read_metrics(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  constexpr std::int64_t kLast = 1000;
  const learn::Metrics found = learn::parse_metrics({reinterpret_cast<const char*>(data), size}, kLast);
  std::int64_t before = -1;
  for (const auto& [step, loss] : found.losses) {
    require(step > before && step <= kLast);
    before = step;
  }
  const learn::Metrics again = learn::parse_metrics(found.text, kLast);
  require(again.text == found.text && again.losses == found.losses &&
          again.evaluations.size() == found.evaluations.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  switch (data[0]) {
    case 't':
      read_pairs(data + 1, size - 1, "fuzz.tsv");
      break;
    case 'j':
      read_pairs(data + 1, size - 1, "fuzz.jsonl");
      break;
    case 'm':
      read_metrics(data + 1, size - 1);
      break;
    default:
      read_config(data + 1, size - 1);
  }
  return 0;
}
