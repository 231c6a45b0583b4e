#include "explain/json_object.h"

#include "save/json_array.h"

namespace attend::explain {
namespace {

std::string json_dump(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

std::string& JsonObject::key(const char* name) {
  if (text_.size() > 1) text_ += ',';
  return text_.append("\"").append(name).append("\":");
}

JsonObject& JsonObject::add(const char* name, const nlohmann::ordered_json& value) {
  key(name) += json_dump(value);
  return *this;
}

JsonObject& JsonObject::add(const char* name, ConstTensorView values) {
  save::append_json_array(key(name), values);
  return *this;
}

JsonObject& JsonObject::add(const char* name, const std::vector<double>& values) {
  return add(name, ConstTensorView(values.data(), {static_cast<std::int64_t>(values.size())}));
}

JsonObject& JsonObject::add(const char* name, const JsonObject& object) {
  key(name) += object.text();
  return *this;
}

JsonObject& JsonObject::add(const char* name, const std::vector<JsonObject>& objects) {
  std::string& text = key(name);
  text += '[';
  for (std::size_t i = 0; i < objects.size(); ++i) text.append(i == 0 ? "" : ",").append(objects[i].text());
  text += ']';
  return *this;
}

std::string JsonObject::finish() const { return text() + "\n"; }

nlohmann::ordered_json not_finite_json(const Reading& reading, const NotFinite& where) {
  return {{"layer", where.layer},
          {"part", where.part},
          {"token", where.token},
          {"sentence", sentence_of(reading, where)}};
}

nlohmann::ordered_json units_json(const std::vector<Word>& units) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Word& unit : units) {
    nlohmann::ordered_json entry = {{"text", unit.text}};
    if (unit.special) {
      entry["special"] = true;
    } else {
      entry["begin"] = unit.place.begin;
      entry["end"] = unit.place.end;
    }
    if (unit.unknown) entry["unknown"] = true;
    if (unit.part != 0) entry["part"] = unit.part;
    entry["tokens"] = {unit.first_token, unit.last_token};
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace attend::explain
