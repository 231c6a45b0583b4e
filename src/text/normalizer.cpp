#include "text/normalizer.h"
#include "text/step_name.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "text/pattern.h"
#include "text/unicode.h"

namespace attend::text {
namespace {

// Rewrites one character at a time: `rewrite(c, span, out)` appends what becomes of it.
template <class Rewrite>
class EachCharacter final : public Normalizer {
 public:
  explicit EachCharacter(Rewrite rewrite) : rewrite_(rewrite) {}

  void apply(AlignedText& text, AlignedText& scratch, Allowance&) const override {
    scratch.clear();
    for (std::size_t i = 0; i < text.size();) {
      const TextSpan span = text.spans[i];
      rewrite_(io::next_char(text.bytes, i), span, scratch);
    }
    text.swap(scratch);
  }

 private:
  Rewrite rewrite_;
};

void lower(char32_t c, TextSpan span, AlignedText& out) {
  char32_t characters[2];
  const int count = lower_case(c, characters);
  for (int i = 0; i < count; ++i) out.append(characters[i], span);
}

void strip_accent(char32_t c, TextSpan span, AlignedText& out) {
  if (!is(c, kMark)) out.append(c, span);
}

// What sentencepiece's nmt rules do besides their table.
void nmt(char32_t c, TextSpan span, AlignedText& out) {
  const bool removed =
      (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  if (removed) return;
  const bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                     (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                     c == 0xFEFF || c == 0xFFFD;
  out.append(space ? U' ' : c, span);
}

template <class Rewrite>
std::unique_ptr<const Normalizer> each_character(Rewrite rewrite) {
  return std::make_unique<EachCharacter<Rewrite>>(rewrite);
}

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  void apply(AlignedText& text, AlignedText& scratch, Allowance&) const override {
    std::size_t begin = 0, end = text.size();
    while (left_ && begin < end) {
      std::size_t next = begin;
      if (!is(io::next_char(text.bytes, next), kWhite)) break;
      begin = next;
    }
    while (right_ && begin < end) {
      std::size_t last = end;
      if (!is(io::previous_char(text.bytes, last), kWhite)) break;
      end = last;
    }
    scratch.clear();
    scratch.append(text, begin, end);
    text.swap(scratch);
  }

 private:
  bool left_, right_;
};

class Prepend final : public Normalizer {
 public:
  Prepend(const io::JsonValue& where, std::string_view prefix) : name_(step_name(where)), prefix_(prefix) {}

  void apply(AlignedText& text, AlignedText& scratch, Allowance& allowance) const override {
    if (text.empty()) return;
    allowance.require_room(prefix_.size() + text.size(), name_);
    scratch.clear();
    scratch.append(prefix_, text.spans[0]);
    scratch.append(text, 0, text.size());
    text.swap(scratch);
  }

 private:
  std::string name_, prefix_;
};

class Replace final : public Normalizer {
 public:
  Replace(const io::JsonValue& where, std::unique_ptr<const Pattern> pattern, std::string_view content)
      : name_(step_name(where)), pattern_(std::move(pattern)), content_(content) {}

  void apply(AlignedText& text, AlignedText& scratch, Allowance& allowance) const override {
    if (text.empty()) return;  // an expression may match nothing, but is not asked
    std::vector<Match> matches;
    pattern_->find(text.bytes, 0, text.size(), matches, allowance);
    if (matches.empty()) return;
    // Replacements within replacements can double a text twenty times over.
    allowance.require_room(replaced_size(text.size(), matches, content_.size()), name_);
    scratch.clear();
    std::size_t copied = 0;
    for (const Match& match : matches) {
      scratch.append(text, copied, match.begin);
      scratch.append(content_, match.end == 0 ? TextSpan{} : text.spans[match.end - 1]);
      copied = match.end;
    }
    scratch.append(text, copied, text.size());
    text.swap(scratch);
  }

 private:
  std::string name_;
  std::unique_ptr<const Pattern> pattern_;
  std::string content_;
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<const Normalizer>> steps)
      : steps_(std::move(steps)) {}
  void apply(AlignedText& text, AlignedText& scratch, Allowance& allowance) const override {
    for (const auto& step : steps_) {
      step->apply(text, scratch, allowance);
      allowance.require_room(text.size(), "the normalizer");
      allowance.require_time("the normalizer");
    }
  }

 private:
  std::vector<std::unique_ptr<const Normalizer>> steps_;
};

std::unique_ptr<const Normalizer> read_normalizers(const io::JsonValue& sequence) {
  sequence.only_keys({"type", "normalizers"});
  std::vector<std::unique_ptr<const Normalizer>> steps;
  for (const io::JsonValue step : sequence.at("normalizers").elements(kMostSteps))
    steps.push_back(read_normalizer(step));
  return std::make_unique<NormalizerSequence>(std::move(steps));
}

}  // namespace

std::unique_ptr<const Normalizer> read_normalizer(const io::JsonValue& normalizer) {
  const std::string_view type = normalizer.type();
  if (type == "Sequence") return read_normalizers(normalizer);
  if (type == "BertNormalizer") return read_bert_normalizer(normalizer);
  if (type == "Precompiled") return read_precompiled(normalizer);
  if (type == "Strip") {
    normalizer.only_keys({"type", "strip_left", "strip_right"});
    return std::make_unique<Strip>(normalizer.at("strip_left").boolean(),
                                   normalizer.at("strip_right").boolean());
  }
  if (type == "Prepend") {
    return std::make_unique<Prepend>(normalizer,
                                     normalizer.only_keys({"type", "prepend"}).at("prepend").string());
  }
  if (type == "Replace") {
    normalizer.only_keys({"type", "pattern", "content"});
    return std::make_unique<Replace>(normalizer, read_pattern(normalizer.at("pattern")),
                                     normalizer.at("content").string());
  }
  if (normalizer.is_bare("NFC")) return make_normal_form(false, true);
  if (normalizer.is_bare("NFD")) return make_normal_form(false, false);
  if (normalizer.is_bare("NFKC")) return make_normal_form(true, true);
  if (normalizer.is_bare("NFKD")) return make_normal_form(true, false);
  if (normalizer.is_bare("Lowercase")) return each_character(lower);
  if (normalizer.is_bare("StripAccents")) return each_character(strip_accent);
  if (normalizer.is_bare("Nmt")) return each_character(nmt);
  normalizer.fail("the normalizer ", io::quoted(type), " is not supported");
}

}  // namespace attend::text
