// text: a causal language model of a file, or of the files of a folder, by bytes or by a tokenizer.
#include <attend/file_error.h>
#include <attend/tokenizer.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "checkpoint/open_file.h"
#include "learn/task.h"

namespace attend::learn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of one file

std::string contents(const fs::path& file) {
  const checkpoint::FileText text = checkpoint::read_text(checkpoint::InputFile(file), kMostBytes);
  return {text.span().begin(), text.span().end()};
}

// All files of a folder, in the order of their names, each followed by a line end.
std::string read_corpus(const std::string& place) {
  if (place.empty()) throw ConfigError("data.file", "is missing: which text is to be learned?");
  std::error_code error;
  if (!fs::is_directory(place, error)) return contents(place);
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(place, error)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  if (error) throw FileError(place, "", "cannot be read: " + error.message());
  std::sort(files.begin(), files.end());
  std::string all;
  for (const fs::path& file : files) all += contents(file) + "\n";
  return all;
}

class Text : public Task {
 public:
  explicit Text(const Config& config) : config_(config) {
    const std::string corpus = read_corpus(config.file);
    if (config.tokenizer.empty()) {
      vocabulary_ = 256;
      tokenizer_ = byte_tokenizer();
      ids_.reserve(corpus.size());
      for (const char c : corpus) ids_.push_back(static_cast<unsigned char>(c));
    } else {
      const Tokenizer tokenizer = Tokenizer::load(config.tokenizer);
      vocabulary_ = tokenizer.vocabulary_size();
      tokenizer_ = contents(config.tokenizer);
      ids_ = tokenizer.encode(corpus, {.add_special_tokens = false, .truncate = false}).ids;
    }
    const auto size = static_cast<std::int64_t>(ids_.size());
    const auto held = static_cast<std::int64_t>(static_cast<double>(size) * config.validation);
    split_ = size - held;
    // A window, and what follows its last token, in each part.
    const std::int64_t least = config.length + 1;
    if (split_ < least || held < least) {
      throw FileError(config.file, "",
                      joined("has ", size, " tokens, which leaves ", split_, " to learn from and ", held,
                             " to try it on; each must be ", least, " or more"));
    }
  }

  void shape(train::ModelShape& model) const override {
    model.kind = train::ModelKind::decoder;
    model.vocabulary = vocabulary_;
    model.length = config_.length;
  }

  train::Batch batch(std::uint64_t number) const override {
    const std::uint64_t seed = random_bits(random_bits(static_cast<std::uint64_t>(config_.seed), 3), number);
    train::Batch batch{.tokens = {.count = config_.batch, .length = config_.length}};
    for (std::int64_t s = 0; s < config_.batch; ++s) {
      const auto places = static_cast<std::uint64_t>(split_ - config_.length);
      add_window(static_cast<std::int64_t>(random_bits(seed, static_cast<std::uint64_t>(s)) % places), batch);
    }
    return batch;
  }

  // Windows side by side, evenly spread where there are too many.
  std::vector<train::Batch> validation() const override {
    constexpr std::int64_t kMost = 64;
    const std::int64_t all = (static_cast<std::int64_t>(ids_.size()) - split_ - 1) / config_.length;
    const std::int64_t used = std::min(all, kMost);
    std::vector<train::Batch> list;
    for (std::int64_t w = 0; w < used; ++w) {
      if (w % config_.batch == 0) list.push_back({.tokens = {.count = 0, .length = config_.length}});
      add_window(split_ + all * w / used * config_.length, list.back());
      ++list.back().tokens.count;
    }
    return list;
  }

  std::string tokenizer_json() const override { return tokenizer_; }

 private:
  void add_window(std::int64_t first, train::Batch& batch) const {
    const auto from = ids_.begin() + first;
    batch.tokens.ids.insert(batch.tokens.ids.end(), from, from + config_.length);
    batch.targets.insert(batch.targets.end(), from + 1, from + config_.length + 1);
  }

  Config config_;
  std::int64_t vocabulary_ = 0, split_ = 0;
  std::string tokenizer_;
  std::vector<std::int32_t> ids_;
};

}  // namespace

std::unique_ptr<Task> make_text(const Config& config) { return std::make_unique<Text>(config); }

}  // namespace attend::learn
