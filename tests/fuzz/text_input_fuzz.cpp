// Any bytes as what text is cut with and read from. The first byte chooses:
//   0 a regular expression, and after a zero the text that it looks through: matches that lie in the text
//   one
//     after another, FileError for the expression, or std::invalid_argument for the text;
//   1 a vocab.txt, and after a zero a text: tokens whose offsets hold;
//   2 a file of texts: the lines that a plain split gives.
#include <attend/file_error.h>
#include <attend/tokenizer.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "embed/text_lines.h"
#include "fuzz/file_text.h"
#include "io/utf8.h"
#include "text/parts.h"
#include "text/pattern.h"

namespace attend {
namespace {

// Refusals of a text begin so; whatever else is thrown ends the fuzzer.
template <class Action>
void take_or_refuse(Action action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    require(std::string_view(error.what()).starts_with("[tokenizer] "));
  }
}

void look_for(std::string_view expression, std::string_view given) {
  static const io::JsonDocument empty("fuzz", "{}");
  const std::string valid = io::repair_utf8(expression), text = io::repair_utf8(given);
  parse_or_refuse([&] {
    const auto pattern = text::compile_pattern(empty.root(), valid);
    take_or_refuse([&] {
      std::vector<text::Match> matches;
      text::Allowance allowance(text.size(), std::chrono::milliseconds(100));
      pattern->find(text, 0, text.size(), matches, allowance);
      std::size_t last = 0;
      for (const text::Match& match : matches) {
        require(match.begin >= last && match.end >= match.begin && match.end <= text.size());
        require(io::is_utf8(std::string_view(text).substr(match.begin, match.end - match.begin)));
        last = match.end;
      }
    });
  });
}

void tokenize(std::string_view vocabulary, std::string_view given) {
  parse_or_refuse([&] {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(vocabulary.data());
    const auto parts = text::read_bert_vocabulary(file_text(bytes, vocabulary.size()), std::nullopt);
    take_or_refuse([&] {
      const std::string text = io::repair_utf8(given);
      text::Allowance allowance(text.size());
      text::Pieces pieces;
      pieces.allowance = &allowance;
      parts->added.extract(text, parts->normalizer.get(), pieces);
      parts->pre_tokenizer->apply(pieces);
      for (const text::Piece& piece : pieces.pieces) {
        require(piece.begin < piece.end && piece.end <= pieces.text.size());
        if (piece.id >= 0) continue;
        std::vector<text::Token> tokens;
        parts->model->tokenize(
            std::string_view(pieces.text.bytes).substr(piece.begin, piece.end - piece.begin), tokens,
            allowance);
        for (const text::Token& token : tokens) {
          require(parts->model->vocabulary().has(token.id));
          require(token.begin < token.end && token.end <= piece.end - piece.begin);
        }
      }
    });
  });
}

void split_lines(std::string_view bytes) {
  const int file = ::memfd_create("fuzz", 0);
  require(file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ::lseek(file, 0, SEEK_SET);
  {
    embed::TextLines lines("/dev/fd/" + std::to_string(file), embed::LineForm::plain);
    std::string line;
    std::int64_t number = 0;
    for (std::string_view rest = bytes; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view expected = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (expected.ends_with('\r')) expected.remove_suffix(1);
      if (number++ == 0 && expected.starts_with("\xEF\xBB\xBF")) expected.remove_prefix(3);
      require(lines.next(line) && lines.line() == number && !lines.continues());
      require(line == io::repair_utf8(expected));
    }
    require(!lines.next(line) && lines.bytes_read() == bytes.size());
  }
  ::close(file);
}

}  // namespace
}  // namespace attend

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view first = input.substr(0, end), second = input.substr(std::min(end + 1, input.size()));
  switch (data[0] % 3) {
    case 0:
      look_for(first, second);
      break;
    case 1:
      tokenize(first, second);
      break;
    default:
      split_lines(input);
  }
  return 0;
}
