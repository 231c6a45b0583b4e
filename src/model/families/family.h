// A family of models: how its config.json is read, and what its tensors are called. One file each, and one
// line in registry.cpp; nothing else knows a family's name.
#pragma once

#include <attend/model_description.h>

#include <span>
#include <string>
#include <string_view>

#include "io/json_fields.h"
#include "model/tensor_names.h"

namespace attend::model {

struct Family {
  std::string_view name;
  std::span<const std::string_view> model_types;  // the values of config.json's model_type

  ModelDescription (*describe)(const io::JsonFields& config);
  TensorNames (*names)(const ModelDescription& description);

  // For models that were trained here: whether this family's code computes such a model, and the config.json
  // that describes it. Both are null where nothing is stored under this family's names.
  bool (*stores)(const ModelDescription& description) = nullptr;
  std::string (*config_json)(const ModelDescription& description) = nullptr;

  // Whether config.json may name program code that comes with the model (auto_map): this family computes what
  // that code does. transformers, too, then takes its own code unless it is told to trust the other.
  bool replaces_code = false;
};

// All families; those that can store models are tried in this order.
std::span<const Family* const> families();

// The family of a description. Throws std::invalid_argument where there is none of that name.
const Family& family_of(const ModelDescription& description);

// The family under whose names a trained model is stored, chosen so that most programs can read it.
const Family& storing_family(const ModelDescription& description);

ModelDescription describe_model(io::FileText config_json);

}  // namespace attend::model
