// A JSON object written directly as text, because its maps are large.
#pragma once

#include <attend/lens.h>
#include <attend/tensor.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <attend/words.h>

namespace attend::explain {

class JsonObject {
 public:
  JsonObject& add(const char* key, const nlohmann::ordered_json& value);
  JsonObject& add(const char* key, ConstTensorView values);
  JsonObject& add(const char* key, const std::vector<double>& values);
  JsonObject& add(const char* key, const JsonObject& object);
  JsonObject& add(const char* key, const std::vector<JsonObject>& objects);
  std::string finish() const;  // ends with a newline
  std::string text() const { return text_ + "}"; }

 private:
  std::string& key(const char* name);
  std::string text_ = "{";
};

// {"layer", "part", "token", "sentence"}: where numbers stopped being finite. JSON has no NaN: they are null.
nlohmann::ordered_json not_finite_json(const Reading& reading, const NotFinite& where);

// {"text", "begin", "end", "tokens", "special"} for each unit.
nlohmann::ordered_json units_json(const std::vector<Word>& units);

}  // namespace attend::explain
