#include "text/decoder.h"
#include "text/step_name.h"

#include <utility>

#include "io/utf8.h"
#include "text/byte_alphabet.h"
#include "text/metaspace.h"
#include "text/pattern.h"

namespace attend::text {
namespace {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  std::size_t copied = 0;
  for (std::size_t at; (at = text.find(from, copied)) != std::string_view::npos; copied = at + from.size()) {
    result.append(text, copied, at - copied).append(to);
  }
  return result.append(text, copied);
}

std::string put_together(const std::vector<std::string>& tokens) {
  std::string whole;
  for (const std::string& token : tokens) whole += token;
  return whole;
}

class WordPieceDecoder final : public Decoder {
 public:
  WordPieceDecoder(std::string_view prefix, bool cleanup) : prefix_(prefix), cleanup_(cleanup) {}

  void apply(std::vector<std::string>& tokens, Allowance&) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i != 0) token = token.starts_with(prefix_) ? token.substr(prefix_.size()) : " " + token;
      if (cleanup_) clean(token);
    }
  }

 private:
  static void clean(std::string& token) {
    constexpr std::pair<std::string_view, std::string_view> kRules[] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : kRules) token = replaced(token, from, to);
  }

  std::string prefix_;
  bool cleanup_;
};

class ByteLevelDecoder final : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens, Allowance&) const override {
    std::string bytes;
    for (const std::string& token : tokens) append_bytes(token, bytes);
    tokens.assign(1, io::is_utf8(bytes) ? bytes : io::repair_utf8(bytes));
  }

 private:
  // A token with a character that stands for no byte is taken as it is.
  static void append_bytes(const std::string& token, std::string& bytes) {
    const std::size_t before = bytes.size();
    for (std::size_t i = 0; i < token.size();) {
      const char32_t c = io::next_char(token, i);
      if (c >= kByteAlphabet.byte.size() || kByteAlphabet.byte[c] < 0) {
        bytes.resize(before);
        bytes += token;
        return;
      }
      bytes.push_back(static_cast<char>(kByteAlphabet.byte[c]));
    }
  }
};

class MetaspaceDecoder final : public Decoder {
 public:
  explicit MetaspaceDecoder(const MetaspaceOptions& options)
      : drops_first_(options.prepend != PrependScheme::never) {
    io::append_char(replacement_, options.replacement);
  }
  void apply(std::vector<std::string>& tokens, Allowance&) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = replaced(tokens[i], replacement_, i == 0 && drops_first_ ? "" : " ");
    }
  }

 private:
  std::string replacement_;
  bool drops_first_;
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(std::string_view suffix) : suffix_(suffix) {}
  void apply(std::vector<std::string>& tokens, Allowance&) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = replaced(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    }
  }

 private:
  std::string suffix_;
};

class ReplaceDecoder final : public Decoder {
 public:
  ReplaceDecoder(const io::JsonValue& where, std::unique_ptr<const Pattern> pattern, std::string_view content)
      : name_(step_name(where)), pattern_(std::move(pattern)), content_(content) {}
  void apply(std::vector<std::string>& tokens, Allowance& allowance) const override {
    std::vector<Match> matches;
    std::size_t made = 0;
    for (std::string& token : tokens) {
      matches.clear();
      pattern_->find(token, 0, token.size(), matches, allowance);
      allowance.require_room(made += replaced_size(token.size(), matches, content_.size()), name_);
      std::string result;
      std::size_t copied = 0;
      for (const Match& match : matches) {
        result.append(token, copied, match.begin - copied).append(content_);
        copied = match.end;
      }
      token = result.append(token, copied);
    }
  }

 private:
  std::string name_;
  std::unique_ptr<const Pattern> pattern_;
  std::string content_;
};

class FuseDecoder final : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens, Allowance&) const override {
    tokens.assign(1, put_together(tokens));
  }
};

