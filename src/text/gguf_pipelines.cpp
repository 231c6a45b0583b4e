#include "text/gguf_pipelines.h"

#include <array>
#include <string>

#include "io/fail.h"

namespace attend::text {
namespace {

constexpr std::string_view kNothing = "null", kNfc = R"({"type":"NFC"})";

// The steps, by what was first to have them; each is what that tokenizer.json says.
constexpr std::string_view kGpt2Steps =
    R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";

constexpr std::string_view kDigitSteps = R"({"type":"Sequence","pretokenizers":[
  {"type":"Digits","individual_digits":true},
  {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}]})";

constexpr std::string_view kLlama3Steps = R"({"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":
"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
  {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})";

constexpr std::string_view kQwen2Steps = R"({"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":
"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
  {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})";

constexpr std::string_view kGpt4oSteps = R"({"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":
"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
  {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})";

constexpr std::string_view kTekkenSteps = R"({"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":
"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
  {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})";

constexpr std::string_view kFalconSteps = R"({"type":"Sequence","pretokenizers":[
  {"type":"Punctuation","behavior":"Contiguous"},
  {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
  {"type":"Digits","individual_digits":false},
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"[0-9][0-9][0-9]"}}]})";

// Letters with their numbers: some of them look like others, and an editor might take one for the other.
constexpr std::string_view kDeepseekLlmSteps = R"({"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"[\r\n]"}},
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":
"\\s?[A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\uD801\uDC00-\uD801\uDC4F\uD801\uDCB0-\uD801\uDCD3\uD801\uDCD8-\uD801\uDCFB\uD803\uDC80-\uD803\uDCB2\uD803\uDCC0-\uD803\uDCF2\uD806\uDCA0-\uD806\uDCDF\uD83A\uDD00-\uD83A\uDD43]+"}},
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"\\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+"}},
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"\\s+$"}},
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"}},
  {"type":"Digits","individual_digits":true},
  {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})";

constexpr std::string_view kDeepseekCoderSteps = R"({"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"[\r\n]"}},
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"\\s?\\p{L}+"}},
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"\\s?\\p{P}+"}},
  {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"}},
  {"type":"Digits","individual_digits":true},
  {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})";

constexpr std::array kPipelines = {
    GgufPipeline{"gpt-2", kNothing, kGpt2Steps},
    GgufPipeline{"phi-2", kNothing, kGpt2Steps},
    GgufPipeline{"gpt-neox", kNfc, kGpt2Steps},
    GgufPipeline{"mpt", kNfc, kGpt2Steps},
    GgufPipeline{"olmo", kNfc, kGpt2Steps},
    GgufPipeline{"smollm", kNothing, kDigitSteps},
    GgufPipeline{"starcoder", kNothing, kDigitSteps},
    GgufPipeline{"refact", kNothing, kDigitSteps},
    GgufPipeline{"command-r", kNfc, kDigitSteps},
    GgufPipeline{"llama-bpe", kNothing, kLlama3Steps, true, true},
    GgufPipeline{"llama3", kNothing, kLlama3Steps, true, true},
    GgufPipeline{"llama-v3", kNothing, kLlama3Steps, true, true},
    GgufPipeline{"dbrx", kNothing, kLlama3Steps},
    GgufPipeline{"smaug-bpe", kNothing, kLlama3Steps},
    GgufPipeline{"qwen2", kNfc, kQwen2Steps},
    GgufPipeline{"deepseek-r1-qwen", kNfc, kQwen2Steps},
    GgufPipeline{"stablelm2", kNothing, kQwen2Steps},
    GgufPipeline{"gpt-4o", kNothing, kGpt4oSteps},
    GgufPipeline{"llama4", kNothing, kGpt4oSteps},
    GgufPipeline{"tekken", kNothing, kTekkenSteps, true, true},
    GgufPipeline{"falcon", kNothing, kFalconSteps},
    GgufPipeline{"deepseek-llm", kNothing, kDeepseekLlmSteps},
    GgufPipeline{"deepseek-coder", kNothing, kDeepseekCoderSteps},
};

constexpr std::string_view kPreKey = "tokenizer.ggml.pre";

// Files of 2023 have no such key; of two architectures there is only one kind.
std::string_view name_in(const Gguf& file) {
  if (file.contains(kPreKey)) return file.string(kPreKey);
  const std::string_view architecture = file.string("general.architecture", "");
  if (architecture == "gpt2") return "gpt-2";
  if (architecture == "gptneox") return "gpt-neox";
  io::fail(file.file(), kPreKey, "is not there, so there is no telling how this tokenizer splits words");
}

}  // namespace

const GgufPipeline& pipeline_of(const Gguf& file) {
  const std::string_view name = name_in(file);
  std::string known;
  for (const GgufPipeline& pipeline : kPipelines) {
    if (pipeline.name == name) return pipeline;
    known.append(known.empty() ? "" : ", ").append(pipeline.name);
  }
  io::fail(file.file(), kPreKey, io::quoted(name), " is not among those that attend supports: ", known);
}

}  // namespace attend::text
