// Decoding one token at a time.
#include <attend/tokenizer.h>

#include <algorithm>
#include <span>

namespace attend {
namespace {

constexpr std::string_view kUnfinished = "\uFFFD";  // what bytes of half a character decode to

// How many tokens are kept when the start is forgotten, and how many there are when it is tried. What a
// decoder does to a token depends on whether it is the first and on its neighbours.
constexpr std::size_t kKeptTokens = 8, kTriedTokens = 40;

// "<0x41>": byte fallback decodes a run of them together, and a byte too many makes all of it unreadable.
bool is_byte_token(std::string_view token) {
  const auto is_hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
  };
  return token.size() == 6 && token.starts_with("<0x") && token.ends_with('>') && is_hex(token[3]) &&
         is_hex(token[4]);
}

}  // namespace

// Up to the run of bytes that is still open, and without a character that is not whole.
std::size_t StreamingDecoder::certain_end(std::string_view text) const {
  std::size_t before_run = window_.size();
  for (std::size_t i = window_.size(); i-- > 0;) {
    if (is_byte_token(tokenizer_.token(window_[i]))) {
      before_run = i;
    } else if (!(skip_special_ && tokenizer_.is_special(window_[i]))) {
      break;
    }
  }
  if (before_run < window_.size()) {
    const std::string before = tokenizer_.decode(std::span(window_).first(before_run), skip_special_);
    text = text.substr(0, std::min(text.size(), before.size()));
  }
  while (text.ends_with(kUnfinished)) text.remove_suffix(kUnfinished.size());
  return text.size();
}

std::string StreamingDecoder::add(std::int32_t id) {
  window_.push_back(id);
  const std::string text = tokenizer_.decode(window_, skip_special_);
  const std::size_t end = certain_end(text);
  if (end <= given_) return {};
  std::string piece = text.substr(given_, end - given_);
  given_ = end;
  if (window_.size() > kTriedTokens && given_ == text.size()) forget_the_start(text);
  return piece;
}

// Only where the last tokens alone decode to the end of the same text: then so will what is added to them.
void StreamingDecoder::forget_the_start(std::string_view text) {
  const auto kept = std::span(window_).last(kKeptTokens);
  const std::string end = tokenizer_.decode(kept, skip_special_);
  if (end.empty() || !text.ends_with(end)) return;
  window_ = std::vector<std::int32_t>(kept.begin(), kept.end());
  given_ = end.size();
}

std::string StreamingDecoder::finish() {
  const std::string text = tokenizer_.decode(window_, skip_special_);
  std::string piece = text.size() > given_ ? text.substr(given_) : std::string();
  window_.clear();
  given_ = 0;
  return piece;
}

}  // namespace attend