// Takes up to `start` and `stop` of one character off the ends of every token.
class StripDecoder final : public Decoder {
 public:
  StripDecoder(char32_t content, std::int64_t start, std::int64_t stop) : start_(start), stop_(stop) {
    io::append_char(content_, content);
  }
  void apply(std::vector<std::string>& tokens, Allowance&) const override {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (std::int64_t i = 0; i < start_ && rest.starts_with(content_); ++i)
        rest.remove_prefix(content_.size());
      for (std::int64_t i = 0; i < stop_ && rest.ends_with(content_); ++i)
        rest.remove_suffix(content_.size());
      token = std::string(rest);
    }
  }

 private:
  std::string content_;
  std::int64_t start_, stop_;
};

// <0x61> to the byte; bytes in a row that are not UTF-8 become U+FFFD, one for each.
class ByteFallbackDecoder final : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens, Allowance&) const override {
    std::vector<std::string> result;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (io::is_utf8(bytes)) {
        result.push_back(bytes);
      } else {
        result.insert(result.end(), bytes.size(), "\uFFFD");
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      const int byte = byte_of(token);
      if (byte >= 0) {
        bytes.push_back(static_cast<char>(byte));
      } else {
        flush();
        result.push_back(std::move(token));
      }
    }
    flush();
    tokens = std::move(result);
  }

 private:
  static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  }
  static int byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
    if (token[3] == '+' && digit(token[4]) >= 0) return digit(token[4]);  // a number may have a sign there
    const int high = digit(token[3]), low = digit(token[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
  }
};

class DecoderSequence final : public Decoder {
 public:
  explicit DecoderSequence(std::vector<std::unique_ptr<const Decoder>> steps) : steps_(std::move(steps)) {}
  void apply(std::vector<std::string>& tokens, Allowance& allowance) const override {
    for (const auto& step : steps_) {
      step->apply(tokens, allowance);
      allowance.require_time("the decoder");
    }
  }

 private:
  std::vector<std::unique_ptr<const Decoder>> steps_;
};

}  // namespace

std::unique_ptr<const Decoder> make_word_piece_decoder(std::string_view prefix, bool cleanup) {
  return std::make_unique<WordPieceDecoder>(prefix, cleanup);
}

std::unique_ptr<const Decoder> read_decoder(const io::JsonValue& decoder) {
  const std::string_view type = decoder.type();
  if (type == "Sequence") {
    decoder.only_keys({"type", "decoders"});
    std::vector<std::unique_ptr<const Decoder>> steps;
    for (const io::JsonValue step : decoder.at("decoders").elements(kMostSteps))
      steps.push_back(read_decoder(step));
    return std::make_unique<DecoderSequence>(std::move(steps));
  }
  if (type == "WordPiece") {
    decoder.only_keys({"type", "prefix", "cleanup"});
    return make_word_piece_decoder(decoder.at("prefix").string(), decoder.at("cleanup").boolean());
  }
  if (type == "ByteLevel") {
    decoder.only_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    return std::make_unique<ByteLevelDecoder>();
  }
  if (type == "Metaspace") return std::make_unique<MetaspaceDecoder>(read_metaspace_options(decoder));
  if (type == "BPEDecoder") {
    const io::JsonValue suffix = decoder.only_keys({"type", "suffix"}).at("suffix");
    if (suffix.string().empty()) suffix.fail("is empty");
    return std::make_unique<BpeDecoder>(suffix.string());
  }
  if (type == "Replace") {
    decoder.only_keys({"type", "pattern", "content"});
    return std::make_unique<ReplaceDecoder>(decoder, read_pattern(decoder.at("pattern")),
                                            decoder.at("content").string());
  }
  if (type == "Strip") {
    decoder.only_keys({"type", "content", "start", "stop"});
    return std::make_unique<StripDecoder>(decoder.at("content").character(),
                                          decoder.at("start").integer(0, 1 << 20),
                                          decoder.at("stop").integer(0, 1 << 20));
  }
  if (decoder.is_bare("Fuse")) return std::make_unique<FuseDecoder>();
  if (decoder.is_bare("ByteFallback")) return std::make_unique<ByteFallbackDecoder>();
  decoder.fail("the decoder ", io::quoted(type), " is not supported");
}

}  // namespace attend::text
