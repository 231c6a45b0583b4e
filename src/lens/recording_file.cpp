// Recordings as files: safetensors, whose metadata says what the tensors are.
#include <attend/checkpoint.h>
#include <attend/lens_recording.h>
#include <attend/save.h>

#include <charconv>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "io/fail.h"
#include "io/utf8.h"
#include "lens/recording_check.h"

namespace attend {
namespace {

constexpr std::string_view kFormat = "attend recording", kVersion = "1";

std::string number_text(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return {text, end};
}

std::string layer_key(std::size_t number, std::string_view part) {
  return joined("layer.", number, ".", part);
}

// What a file holds, collected before it is written.
class RecordingWriter {
 public:
  explicit RecordingWriter(const Recording& recording) {
    metadata_ = {{"format", std::string(kFormat)}, {"version", std::string(kVersion)},
                 {"model", recording.model},       {"family", recording.family},
                 {"text", recording.text},         {"layers", std::to_string(recording.layers.size())}};
    add_tokens(recording.tokens);
    for (std::size_t l = 0; l < recording.layers.size(); ++l) add_layer(recording.layers[l], l + 1);
  }

  void save(const std::filesystem::path& file) const { save_safetensors(file, tensors_, metadata_); }

 private:
  void add_tokens(const std::vector<RecordedToken>& tokens) {
    const auto n = static_cast<std::int64_t>(tokens.size());
    std::string all;
    std::vector<std::int64_t> ids, places, ends;
    Tensor special(DType::boolean, {n});
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      all += tokens[t].text;
      ends.push_back(static_cast<std::int64_t>(all.size()));
      ids.push_back(tokens[t].id);
      places.insert(places.end(), {tokens[t].place.begin, tokens[t].place.end});
      special.values<bool>()[t] = tokens[t].special;
    }
    metadata_["tokens"] = std::move(all);
    own("token_ends", Tensor::from<std::int64_t>({n}, ends));
    own("ids", Tensor::from<std::int64_t>({n}, ids));
    own("places", Tensor::from<std::int64_t>({n, 2}, places));
    own("special", std::move(special));
  }

  void add_layer(const RecordedLayer& layer, std::size_t number) {
    const std::pair<const Tensor*, const char*> parts[] = {{&layer.q, "q"},       {&layer.k, "k"},
                                                           {&layer.v, "v"},       {&layer.weights, "weights"},
                                                           {&layer.mask, "mask"}, {&layer.bias, "bias"}};
    for (const auto& [tensor, name] : parts)
      if (tensor->count() > 0) tensors_.push_back({layer_key(number, name), *tensor});
    for (const auto& [numbers, name] :
         {std::pair(&layer.sinks, "sinks"), std::pair(&layer.alibi_slopes, "alibi_slopes")})
      if (!numbers->empty())
        own(layer_key(number, name),
            Tensor::from<double>({static_cast<std::int64_t>(numbers->size())}, *numbers));
    const auto say = [&](const char* key, std::string value) {
      metadata_[layer_key(number, key)] = std::move(value);
    };
    if (!layer.name.empty()) say("name", layer.name);
    if (layer.causal) say("causal", "true");
    if (layer.scale) say("scale", number_text(*layer.scale));
    if (layer.softcap != 0) say("softcap", number_text(layer.softcap));
    if (layer.window.left >= 0 || layer.window.right >= 0)
      say("window", joined(layer.window.left, " ", layer.window.right));
  }

  void own(std::string name, Tensor tensor) {
    owned_.push_back(std::move(tensor));
    tensors_.push_back({std::move(name), owned_.back()});
  }

  std::map<std::string, std::string> metadata_;
  std::deque<Tensor> owned_;
  std::vector<NamedTensor> tensors_;
};

// Every tensor and every word of metadata is asked for once; what is left over is refused.
class RecordingReader {
 public:
  explicit RecordingReader(const std::filesystem::path& file)
      : file_(io::shown(file.string())),
        checkpoint_(Checkpoint::open(file)),
        metadata_(checkpoint_.metadata()) {
    for (std::string& name : checkpoint_.names()) left_.insert(std::move(name));
  }

  Recording read() {
    if (take("format").value_or("") != kFormat)
      io::fail(file_, "format", "expected \"", kFormat, "\" in the metadata: this is not a recording");
    if (const std::string version = take("version").value_or(""); version != kVersion)
      io::fail(file_, "version", "is ", io::quoted(version), ", expected ", kVersion);
    Recording recording{.model = take("model").value_or(""),
                        .family = take("family").value_or(""),
                        .text = take("text").value_or("")};
    read_tokens(recording);
    const std::int64_t layers = whole("layers", take("layers").value_or(""), 1, 1'000'000);
    for (std::int64_t number = 1; number <= layers; ++number) {
      recording.layers.push_back(read_layer(static_cast<std::size_t>(number)));
      const RecordedLayer& layer = recording.layers.back();
      if (layer.q.count() == 0 && layer.weights.count() == 0)
        io::fail(file_, layer_key(static_cast<std::size_t>(number), "q"),
                 "is not there, nor are the weights");
    }
    if (!left_.empty()) io::fail(file_, *left_.begin(), "is not a tensor that a recording has");
    if (!metadata_.empty()) io::fail(file_, metadata_.begin()->first, "is not metadata that a recording has");
    checkpoint_.require_intact();
    if (const auto found = lens::find_fault(recording)) io::fail(file_, found->where, found->rule);
    return recording;
  }

 private:
  std::optional<std::string> take(const std::string& key) {
    const auto found = metadata_.find(key);
    if (found == metadata_.end()) return std::nullopt;
    std::string value = std::move(found->second);
    metadata_.erase(found);
    return value;
  }

