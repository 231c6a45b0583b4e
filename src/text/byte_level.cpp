// The byte-level pre-tokenizer of GPT-2: words by its expression, then every byte as a character.
#include <array>

#include "text/byte_alphabet.h"
#include "text/pattern.h"
#include "text/pre_tokenizer.h"

namespace attend::text {
namespace {

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex) {
    for (std::size_t b = 0; b < 256; ++b) {
      encoded_[b].size =
          static_cast<std::uint8_t>(io::put_char(kByteAlphabet.character[b], encoded_[b].bytes));
    }
  }

  void apply(Pieces& pieces) const override {
    if (add_prefix_space_) add_prefix_spaces(pieces);
    if (use_regex_) cut_words(pieces);
    rewrite_pieces(pieces, "the pre-tokenizer ByteLevel",
                   [&](std::size_t begin, std::size_t end, AlignedText& out) {
                     const AlignedText& text = pieces.text;
                     for (std::size_t i = begin; i < end; ++i) {
                       const Encoded& encoded = encoded_[static_cast<unsigned char>(text.bytes[i])];
                       out.bytes.append(encoded.bytes, encoded.size);
                       out.spans.push_back(text.spans[i]);
                       if (encoded.size == 2) out.spans.push_back(text.spans[i]);
                     }
                   });
  }

 private:
  struct Encoded {
    char bytes[4];
    std::uint8_t size;
  };

  static void add_prefix_spaces(Pieces& pieces) {
    rewrite_pieces(pieces, "the pre-tokenizer ByteLevel",
                   [&](std::size_t begin, std::size_t end, AlignedText& out) {
                     if (pieces.text.bytes[begin] != ' ') out.append(" ", pieces.text.spans[begin]);
                     out.append(pieces.text, begin, end);
                   });
  }

  static void cut_words(Pieces& pieces) {
    std::vector<Match> words;
    cut_pieces(pieces, [&](std::size_t begin, std::size_t end, auto emit) {
      words.clear();
      gpt2_pattern().find(pieces.text.bytes, begin, end, words,
                          *pieces.allowance);  // its matches cover everything
      for (const Match& word : words) emit(word.begin, word.end);
    });
  }

  bool add_prefix_space_, use_regex_;
  std::array<Encoded, 256> encoded_;
};

}  // namespace

std::unique_ptr<const PreTokenizer> read_byte_level(const io::JsonValue& pre_tokenizer) {
  pre_tokenizer.only_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  pre_tokenizer.boolean("trim_offsets", true);  // of the post-processor with the same name; here only checked
  return std::make_unique<ByteLevel>(pre_tokenizer.at("add_prefix_space").boolean(),
                                     pre_tokenizer.boolean("use_regex", true));
}

}  // namespace attend::text
