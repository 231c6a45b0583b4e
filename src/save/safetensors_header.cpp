#include "save/safetensors_header.h"

#include <set>
#include <string_view>

#include "base/error.h"
#include "io/utf8.h"

namespace attend::save {
namespace {

const char* type_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::f64:
      return "F64";
    case DType::bf16:
      return "BF16";
    case DType::f16:
      return "F16";
    case DType::boolean:
      return "BOOL";
    case DType::i64:
      return "I64";
  }
  return "";
}

std::string json_string(std::string_view text) {
  if (io::find_bad_utf8(text) != text.size()) refuse("save", "a name or a value of metadata is not UTF-8");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result.append({'\\', c});
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result.append("\\u00").append({kDigits[c >> 4], kDigits[c & 15]});
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string list(const Dims& shape) {
  std::string text = "[";
  for (int axis = 0; axis < shape.rank(); ++axis)
    text += (axis == 0 ? "" : ",") + std::to_string(shape[axis]);
  return text + "]";
}

}  // namespace

std::string safetensors_header(const std::vector<StoredArray>& arrays,
                               const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  const auto comma = [&] {
    if (text.size() > 1) text += ',';
  };
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    bool first = true;
    for (const auto& [key, value] : metadata) {
      text += (first ? "" : ",") + json_string(key) + ':' + json_string(value);
      first = false;
    }
    text += '}';
  }
  std::set<std::string_view> names = {"__metadata__"};
  for (const StoredArray& array : arrays) {
    if (!names.insert(array.name).second)
      refuse("save", "\"", array.name, "\" is taken, and cannot name another array");
    comma();
    text += json_string(array.name) + ":{\"dtype\":\"" + type_name(array.dtype) +
            "\",\"shape\":" + list(array.shape) + ",\"data_offsets\":[" + std::to_string(array.begin) + ',' +
            std::to_string(array.end) + "]}";
  }
  return text + '}';
}

}  // namespace attend::save
