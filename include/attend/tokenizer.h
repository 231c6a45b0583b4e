// Text to token ids, with the characters that each token came from, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend {

struct ModelFiles;

// Characters begin .. end-1 of the text that was given, counted in code points. Bytes that are not UTF-8
// count as Python's bytes.decode(errors="replace") counts them: one U+FFFD for each.
struct TextSpan {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

// The tokens of one text, or of a pair of texts one after the other. Five lists of the same length.
struct Encoding {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> type_ids;
  std::vector<TextSpan> offsets;      // {0, 0} for special tokens
  std::vector<std::int32_t> words;    // which piece of its text a token belongs to; -1 for special tokens
  std::vector<std::uint8_t> special;  // 1 for what was added around the text, such as [CLS]
  std::int64_t dropped = 0;           // how many tokens truncation left out

  std::size_t size() const noexcept { return ids.size(); }
};

struct EncodeOptions {
  bool add_special_tokens = true;
  bool truncate = true;  // false: keep every token
  // Special tokens included. Empty: as the file says, which may be no limit.
  std::optional<std::int64_t> max_length = std::nullopt;
  // The whole text to lower case before anything else, as Python's str.lower() does it. Offsets are those of
  // the text that was given.
  bool lower_case = false;
  // Ranges of bytes, begin .. end - 1 in their order, that hold no special token: what looks like one there
  // is ordinary text. For text that somebody else wrote (RenderedChat::given). Not together with lower_case.
  std::span<const std::pair<std::size_t, std::size_t>> plain{};
};

// A tokenizer as Hugging Face's tokenizer.json describes it, or as a GGUF file carries it. Answers equal
// those of the `tokenizers` package (docs/text.md), except that nothing is ever padded: the file's section
// `padding` is checked and left unused.
//
// Const and safe to use from several threads at once. Copies share the tables, so they are cheap.
class Tokenizer {
 public:
  // A tokenizer.json, a BERT vocab.txt, a GGUF file, or a folder that holds one of the first two (the first
  // is preferred). Anything in the file that is not supported is refused by name: FileError names the file,
  // the place in it and the rule.
  static Tokenizer load(const std::filesystem::path& path);
  static Tokenizer load(const ModelFiles& files);  // of a model, from the files that are open already
  static Tokenizer from_json(std::string_view json, const std::string& name = "tokenizer.json");

  // std::invalid_argument for a text of a gibibyte or more, for a max_length below the number of special
  // tokens, and where the file truncates only one text of a pair and that one is too short.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode(std::string_view first, std::string_view second, const EncodeOptions& options = {}) const;

  // The text of these tokens as far as the file's decoder can restore it. Refuses ids that no token has.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special = true) const;

  std::string_view algorithm() const noexcept;    // "WordPiece", "BPE" or "Unigram"
  std::int64_t vocabulary_size() const noexcept;  // the largest id, added tokens included, plus one
  std::string_view token(std::int64_t id) const;  // empty for an id that no token has
  std::optional<std::int32_t> id(std::string_view token) const;
  // The token that stands for text which the vocabulary does not have, such as [UNK]. Most tokenizers whose
  // tokens are made of bytes have none: they can write any text.
  std::optional<std::int32_t> unknown() const noexcept;
  bool is_special(std::int64_t id) const;                        // left out by decode(skip_special)
  std::optional<std::int64_t> max_length() const noexcept;       // where the file truncates
  std::int64_t special_count(bool pair = false) const noexcept;  // how many tokens are added around the text

  struct Parts;  // of src/text

 private:
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

// decode() one token at a time: the pieces, put together, are what decode() makes of all tokens. A piece is
// given when nothing that may follow can change it, so it is always whole characters.
class StreamingDecoder {
 public:
  explicit StreamingDecoder(Tokenizer tokenizer, bool skip_special = true)
      : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

  std::string add(std::int32_t id);  // what became certain with this token; often it is empty
  std::string finish();              // the rest; the next token begins a new text

 private:
  std::size_t certain_end(std::string_view text) const;
  void forget_the_start(std::string_view text);

  Tokenizer tokenizer_;
  bool skip_special_;
  std::vector<std::int32_t> window_;  // the last tokens, as far back as decoding may look
  std::size_t given_ = 0;             // how much of their text was given out
};

}  // namespace attend
