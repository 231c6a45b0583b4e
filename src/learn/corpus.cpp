#include "learn/corpus.h"

#include <attend/file_error.h>
#include <attend/tokenizer.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "io/open_file.h"
#include "learn/task.h"

namespace attend::learn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCorpusBytes = std::size_t{1} << 30,
                      kMostCorpusFiles = std::size_t{1} << 20;  // of a corpus

std::string contents(const fs::path& file) {
  const io::FileText text = io::read_text(io::InputFile(file), kMostCorpusBytes);
  return {text.span().begin(), text.span().end()};
}

// In the order of their names. Anything that is not a file is left out; a folder that cannot be read is an
// error.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::path place = folder;  // the last that was seen
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    place = at->path();
    std::error_code unknown;  // a dangling link, or a file that has just been removed
    if (!at->is_regular_file(unknown)) continue;
    files.push_back(place);
    if (files.size() > kMostCorpusFiles)
      throw FileError(folder.string(), "", joined("has more than ", kMostCorpusFiles, " files"));
  }
  if (error) throw FileError(place.string(), "", "cannot be read: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

// A file; or all those of a folder, each followed by a line end.
std::string read_corpus(const std::string& place) {
  if (place.empty()) throw ConfigError("data.file", "is missing: which text should the model learn?");
  std::error_code error;
  if (!fs::is_directory(place, error)) return contents(place);
  std::string all;
  for (const fs::path& file : files_in(place)) {
    all += contents(file) + "\n";
    if (all.size() > kMostCorpusBytes) {
      throw FileError(place, "", joined("its files have more than ", kMostCorpusBytes, " bytes in total"));
    }
  }
  return all;
}

}  // namespace

Corpus::Corpus(const Config& config, bool masks) : length_(config.length), batch_(config.batch) {
  const std::string text = read_corpus(config.file);
  if (config.tokenizer.empty()) {
    vocabulary_ = masks ? 257 : 256;
    if (masks) mask_ = 256;
    tokenizer_ = byte_tokenizer(masks);
    ids_.reserve(text.size());
    for (const char c : text) ids_.push_back(static_cast<unsigned char>(c));
  } else {
    const Tokenizer tokenizer = Tokenizer::load(config.tokenizer);
    vocabulary_ = tokenizer.vocabulary_size();
    tokenizer_ = contents(config.tokenizer);
    for (const char* const name : {"[MASK]", "<mask>"}) {
      if (mask_ < 0) mask_ = tokenizer.id(name).value_or(-1);
    }
    if (masks && mask_ < 0) {
      throw FileError(config.tokenizer, "", "has neither [MASK] nor <mask> to put in place of hidden tokens");
    }
    ids_ = tokenizer.encode(text, {.add_special_tokens = false, .truncate = false}).ids;
  }
  const auto size = static_cast<std::int64_t>(ids_.size());
  const auto held = static_cast<std::int64_t>(static_cast<double>(size) * config.validation);
  split_ = size - held;
  // A window, and what follows its last token, in each part.
  const std::int64_t least = length_ + 1;
  if (split_ < least || held < least) {
    throw FileError(config.file, "",
                    joined("has ", size, " tokens, which leaves ", split_, " to learn from and ", held,
                           " to validate on; each must be ", least, " or more"));
  }
}

void Corpus::add_window(std::int64_t first, train::Batch& batch) const {
  const auto from = ids_.begin() + first;
  batch.tokens.ids.insert(batch.tokens.ids.end(), from, from + length_);
  batch.targets.insert(batch.targets.end(), from + 1, from + length_ + 1);
}

train::Batch Corpus::window_batch(std::uint64_t seed, std::uint64_t number) const {
  const std::uint64_t own = random_bits(seed, number), places = static_cast<std::uint64_t>(split_ - length_);
  train::Batch batch{.tokens = {.count = batch_, .length = length_}};
  for (std::int64_t s = 0; s < batch_; ++s) {
    add_window(static_cast<std::int64_t>(random_bits(own, static_cast<std::uint64_t>(s)) % places), batch);
  }
  return batch;
}

std::vector<train::Batch> Corpus::held_out() const {
  constexpr std::int64_t kMost = 64;
  const std::int64_t all = (static_cast<std::int64_t>(ids_.size()) - split_ - 1) / length_;
  const std::int64_t used = std::min(all, kMost);
  std::vector<train::Batch> list;
  for (std::int64_t w = 0; w < used; ++w) {
    if (w % batch_ == 0) list.push_back({.tokens = {.count = 0, .length = length_}});
    add_window(split_ + all * w / used * length_, list.back());
    ++list.back().tokens.count;
  }
  return list;
}

}  // namespace attend::learn
