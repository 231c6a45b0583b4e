// BERT's normalizer: control characters go, white space becomes ' ', ideographs get a space on either side,
// accents go, capitals become small.
#include <array>

#include "text/normalizer.h"
#include "text/unicode.h"

namespace attend::text {
namespace {

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerOptions& options)
      : options_(options), decomposed_(make_normal_form(false, false)) {
    for (char32_t c = 0; c < 128; ++c) {
      const bool removed = options_.clean_text && is(c, kControl);
      char32_t kept = options_.clean_text && is(c, kWhite) ? U' ' : c;
      if (options_.lowercase && kept >= U'A' && kept <= U'Z') kept += U'a' - U'A';
      ascii_[c] = removed ? kRemoved : static_cast<std::uint8_t>(kept);
    }
  }

  void apply(AlignedText& text, AlignedText& scratch, Allowance& allowance) const override {
    if (!in_one_pass(text, scratch)) in_stages(text, scratch, allowance);
    text.swap(scratch);
  }

 private:
  static constexpr std::uint8_t kRemoved = 0xFF;

  // All at once, character by character. False where a mark stays in the text and may have to change places
  // with another, so that characters cannot be looked at one by one.
  bool in_one_pass(const AlignedText& text, AlignedText& out) const {
    out.bytes.clear();
    out.spans.clear();
    out.bytes.reserve(text.size());
    out.spans.reserve(text.size());
    std::vector<char32_t> parts;
    for (std::size_t i = 0; i < text.size();) {
      const TextSpan span = text.spans[i];
      const auto byte = static_cast<unsigned char>(text.bytes[i]);
      if (byte < 0x80) {
        ++i;
        if (ascii_[byte] == kRemoved) continue;
        out.bytes.push_back(static_cast<char>(ascii_[byte]));
        out.spans.push_back(span);
        continue;
      }
      const char32_t c = io::next_char(text.bytes, i);
      const unsigned flags = char_flags(c);
      if (options_.clean_text) {
        if (flags & kControl) continue;
        if (flags & kWhite) {
          out.append(U' ', span);
          continue;
        }
      }
      if (options_.strip_accents && (flags & kCombining) && !(flags & kNonspacing)) return false;
      const bool ideograph = options_.handle_chinese_chars && is_ideograph(c);
      if (ideograph) out.append(U' ', span);
      if (!options_.strip_accents) {
        append_lower(c, flags, span, out);
      } else if (!(flags & kDecomposes)) {
        if (!(flags & kNonspacing)) append_lower(c, flags, span, out);
      } else {
        parts.clear();
        decompose(c, false, parts);
        for (const char32_t part : parts) {
          const unsigned part_flags = char_flags(part);
          if ((part_flags & kCombining) && !(part_flags & kNonspacing)) return false;
          if (!(part_flags & kNonspacing)) append_lower(part, part_flags, span, out);
        }
      }
      if (ideograph) out.append(U' ', span);
    }
    return true;
  }

  void append_lower(char32_t c, unsigned flags, TextSpan span, AlignedText& out) const {
    if (!options_.lowercase || !(flags & kCasesLower)) {
      out.append(c, span);
      return;
    }
    char32_t lower[2];
    const int count = lower_case(c, lower);
    for (int i = 0; i < count; ++i) out.append(lower[i], span);
  }

  // Reads `text`, which it may overwrite, and leaves the result in `out`.
  void in_stages(AlignedText& text, AlignedText& out, Allowance& allowance) const {
    const auto each = [&](auto&& rewrite) {
      out.clear();
      for (std::size_t i = 0; i < text.size();) {
        const TextSpan span = text.spans[i];
        const char32_t c = io::next_char(text.bytes, i);
        rewrite(c, char_flags(c), span);
      }
      text.swap(out);
    };
    each([&](char32_t c, unsigned flags, TextSpan span) {
      if (options_.clean_text && (flags & kControl)) return;
      if (options_.clean_text && (flags & kWhite)) c = U' ';
      const bool ideograph = options_.handle_chinese_chars && is_ideograph(c);
      if (ideograph) out.append(U' ', span);
      out.append(c, span);
      if (ideograph) out.append(U' ', span);
    });
    if (options_.strip_accents) {
      decomposed_->apply(text, out, allowance);
      each([&](char32_t c, unsigned flags, TextSpan span) {
        if (!(flags & kNonspacing)) out.append(c, span);
      });
    }
    each([&](char32_t c, unsigned flags, TextSpan span) { append_lower(c, flags, span, out); });
    text.swap(out);
  }

  BertNormalizerOptions options_;
  std::unique_ptr<const Normalizer> decomposed_;
  std::array<std::uint8_t, 128> ascii_;
};

}  // namespace

std::unique_ptr<const Normalizer> make_bert_normalizer(const BertNormalizerOptions& options) {
  return std::make_unique<BertNormalizer>(options);
}

std::unique_ptr<const Normalizer> read_bert_normalizer(const io::JsonValue& normalizer) {
  normalizer.only_keys({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  BertNormalizerOptions options;
  options.clean_text = normalizer.at("clean_text").boolean();
  options.handle_chinese_chars = normalizer.at("handle_chinese_chars").boolean();
  options.lowercase = normalizer.at("lowercase").boolean();
  options.strip_accents = normalizer.boolean("strip_accents", options.lowercase);
  return make_bert_normalizer(options);
}

}  // namespace attend::text
