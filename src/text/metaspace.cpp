// The pre-tokenizer Metaspace: spaces become U+2581, the text gets one in front, and words start at each.
#include "text/metaspace.h"

#include <algorithm>

#include "text/pre_tokenizer.h"

namespace attend::text {

MetaspaceOptions read_metaspace_options(const io::JsonValue& metaspace) {
  metaspace.only_keys({"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
  MetaspaceOptions options;
  options.replacement = metaspace.at("replacement").character();
  if (const auto scheme = metaspace.find("prepend_scheme")) {
    const std::string_view name = scheme->string();
    if (name != "always" && name != "first" && name != "never") {
      scheme->fail(io::quoted(name), " is not one of always, first, never");
    }
    options.prepend = name == "first"   ? PrependScheme::first
                      : name == "never" ? PrependScheme::never
                                        : PrependScheme::always;
  }
  if (!metaspace.boolean("add_prefix_space", true) && options.prepend != PrependScheme::never) {
    metaspace.fail("add_prefix_space is false, but prepend_scheme is not never");
  }
  if (const auto written = metaspace.find("str_rep")) {
    std::string expected;
    io::append_char(expected, options.replacement);
    if (written->string() != expected) written->fail("differs from replacement");
  }
  options.split = metaspace.boolean("split", true);
  return options;
}

namespace {

class Metaspace final : public PreTokenizer {
 public:
  explicit Metaspace(const MetaspaceOptions& options) : options_(options) {
    io::append_char(replacement_, options.replacement);
  }

  void apply(Pieces& pieces) const override {
    rewrite_pieces(pieces, "the pre-tokenizer Metaspace",
                   [&](std::size_t begin, std::size_t end, AlignedText& out) {
                     const AlignedText& text = pieces.text;
                     const std::string_view piece = std::string_view(text.bytes).substr(begin, end - begin);
                     if (prepends(text.spans[begin]) && piece[0] != ' ' && !piece.starts_with(replacement_)) {
                       out.append(replacement_, text.spans[begin]);
                     }
                     for (std::size_t at = begin; at < end;) {
                       const std::size_t space = std::min(text.bytes.find(' ', at), end);
                       out.append(text, at, space);
                       if (space < end) out.append(replacement_, text.spans[space]);
                       at = space + 1;
                     }
                   });
    if (options_.split) cut_at_replacement(pieces);
  }

 private:
  bool prepends(TextSpan first) const {
    return options_.prepend == PrependScheme::always ||
           (options_.prepend == PrependScheme::first && first.begin == 0);
  }

  void cut_at_replacement(Pieces& pieces) const {
    const std::string_view text = pieces.text.bytes;
    cut_pieces(pieces, [&](std::size_t begin, std::size_t end, auto emit) {
      for (std::size_t at = begin + 1; at < end;) {
        const std::size_t next = std::min(text.find(replacement_, at), end);
        emit(begin, next);
        begin = next;
        at = next + replacement_.size();
      }
      emit(begin, end);
    });
  }

  MetaspaceOptions options_;
  std::string replacement_;
};

}  // namespace

std::unique_ptr<const PreTokenizer> read_metaspace(const io::JsonValue& pre_tokenizer) {
  return std::make_unique<Metaspace>(read_metaspace_options(pre_tokenizer));
}

}  // namespace attend::text