  std::int64_t whole(const std::string& where, std::string_view text, std::int64_t low,
                     std::int64_t high) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < low || value > high)
      io::fail(file_, where, "is ", io::quoted(text), ", expected a whole number from ", low, " to ", high);
    return value;
  }

  double number(const std::string& where, std::string_view text) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      io::fail(file_, where, "is ", io::quoted(text), ", expected a number");
    return value;
  }

  // Of this type; no elements where there is none.
  Tensor tensor(const std::string& name, DType dtype) {
    if (left_.erase(name) == 0) return {};
    const ConstTensorView view = checkpoint_.tensor(name);
    if (view.dtype() != dtype)
      io::fail(file_, name, "is ", name_of(view.dtype()), ", expected ", name_of(dtype));
    if (view.count() == 0) io::fail(file_, name, "has no elements");
    Tensor copied = copy_of(view);
    checkpoint_.forget(name);
    return copied;
  }

  std::vector<double> numbers(const std::string& name) {
    const Tensor read = tensor(name, DType::f64);
    if (read.count() == 0) return {};
    if (read.rank() != 1) io::fail(file_, name, "has ", read.rank(), " dimensions, expected one");
    return {read.values<double>().begin(), read.values<double>().end()};
  }

  Tensor token_numbers(const std::string& name, DType dtype, const Dims& shape) {
    Tensor read = tensor(name, dtype);
    if (read.count() == 0) io::fail(file_, name, "is not there");
    if (read.shape() != shape) io::fail(file_, name, "is not of one size with token_ends");
    return read;
  }

  void read_tokens(Recording& recording) {
    const std::string all = take("tokens").value_or("");
    const Tensor ends = tensor("token_ends", DType::i64);
    if (ends.count() == 0 || ends.rank() != 1)
      io::fail(file_, "token_ends", "expected where each token ends in the metadata's tokens");
    const std::int64_t n = ends.size(0);
    const Tensor ids = token_numbers("ids", DType::i64, {n}),
                 places = token_numbers("places", DType::i64, {n, 2}),
                 special = token_numbers("special", DType::boolean, {n});
    constexpr std::int64_t kMostId = std::numeric_limits<std::int32_t>::max();
    std::int64_t begin = 0;
    for (std::int64_t t = 0; t < n; ++t) {
      const auto i = static_cast<std::size_t>(t);
      const std::int64_t end = ends.values<std::int64_t>()[i], id = ids.values<std::int64_t>()[i];
      const std::int64_t first = places.values<std::int64_t>()[2 * i],
                         last = places.values<std::int64_t>()[2 * i + 1];
      if (end < begin || end > static_cast<std::int64_t>(all.size()))
        io::fail(file_, "token_ends", "token ", t, " ends at ", end, ", expected ", begin, " to ",
                 all.size());
      if (id < 0 || id > kMostId)
        io::fail(file_, "ids", "token ", t, " is ", id, ", expected 0 to ", kMostId);
      if (first < 0 || last < 0 || first > kMostId || last > kMostId)
        io::fail(file_, "places", "token ", t, " stands at ", first, " to ", last, ", outside of the text");
      recording.tokens.push_back(
          {.text = all.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)),
           .id = static_cast<std::int32_t>(id),
           .place = {static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)},
           .special = special.values<bool>()[i]});
      begin = end;
    }
    if (begin != static_cast<std::int64_t>(all.size()))
      io::fail(file_, "token_ends", "the last token ends at ", begin, ", expected ", all.size());
  }

  RecordedLayer read_layer(std::size_t number) {
    const auto key = [&](const char* part) { return layer_key(number, part); };
    RecordedLayer layer{.name = take(key("name")).value_or(""),
                        .q = tensor(key("q"), DType::f32),
                        .k = tensor(key("k"), DType::f32),
                        .v = tensor(key("v"), DType::f32),
                        .weights = tensor(key("weights"), DType::f32)};
    layer.mask = tensor(key("mask"), DType::boolean);
    layer.bias = tensor(key("bias"), DType::f32);
    layer.sinks = numbers(key("sinks"));
    layer.alibi_slopes = numbers(key("alibi_slopes"));
    if (const auto causal = take(key("causal"))) {
      if (*causal != "true" && *causal != "false")
        io::fail(file_, key("causal"), "is ", io::quoted(*causal), ", expected true or false");
      layer.causal = *causal == "true";
    }
    if (const auto scale = take(key("scale"))) layer.scale = this->number(key("scale"), *scale);
    if (const auto softcap = take(key("softcap"))) layer.softcap = this->number(key("softcap"), *softcap);
    if (const auto window = take(key("window"))) {
      const std::string where = key("window");
      constexpr std::int64_t kMost = std::int64_t{1} << 40;
      const std::size_t space = window->find(' ');
      if (space == window->npos)
        io::fail(file_, where, "is ", io::quoted(*window), ", expected two whole numbers");
      layer.window = {whole(where, std::string_view(*window).substr(0, space), Window::kUnlimited, kMost),
                      whole(where, std::string_view(*window).substr(space + 1), Window::kUnlimited, kMost)};
    }
    return layer;
  }

  std::string file_;
  Checkpoint checkpoint_;
  std::map<std::string, std::string> metadata_;
  std::set<std::string> left_;
};

}  // namespace

void save_recording(const std::filesystem::path& file, const Recording& recording) {
  lens::require_sound(recording);
  RecordingWriter(recording).save(file);
}

Recording load_recording(const std::filesystem::path& file) { return RecordingReader(file).read(); }

}  // namespace attend
