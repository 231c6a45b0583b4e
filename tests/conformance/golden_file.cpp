#include "conformance/golden_file.h"

#include <charconv>
#include <fstream>
#include <stdexcept>

namespace attend {
namespace {

// Words of the file, one after the other. Numbers go through from_chars, which reads inf and no locale.
class Words {
 public:
  explicit Words(const std::string& path) : path_(path), file_(path) {
    if (!file_) fail("cannot be opened");
    std::string comment;
    if (!std::getline(file_, comment) || !comment.starts_with('#')) fail("does not begin with a comment");
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error("golden file " + path_ + " " + why);
  }
  bool more() { return static_cast<bool>(file_ >> std::ws) && file_.peek() != EOF; }
  std::string word() {
    std::string word;
    if (!(file_ >> word)) fail("ends too early");
    return word;
  }
  void expect(const std::string& wanted) {
    if (const std::string found = word(); found != wanted) fail("has " + found + ", expected " + wanted);
  }
  template <class Number>
  Number number() {
    const std::string text = word();
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail("has " + text + ", not a number");
    return value;
  }

 private:
  std::string path_;
  std::ifstream file_;
};

// kind rank sizes... values...
Tensor read_tensor(Words& words) {
  const std::string kind = words.word();
  if (kind != "f64" && kind != "bool") words.fail("has a tensor of " + kind);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(words.number<int>()));
  for (std::int64_t& size : sizes) size = words.number<std::int64_t>();
  Tensor tensor(kind == "bool" ? DType::boolean : DType::f64, Dims(sizes));
  if (kind == "bool") {
    for (bool& value : tensor.values<bool>()) value = words.number<int>() != 0;
  } else {
    for (double& value : tensor.values<double>()) value = words.number<double>();
  }
  return tensor;
}

GoldenCase read_case(Words& words) {
  GoldenCase result;
  words.expect("case");
  result.name = words.word();
  for (std::string kind = words.word(); kind != "end"; kind = words.word()) {
    const std::string name = words.word();
    if (result.has(name)) words.fail("has " + name + " twice in " + result.name);
    if (kind == "number") {
      result.numbers[name] = words.number<double>();
    } else if (kind == "tensor") {
      result.tensors[name] = read_tensor(words);
    } else {
      words.fail("has the unknown entry " + kind);
    }
  }
  return result;
}

}  // namespace

double GoldenCase::number(const std::string& entry) const {
  if (!numbers.contains(entry)) throw std::runtime_error("golden case " + name + " has no number " + entry);
  return numbers.at(entry);
}

const Tensor& GoldenCase::tensor(const std::string& entry) const {
  if (!tensors.contains(entry)) throw std::runtime_error("golden case " + name + " has no tensor " + entry);
  return tensors.at(entry);
}

GoldenCase GoldenCase::rounded_to(DType dtype) const {
  GoldenCase result{name, numbers, {}};
  for (const auto& [entry, tensor] : tensors) {
    result.tensors[entry] = copy_of(tensor, tensor.dtype() == DType::boolean ? DType::boolean : dtype);
  }
  return result;
}

std::vector<GoldenCase> read_golden(const std::string& path) {
  Words words(path);
  words.expect("cases");
  const auto count = words.number<std::size_t>();
  std::vector<GoldenCase> cases;
  while (words.more()) cases.push_back(read_case(words));
  if (cases.size() != count)
    words.fail("has " + std::to_string(cases.size()) + " cases, not the number it states");
  return cases;
}

}  // namespace attend
