// Any bytes at all as a tokenizer.json and as a text: tokens whose ids and offsets hold, FileError for the
// file, or std::invalid_argument for the text.
//
// The first byte says which: 0 reads the rest up to a zero as the file and what follows as the text; others
// choose one of three small tokenizers and take the rest as text.
#include <attend/file_error.h>
#include <attend/tokenizer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "io/utf8.h"
#include "text/small_tokenizer.h"

namespace {

using attend::Encoding;
using attend::Tokenizer;

void require(bool condition) {
  if (!condition) __builtin_trap();
}

void require_sound(const Tokenizer& tokenizer, std::string_view text, const Encoding& encoding) {
  const auto size = static_cast<std::int32_t>(attend::io::count_chars(attend::io::repair_utf8(text)));
  const std::size_t count = encoding.size();
  require(encoding.type_ids.size() == count && encoding.offsets.size() == count &&
          encoding.words.size() == count && encoding.special.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    require(encoding.ids[i] >= 0 && encoding.ids[i] < tokenizer.vocabulary_size());
    const auto [begin, end] = encoding.offsets[i];
    require(begin >= 0 && begin <= end && end <= size);
    require((encoding.words[i] < 0) == (encoding.special[i] != 0));
  }
  require(attend::io::is_utf8(tokenizer.decode(encoding.ids, false)));
}

void use(const Tokenizer& tokenizer, std::string_view text) {
  try {
    require_sound(tokenizer, text, tokenizer.encode(text, {.truncate = false}));
    tokenizer.encode(text, text.substr(text.size() / 2));
  } catch (const std::invalid_argument& error) {
    require(std::string_view(error.what()).starts_with("[tokenizer] "));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tokenizer small[] = {Tokenizer::from_json(attend::test::kSmallWordPiece),
                                    Tokenizer::from_json(attend::test::kSmallBpe),
                                    Tokenizer::from_json(attend::test::kSmallUnigram)};
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] != 0) {
    use(small[data[0] % 3], input);
    return 0;
  }
  const std::size_t end = std::min(input.find('\0'), input.size());
  try {
    use(Tokenizer::from_json(input.substr(0, end), "fuzz.json"),
        input.substr(std::min(end + 1, input.size())));
  } catch (const attend::FileError& error) {
    const std::string_view sentence = error.what();
    require(sentence.starts_with("fuzz.json: "));
    require(std::none_of(sentence.begin(), sentence.end(),
                         [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
  }
  return 0;
}
