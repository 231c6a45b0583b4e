#include "checkpoint/sentence_modules.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "io/json_fields.h"

namespace attend::checkpoint {
namespace {

constexpr std::size_t kMostModules = 16;

// The class's own name decides: the modules in front of it have moved between versions.
ModuleKind module_kind(const std::string& file, std::string_view type) {
  constexpr std::array kKinds = {
      std::pair("Transformer", ModuleKind::transformer), std::pair("Pooling", ModuleKind::pooling),
      std::pair("Dense", ModuleKind::dense), std::pair("Normalize", ModuleKind::normalize)};
  if (type.starts_with("sentence_transformers.")) {
    const std::string_view last = type.substr(type.rfind('.') + 1);
    for (const auto& [name, kind] : kKinds) {
      if (last == name) return kind;
    }
  }
  io::fail(file, "type", "\"", io::shown(type),
           "\" is not a module that attend supports: Transformer, Pooling, Dense, Normalize");
}

Module read_module(io::JsonReader& json) {
  std::optional<ModuleKind> kind;
  std::string folder;
  json.object("module", [&](std::string_view key) {
    if (key == "type") {
      kind = module_kind(json.file(), json.string(key));
    } else if (key == "path") {
      folder = json.string(key);
    } else {
      json.skip(key);
    }
  });
  if (!kind) io::fail(json.file(), "type", "is missing");
  if (!folder.empty() && !io::is_plain_name(folder)) {
    io::fail(json.file(), "path", "\"", io::shown(folder), "\" is not the name of a folder in this one");
  }
  return {*kind, std::move(folder)};
}

void check_order(const std::string& file, const std::vector<Module>& modules) {
  const auto count = [&](ModuleKind kind) {
    return std::count_if(modules.begin(), modules.end(),
                         [&](const Module& module) { return module.kind == kind; });
  };
  const bool sorted = std::is_sorted(modules.begin(), modules.end(),
                                     [](const Module& a, const Module& b) { return a.kind < b.kind; });
  // A cross-encoder's folder has a Transformer and nothing else.
  if (modules.size() == 1 && count(ModuleKind::transformer) == 1) return;
  if (!sorted || count(ModuleKind::transformer) != 1 || count(ModuleKind::pooling) != 1 ||
      count(ModuleKind::normalize) > 1) {
    io::fail(file, "",
             "expected one Transformer, one Pooling, any Dense and at most one Normalize, in this order");
  }
}

constexpr std::array kPoolings = {
    // its flag, its name in newer files; in the order in which sentence-transformers concatenates
    std::tuple("pooling_mode_cls_token", "cls", Pooling::cls),
    std::tuple("pooling_mode_max_tokens", "max", Pooling::max),
    std::tuple("pooling_mode_mean_tokens", "mean", Pooling::mean),
    std::tuple("pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", Pooling::mean_sqrt_length),
    std::tuple("pooling_mode_weightedmean_tokens", "weightedmean", Pooling::weighted_mean),
    std::tuple("pooling_mode_lasttoken", "lasttoken", Pooling::last_token),
};

Pooling pooling_named(const std::string& file, std::string_view wanted) {
  for (const auto& [flag, name, pooling] : kPoolings) {
    if (wanted == name) return pooling;
  }
  io::fail(file, "pooling_mode", "\"", io::shown(wanted), "\" is not a pooling that attend supports");
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

std::vector<Module> parse_modules(io::FileText text) {
  io::JsonReader json(text.name, text.span());
  std::vector<Module> modules;
  json.array("", [&] {
    if (modules.size() == kMostModules) io::fail(text.name, "", "has more than ", kMostModules, " modules");
    modules.push_back(read_module(json));
  });
  json.end();
  check_order(text.name, modules);
  return modules;
}

void parse_pooling(io::FileText text, ModelFiles& files) {
  const std::string name = text.name;
  files.pooling.clear();
  const io::JsonFields fields(std::move(text), [&](io::JsonReader& json, std::string_view key) {
    if (key != "pooling_mode" || json.kind() != io::JsonKind::array) return false;
    json.array(key, [&] { files.pooling.push_back(pooling_named(name, json.string(key))); });
    return true;
  });
  if (files.pooling.empty() && fields.has("pooling_mode")) {
    files.pooling.push_back(pooling_named(name, fields.string("pooling_mode")));
  }
  if (files.pooling.empty()) {
    for (const auto& [flag, unused, pooling] : kPoolings) {
      // A file that says nothing about the mean asks for it.
      if (fields.boolean(flag, pooling == Pooling::mean)) files.pooling.push_back(pooling);
    }
  }
  std::sort(files.pooling.begin(), files.pooling.end());
  if (files.pooling.empty()) io::fail(name, "", "selects no pooling");
  if (std::adjacent_find(files.pooling.begin(), files.pooling.end()) != files.pooling.end()) {
    io::fail(name, "pooling_mode", "lists the same pooling twice");
  }
  files.pooling_includes_prompt = fields.boolean("include_prompt", true);
}

void parse_sentence_config(io::FileText text, ModelFiles& files) {
  const io::JsonFields fields(std::move(text));
  if (fields.has("max_seq_length")) {
    files.max_tokens = fields.integer({"max_seq_length"}, 1, io::kLargestSize);
    files.max_tokens_file = file_name(fields.file());
  }
  files.lower_case = fields.boolean("do_lower_case", false);
}

void parse_prompts(io::FileText text, ModelFiles& files) {
  const io::JsonFields fields(std::move(text), [&](io::JsonReader& json, std::string_view key) {
    if (key != "prompts" || json.kind() != io::JsonKind::object) return false;
    json.object(key, [&](std::string_view name) { files.prompts.emplace(name, json.string(name)); });
    return true;
  });
  files.default_prompt = fields.string("default_prompt_name", "");
  files.activation = fields.string("activation_fn", "");
  if (!files.default_prompt.empty() && !files.prompts.contains(files.default_prompt)) {
    fields.refuse("default_prompt_name", "\"", io::shown(files.default_prompt),
                  "\" is not among the prompts");
  }
}

void parse_tokenizer_config(io::FileText text, ModelFiles& files) {
  const io::JsonFields fields(std::move(text));
  const double length = fields.number("model_max_length", 0);
  // "No limit" is written as 1e30.
  if (length >= 1 && length <= static_cast<double>(io::kLargestSize)) {
    files.max_tokens = static_cast<std::int64_t>(length);
    files.max_tokens_file = file_name(fields.file());
  }
}

DenseModule parse_dense(io::FileText text) {
  const io::JsonFields fields(std::move(text));
  DenseModule dense;
  dense.inputs = fields.integer({"in_features"}, 1, io::kLargestSize);
  dense.outputs = fields.integer({"out_features"}, 1, io::kLargestSize);
  dense.bias = fields.boolean("bias", true);
  const std::string_view activation = fields.string("activation_function");
  if (activation == "torch.nn.modules.activation.Tanh") {
    dense.activation = "tanh";
  } else if (activation == "torch.nn.modules.linear.Identity") {
    dense.activation = "identity";
  } else {
    fields.refuse("activation_function", "\"", io::shown(activation), "\" is not Tanh or Identity");
  }
  return dense;
}

}  // namespace attend::checkpoint
