// The families that attend reads, and the names that files have for them.
#include "model/families/families.h"

#include <nlohmann/json.hpp>

#include "draw/table.h"
#include "inventory/listing.h"
#include "model/families/gguf_form.h"

namespace attend::inventory {
namespace {

struct FamilyNames {
  std::string_view family;
  std::vector<std::string> model_types, architectures;  // of config.json and of GGUF files
};

std::vector<FamilyNames> all_family_names() {
  std::vector<FamilyNames> all;
  for (const model::Family* const family : model::families()) {
    FamilyNames names{.family = family->name,
                      .model_types = {family->model_types.begin(), family->model_types.end()},
                      .architectures = {}};
    for (const model::GgufForm* const form : model::gguf_forms())
      if (form->family == family->name) names.architectures.emplace_back(form->architecture);
    all.push_back(std::move(names));
  }
  return all;
}

std::string in_a_row(const std::vector<std::string>& names) {
  std::string row;
  for (const std::string& name : names) row.append(row.empty() ? "" : ", ").append(name);
  return row;
}

}  // namespace

std::string families_text(const draw::Terminal& terminal) {
  draw::Table table{.title = "",
                    .label_header = "family",
                    .columns = {{"model_type in config.json", draw::Align::left},
                                {"architecture in GGUF files", draw::Align::left}},
                    .rows = {}};
  for (const FamilyNames& names : all_family_names())
    table.rows.push_back(
        {std::string(names.family), {in_a_row(names.model_types), in_a_row(names.architectures)}});
  return draw::render_table(table, terminal, table.rows.size());
}

std::string families_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const FamilyNames& names : all_family_names())
    list.push_back({{"family", names.family},
                    {"model_types", names.model_types},
                    {"gguf_architectures", names.architectures}});
  return nlohmann::ordered_json{{"families", list}}.dump(2) + "\n";
}

}  // namespace attend::inventory
