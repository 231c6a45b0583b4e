#include "embed/embed_texts.h"

#include <attend/file_error.h>
#include <attend/words.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace attend::embed {
namespace {

constexpr std::size_t kLinesNamed = 5, kLongestKept = 200;

// The texts that go through the model together.
struct Batch {
  std::vector<std::string> texts;
  std::vector<std::int64_t> first_pieces{0};  // text i has pieces first_pieces[i] to first_pieces[i + 1] - 1
  std::vector<Encoding> pieces;
  std::vector<std::int32_t> first_characters;
  std::int64_t tokens = 0;
};

// The vector of a text in several pieces: their mean, weighted by the number of tokens.
class MeanOfPieces {
 public:
  explicit MeanOfPieces(std::int64_t size) : sum_(static_cast<std::size_t>(size)) {}

  void add(const float* vector, std::size_t tokens) {
    const auto count = static_cast<double>(tokens);
    for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j] += count * static_cast<double>(vector[j]);
    tokens_ += count;
  }

  Tensor mean(bool normalize) const {
    Tensor mean(DType::f32, {1, static_cast<std::int64_t>(sum_.size())});
    for (std::size_t j = 0; j < sum_.size(); ++j)
      mean.values<float>()[j] = static_cast<float>(sum_[j] / tokens_);
    if (normalize) normalize_rows(mean, mean);
    return mean;
  }

 private:
  std::vector<double> sum_;
  double tokens_ = 0;
};

class Run {
 public:
  Run(const TextModel& model, const Job& job, Sink& sink)
      : model_(model),
        job_(job),
        sink_(sink),
        max_tokens_(std::min(job.options.max_tokens.value_or(model.max_tokens()), model.most_tokens())) {
    if (job.grain != Grain::text) return;  // a prompt is for the vector of a whole text
    prompt_ = model.prompt_of(job.options);
  }

  // Returns false if the text is too long and that is an error.
  bool take(std::string text) {
    if (!prompt_.empty()) text.insert(0, prompt_);
    std::vector<TextPiece> pieces = pieces_of(model_, text, max_tokens_, job_.overflow);
    if (pieces.empty()) return false;
    too_long = pieces.size() > 1 || pieces[0].tokens.dropped > 0;
    unknown = std::ranges::all_of(pieces, [&](const TextPiece& piece) { return knows_none(piece.tokens); });
    for (TextPiece& piece : pieces) {
      batch_.tokens += static_cast<std::int64_t>(piece.tokens.size());
      batch_.pieces.push_back(std::move(piece.tokens));
      batch_.first_characters.push_back(piece.first_character);
    }
    batch_.first_pieces.push_back(static_cast<std::int64_t>(batch_.pieces.size()));
    batch_.texts.push_back(std::move(text));
    return true;
  }

