// RoBERTa (Liu et al. 2019) and XLM-R.
#include <array>

#include "model/families/bert_names.h"
#include "model/families/config_keys.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 2> kRobertaTypes = {"roberta", "xlm-roberta"};

ModelDescription describe_roberta(const io::JsonFields& config) {
  ModelDescription description = kBert.describe(config);
  // Positions are counted from the one after the padding token's id.
  description.first_position = description.pad_token.value_or(1) + 1;
  require_positions(config, description);
  return description;
}

TensorNames name_roberta(const ModelDescription& description) {
  TensorNames names = bert_names(description, "roberta");
  names.prefixes.emplace_back("xlm-roberta.");
  names.output = roberta_output_names();
  names.sequence = roberta_sequence_names();
  return names;
}

}  // namespace

constinit const Family kRoberta{"roberta", kRobertaTypes, describe_roberta, name_roberta};

}  // namespace attend::model
