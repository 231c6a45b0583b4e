#include "text/pre_tokenizer.h"
#include "text/step_name.h"

#include <array>

#include "text/pattern.h"
#include "text/split_behavior.h"
#include "text/unicode.h"

namespace attend::text {

SplitBehavior read_split_behavior(const io::JsonValue& behavior) {
  const std::string_view name = behavior.string();
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  behavior.fail(io::quoted(name),
                " is not one of Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
}

namespace {

// White space goes, every punctuation mark is a word.
class Bert final : public PreTokenizer {
 public:
  Bert() {
    for (char32_t c = 0; c < 128; ++c) ascii_[c] = kind_of(c);
  }

  void apply(Pieces& pieces) const override {
    const std::string_view text = pieces.text.bytes;
    cut_pieces(pieces, [&](std::size_t begin, std::size_t end, auto emit) {
      for (std::size_t at = begin; at < end;) {
        const std::size_t here = at;
        const auto byte = static_cast<unsigned char>(text[at]);
        const Kind kind = byte < 0x80 ? ascii_[byte] : kind_of(io::next_char(text, at));
        if (byte < 0x80) ++at;
        if (kind == kInside) continue;
        emit(begin, here);
        if (kind == kAlone) emit(here, at);
        begin = at;
      }
      emit(begin, end);
    });
  }

 private:
  enum Kind : std::uint8_t { kInside, kBetween, kAlone };
  static Kind kind_of(char32_t c) {
    const unsigned flags = char_flags(c);
    return flags & kWhite ? kBetween : flags & kPunctuation ? kAlone : kInside;
  }
  std::array<Kind, 128> ascii_;
};

// Splits at every character of a kind.
class CharacterSplit final : public PreTokenizer {
 public:
  CharacterSplit(unsigned flags, SplitBehavior behavior) : flags_(flags), behavior_(behavior) {}

  void apply(Pieces& pieces) const override {
    const std::string_view text = pieces.text.bytes;
    std::vector<Stretch> stretches;
    cut_pieces(pieces, [&](std::size_t begin, std::size_t end, auto emit) {
      stretches.clear();
      for (std::size_t at = begin; at < end;) {
        const std::size_t here = at;
        if (!is(io::next_char(text, at), flags_)) continue;
        if (begin < here) stretches.push_back({begin, here, false});
        stretches.push_back({here, at, true});
        begin = at;
      }
      if (begin < end) stretches.push_back({begin, end, false});
      split(stretches, behavior_, emit);
    });
  }

 private:
  unsigned flags_;
  SplitBehavior behavior_;
};

// \w+|[^\w\s]+
class Whitespace final : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    const std::string_view text = pieces.text.bytes;
    cut_pieces(pieces, [&](std::size_t begin, std::size_t end, auto emit) {
      int kind = 0;
      for (std::size_t at = begin; at < end;) {
        const std::size_t here = at;
        const int next = kind_of(io::next_char(text, at));
        if (next == kind) continue;
        if (kind != 0) emit(begin, here);
        begin = here;
        kind = next;
      }
      if (kind != 0) emit(begin, end);
    });
  }

 private:
  static int kind_of(char32_t c) {
    const unsigned flags = char_flags(c);
    return flags & kWord ? 1 : flags & kWhite ? 0 : 2;
  }
};

class PatternSplit final : public PreTokenizer {
 public:
  PatternSplit(std::unique_ptr<const Pattern> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& pieces) const override {
    std::vector<Match> matches;
    std::vector<Stretch> stretches;
    cut_pieces(pieces, [&](std::size_t begin, std::size_t end, auto emit) {
      matches.clear();
      stretches.clear();
      pattern_->find(pieces.text.bytes, begin, end, matches, *pieces.allowance);
      for (const Match& match : matches) {
        if (begin < match.begin) stretches.push_back({begin, match.begin, invert_});
        stretches.push_back({match.begin, match.end, !invert_});
        begin = match.end;
      }
      if (begin < end) stretches.push_back({begin, end, invert_});
      split(stretches, behavior_, emit);
    });
  }

 private:
  std::unique_ptr<const Pattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<const PreTokenizer>> steps)
      : steps_(std::move(steps)) {}
  void apply(Pieces& pieces) const override {
    for (const auto& step : steps_) {
      step->apply(pieces);
      pieces.allowance->require_time("the pre-tokenizer");
    }
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> steps_;
};

std::unique_ptr<const PreTokenizer> read_pre_tokenizers(const io::JsonValue& sequence) {
  sequence.only_keys({"type", "pretokenizers"});
  std::vector<std::unique_ptr<const PreTokenizer>> steps;
  for (const io::JsonValue step : sequence.at("pretokenizers").elements(kMostSteps))
    steps.push_back(read_pre_tokenizer(step));
  return std::make_unique<PreTokenizerSequence>(std::move(steps));
}

}  // namespace

std::unique_ptr<const PreTokenizer> make_bert_pre_tokenizer() { return std::make_unique<Bert>(); }

std::unique_ptr<const PreTokenizer> read_pre_tokenizer(const io::JsonValue& pre_tokenizer) {
  const std::string_view type = pre_tokenizer.type();
  if (type == "Sequence") return read_pre_tokenizers(pre_tokenizer);
  if (type == "ByteLevel") return read_byte_level(pre_tokenizer);
  if (type == "Metaspace") return read_metaspace(pre_tokenizer);
  if (type == "Split") {
    pre_tokenizer.only_keys({"type", "pattern", "behavior", "invert"});
    return std::make_unique<PatternSplit>(read_pattern(pre_tokenizer.at("pattern")),
                                          read_split_behavior(pre_tokenizer.at("behavior")),
                                          pre_tokenizer.at("invert").boolean());
  }
  if (type == "Punctuation") {
    const auto behavior = pre_tokenizer.only_keys({"type", "behavior"}).find("behavior");
    return std::make_unique<CharacterSplit>(
        kPunctuation, behavior ? read_split_behavior(*behavior) : SplitBehavior::isolated);
  }
  if (type == "Digits") {
    const bool each =
        pre_tokenizer.only_keys({"type", "individual_digits"}).at("individual_digits").boolean();
    return std::make_unique<CharacterSplit>(kNumeric,
                                            each ? SplitBehavior::isolated : SplitBehavior::contiguous);
  }
  if (pre_tokenizer.is_bare("BertPreTokenizer")) return make_bert_pre_tokenizer();
  if (pre_tokenizer.is_bare("Whitespace")) return std::make_unique<Whitespace>();
  if (pre_tokenizer.is_bare("WhitespaceSplit"))
    return std::make_unique<CharacterSplit>(kWhite, SplitBehavior::removed);
  pre_tokenizer.fail("the pre-tokenizer ", io::quoted(type), " is not supported");
}

}  // namespace attend::text
