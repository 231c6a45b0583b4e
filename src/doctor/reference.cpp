#include "doctor/reference.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "checkpoint/array_file.h"
#include "doctor/report.h"
#include "io/fail.h"

namespace attend::doctor {
namespace {

using checkpoint::ArrayFile;
using io::fail;

// A matrix of finite numbers, in the type in which it is stored.
Tensor read_matrix(const ArrayFile& file, const std::string& name, const char* shape) {
  Tensor tensor = file.read(name);
  if (tensor.rank() == 1 && name.find('.') == std::string::npos)  // a single text
    tensor = copy_of(tensor.view().with_axis(0));
  if (tensor.rank() != 2)
    fail(file.name(), name, "has shape ", to_string(tensor.shape()), ", expected ", shape);
  if (!is_float(tensor.dtype()))
    fail(file.name(), name, "holds ", name_of(tensor.dtype()), ", expected floating-point numbers");
  for (std::int64_t row = 0; row < tensor.size(0); ++row) {
    const Tensor numbers = copy_of(std::as_const(tensor).view().slice(0, row, row + 1), DType::f64);
    for (std::int64_t column = 0; column < tensor.size(1); ++column) {
      const double value = numbers.values<double>()[static_cast<std::size_t>(column)];
      if (!std::isfinite(value)) {
        fail(file.name(), name, "row ", row, ", column ", column, " is ", value, ", expected finite numbers");
      }
    }
  }
  return tensor;
}

std::vector<std::int64_t> read_numbers(const ArrayFile& file, const std::string& name) {
  const Tensor tensor = file.read(name);
  if (tensor.rank() != 1 || tensor.dtype() != DType::i64) {
    fail(file.name(), name, "has shape ", to_string(tensor.shape()), " and type ", name_of(tensor.dtype()),
         ", expected a list of whole numbers");
  }
  const auto values = tensor.values<std::int64_t>();
  return {values.begin(), values.end()};
}

TokenBatch read_tokens(const ArrayFile& file) {
  TokenBatch tokens;
  for (const std::int64_t id : read_numbers(file, "ids")) {
    if (id < 0 || id > std::numeric_limits<std::int32_t>::max())
      fail(file.name(), "ids", id, " is not the id of a token");
    tokens.ids.push_back(static_cast<std::int32_t>(id));
  }
  tokens.ends = read_numbers(file, "ends");
  if (tokens.ends.empty() || tokens.ends.front() != 0 || tokens.ends.back() != tokens.tokens() ||
      !std::is_sorted(tokens.ends.begin(), tokens.ends.end())) {
    fail(file.name(), "ends", "must start at 0, never decrease, and end at the ", tokens.tokens(), " ids");
  }
  return tokens;
}

std::optional<std::int64_t> layer_of(std::string_view name) {
  if (!name.starts_with("hidden.")) return std::nullopt;
  name.remove_prefix(7);
  std::int64_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (error != std::errc() || end != name.data() + name.size() || layer < 0) return std::nullopt;
  return layer;
}

}  // namespace

std::int64_t Reference::texts() const { return embeddings ? embeddings->size(0) : tokens->texts(); }

Reference read_reference(const std::filesystem::path& path) {
  const ArrayFile file(path);
  Reference reference{.file = file.name()};
  const std::vector<std::string> names = file.arrays();
  const std::string vectors = file.contains("") && names.size() == 1 ? "" : "embeddings";
  if (file.contains(vectors))
    reference.embeddings = copy_of(read_matrix(file, vectors, "(texts, size)"), DType::f64);
  if (file.contains("ids") != file.contains("ends"))
    fail(file.name(), file.contains("ids") ? "ends" : "ids", "is missing; ids and ends go together");
  if (file.contains("ids")) reference.tokens = read_tokens(file);
  for (const std::string& name : names) {
    if (const auto layer = layer_of(name)) {
      if (!reference.tokens) fail(file.name(), name, "needs ids and ends, which are missing");
      Tensor states = read_matrix(file, name, "(tokens, hidden size)");
      if (states.size(0) != reference.tokens->tokens()) {
        fail(file.name(), name, "has ", states.size(0), " rows for ", reference.tokens->tokens(), " ids");
      }
      reference.hidden.emplace(*layer, std::move(states));
    }
  }
  if (!reference.embeddings && !reference.tokens)
    fail(file.name(), "", "has neither embeddings nor ids; it has ",
         io::shown(joined_names(names, "nothing")));
  if (reference.embeddings && reference.tokens &&
      reference.embeddings->size(0) != reference.tokens->texts()) {
    fail(file.name(), "ends", "describes ", reference.tokens->texts(), " texts, but there are ",
         reference.embeddings->size(0), " embeddings");
  }
  return reference;
}

void require_fitting(const Reference& reference, const TextModel& model, std::optional<std::int64_t> texts) {
  const std::string& file = reference.file;
  const ModelDescription& description = model.transformer().description();
  if (texts && *texts != reference.texts())
    fail(file, "", "has ", reference.texts(), " texts, but there are ", *texts);
  if (reference.embeddings && reference.embeddings->size(1) != model.embedding_size()) {
    fail(file, "embeddings", "are of size ", reference.embeddings->size(1), ", but the model's are of size ",
         model.embedding_size());
  }
  if (reference.tokens) {
    const auto largest = std::max_element(reference.tokens->ids.begin(), reference.tokens->ids.end());
    if (largest != reference.tokens->ids.end() && *largest >= description.vocabulary_size) {
      fail(file, "ids", "go up to ", *largest, ", but the model has vectors for ",
           description.vocabulary_size);
    }
    const auto& ends = reference.tokens->ends;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      if (ends[i + 1] - ends[i] > description.max_tokens()) {
        fail(file, "ends", "give text ", i, " ", ends[i + 1] - ends[i], " tokens, but the model has ",
             description.max_tokens(), " positions");
      }
    }
  }
  for (const auto& [layer, states] : reference.hidden) {
    const std::string name = "hidden." + std::to_string(layer);
    if (layer > description.layer_count())
      fail(file, name, "is of a layer that the model does not have: it has ", description.layer_count());
    if (states.size(1) != description.hidden_size) {
      fail(file, name, "has vectors of size ", states.size(1), ", but the model's are of size ",
           description.hidden_size);
    }
  }
}

}  // namespace attend::doctor