  // A line of any length, read and embedded piece by piece.
  void take_divided(std::string text, TextLines& lines) {
    flush();
    EmbedOptions options = job_.options;
    options.normalize = false;
    batch_.texts.push_back(prompt_ + text);
    std::optional<MeanOfPieces> sum;
    for (bool first = true;; first = false) {
      if (first) text.insert(0, prompt_);
      std::vector<Encoding> pieces;
      for (TextPiece& piece : pieces_of(model_, text, max_tokens_, Overflow::split))
        pieces.push_back(std::move(piece.tokens));
      const Tensor vectors = embed(pieces, options);
      if (!sum) sum.emplace(vectors.size(1));
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        sum->add(vectors.values<float>().data() + static_cast<std::int64_t>(i) * vectors.size(1),
                 pieces[i].size());
        done.tokens += static_cast<std::int64_t>(pieces[i].size());
      }
      if (!lines.continues()) break;
      lines.more(text);
    }
    give(0, sum->mean(normalizes()));
    ++done.texts;
    batch_ = {};
    too_long = true;
    unknown = false;
  }

  void flush_if_full() {
    if (batch_.tokens >= job_.options.batch_tokens) flush();
  }

  void flush() {
    if (batch_.texts.empty()) return;
    job_.grain == Grain::text ? give_texts() : give_units();
    done.texts += static_cast<std::int64_t>(batch_.texts.size());
    done.tokens += batch_.tokens;
    batch_ = {};
  }

  std::int64_t most_tokens() const { return max_tokens_; }

  EmbedProgress done;
  bool too_long = false, unknown = false;  // the most recent text

 private:
  void give(std::size_t i, ConstTensorView vectors, std::vector<Unit> units = {}) {
    sink_.add({.index = done.texts + static_cast<std::int64_t>(i),
               .text = std::string_view(batch_.texts[i]).substr(prompt_.size()),
               .vectors = vectors,
               .units = std::move(units)});
  }

  Tensor embed(std::span<const Encoding> pieces, const EmbedOptions& options) const {
    return job_.embed ? job_.embed(pieces, options) : model_.embed(pieces, options);
  }

  // Whether every token of the text itself is the vocabulary's [UNK].
  bool knows_none(const Encoding& tokens) const {
    const std::optional<std::int32_t> unknown_id = model_.tokenizer().unknown();
    bool any = false;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens.special[i] != 0) continue;
      if (tokens.ids[i] != unknown_id) return false;
      any = true;
    }
    return any;
  }

  bool normalizes() const { return job_.options.normalize.value_or(model_.files().normalize); }

  void give_texts() {
    EmbedOptions options = job_.options;
    const bool divided = batch_.pieces.size() > batch_.texts.size();
    if (divided) options.normalize = false;
    const Tensor vectors = embed(batch_.pieces, options);
    if (!divided) {
      for (std::size_t i = 0; i < batch_.texts.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        give(i, vectors.view().slice(0, row, row + 1));
      }
      return;
    }
    for (std::size_t i = 0; i < batch_.texts.size(); ++i) {
      MeanOfPieces sum(vectors.size(1));
      for (std::int64_t piece = batch_.first_pieces[i]; piece < batch_.first_pieces[i + 1]; ++piece) {
        sum.add(vectors.values<float>().data() + piece * vectors.size(1),
                batch_.pieces[static_cast<std::size_t>(piece)].size());
      }
      give(i, sum.mean(normalizes()));
    }
  }

  void give_units() {
    TokenBatch tokens;
    for (const Encoding& piece : batch_.pieces) tokens.add(piece.ids, piece.type_ids);
    const Tensor hidden = model_.transformer().forward(tokens, {}, job_.options.layer);
    model_.require_intact();
    for (std::size_t i = 0; i < batch_.texts.size(); ++i) {
      const std::int64_t first = tokens.ends[static_cast<std::size_t>(batch_.first_pieces[i])];
      const std::int64_t last = tokens.ends[static_cast<std::size_t>(batch_.first_pieces[i + 1])];
      std::vector<Unit> units = tokens_of(i);
      Tensor rows = copy_of(hidden.view().slice(0, first, last));
      if (job_.grain == Grain::word) std::tie(rows, units) = merged(rows, units, batch_.texts[i]);
      if (job_.options.normalize.value_or(false)) normalize_rows(rows, rows);
      give(i, rows, std::move(units));
    }
  }

  std::vector<Unit> tokens_of(std::size_t text) const {
    std::vector<Unit> units;
    for (std::int64_t piece = batch_.first_pieces[text]; piece < batch_.first_pieces[text + 1]; ++piece) {
      const Encoding& tokens = batch_.pieces[static_cast<std::size_t>(piece)];
      const std::int32_t start = batch_.first_characters[static_cast<std::size_t>(piece)];
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        const TextSpan place = tokens.special[i] != 0
                                   ? TextSpan{}
                                   : TextSpan{tokens.offsets[i].begin + start, tokens.offsets[i].end + start};
        units.push_back({std::string(model_.tokenizer().token(tokens.ids[i])), place, tokens.ids[i],
                         tokens.special[i] != 0});
      }
    }
    return units;
  }

  // The mean of a word's tokens. Special tokens cover no characters, and so belong to no word.
  static std::pair<Tensor, std::vector<Unit>> merged(const Tensor& rows, const std::vector<Unit>& tokens,
                                                     const std::string& text) {
    std::vector<std::int64_t> places;  // of the tokens that are not special
    std::vector<TextSpan> spans;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].special) continue;
      places.push_back(static_cast<std::int64_t>(i));
      spans.push_back(tokens[i].place);
    }
    const std::vector<Word> words = words_of(text, spans);
    std::vector<Unit> units;
    const std::int64_t size = rows.size(1);
    Tensor means(DType::f32, {static_cast<std::int64_t>(words.size()), size});
    float* mean = means.values<float>().data();
    for (const Word& word : words) {
      units.push_back({word.text, word.place, -1});
      for (std::int64_t j = 0; j < size; ++j) {
        double sum = 0;
        for (std::int64_t t = word.first_token; t < word.last_token; ++t)
          sum += static_cast<double>(
              rows.values<float>()[static_cast<std::size_t>(places[static_cast<std::size_t>(t)] * size + j)]);
        *mean++ = static_cast<float>(sum / static_cast<double>(word.last_token - word.first_token));
      }
    }
    return {std::move(means), std::move(units)};
  }

  const TextModel& model_;
  const Job& job_;
  Sink& sink_;
  const std::int64_t max_tokens_;
  std::string prompt_;
  Batch batch_;
};

}  // namespace

Outcome embed_texts(const TextModel& model, TextLines& lines, const Job& job, Sink& sink,
                    const std::function<void(const EmbedProgress&)>& report) {
  Outcome outcome;
  Run run(model, job, sink);
  const auto fail = [&](const std::string& rule) {
    throw FileError(lines.name(), joined("line ", lines.line()), rule);
  };
  for (std::string text; lines.next(text);) {
    const bool endless = lines.continues();
    const std::string most = joined("has more than ", TextLines::kLongest >> 20, " MiB, ");
    if (endless && job.overflow == Overflow::error) fail(most + "the most that a text may have");
    if (endless && job.overflow == Overflow::split && job.grain != Grain::text)
      fail(most + "and the vectors of its tokens or words would have to be kept until its end");
    const std::string kept = text.substr(0, kLongestKept);
    try {
      if (endless && job.overflow == Overflow::split) {
        run.take_divided(std::move(text), lines);
      } else if (!run.take(std::move(text))) {
        fail(joined("has more than ", run.most_tokens(), " tokens"));
      }
    } catch (const std::invalid_argument& error) {  // the tokenizer refuses the text
      fail(plain_sentence(error));
    }
    if (run.unknown) {
      if (++outcome.unknown == 1) outcome.unknown_text = kept;
      if (outcome.unknown_lines.size() < kLinesNamed) outcome.unknown_lines.push_back(lines.line());
    }
    run.flush_if_full();
    outcome.over_long += endless ? 1 : 0;
    if (run.too_long || endless) {
      ++outcome.too_long;
      if (outcome.too_long_lines.size() < kLinesNamed) outcome.too_long_lines.push_back(lines.line());
    }
    report(run.done);
  }
  run.flush();
  report(run.done);
  outcome.done = run.done;
  return outcome;
}

}  // namespace attend::embed
