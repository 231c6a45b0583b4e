// A tokenizer.json small enough to be broken in every way, and text to try it on.
#pragma once

#include <string>
#include <string_view>

namespace attend::test {

inline constexpr std::string_view kSmallWordPiece = R"({
"version":"1.0",
"truncation":{"direction":"Right","max_length":8,"strategy":"LongestFirst","stride":0},
"padding":null,
"added_tokens":[{"id":1,"content":"[CLS]","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
"pre_tokenizer":{"type":"BertPreTokenizer"},
"post_processor":{"type":"TemplateProcessing",
 "single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
 "pair":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
 "special_tokens":{"[CLS]":{"id":"[CLS]","ids":[1],"tokens":["[CLS]"]}}},
"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},
"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
 "vocab":{"[UNK]":0,"[CLS]":1,"a":2,"##b":3,"ab":4,"##bc":5,"c":6,"!":7}}})";

inline constexpr std::string_view kSmallBpe =
    R"({"version":"1.0","added_tokens":[],"normalizer":{"type":"NFC"},
"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
"post_processor":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
"model":{"type":"BPE","dropout":null,"unk_token":"?","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,
 "byte_fallback":false,"ignore_merges":false,"vocab":{"?":0,"a":1,"b":2,"c":3,"ab":4,"abc":5,"bc":6},
 "merges":[["b","c"],"a b",["a","bc"],["ab","c"]]}})";

inline constexpr std::string_view kSmallUnigram = R"({"version":"1.0","added_tokens":[],
"normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"},{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]},
"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
"post_processor":null,
"decoder":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
"model":{"type":"Unigram","unk_id":0,"byte_fallback":false,"vocab":[["<unk>",0.0],["▁",-2.5],["a",-2],["b",-3.0],["ab",-4.5],["▁ab",-5.0]]}})";

// The text with the first occurrence of one part replaced by another.
inline std::string with(std::string_view text, std::string_view part, std::string_view replacement) {
  std::string result(text);
  result.replace(result.find(part), part.size(), replacement);
  return result;
}

}  // namespace attend::test
