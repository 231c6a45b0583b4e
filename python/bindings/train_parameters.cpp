// Parameters as Python reads and writes them: as copies, since every step changes them.
#include <deque>
#include <utility>
#include <vector>

#include "array.h"
#include "errors.h"
#include "results.h"
#include "train.h"

namespace attend_python {

nb::dict copies_of(attend::train::Parameters& parameters, ParameterPart part, std::mutex& model) {
  std::vector<attend::Tensor> copies;
  {
    const Serving serving(model);
    for (int i = 0; i < parameters.count(); ++i) copies.push_back(attend::copy_of((parameters.*part)(i)));
  }
  nb::dict named;
  for (int i = 0; i < parameters.count(); ++i) {
    named[parameters[i].name.c_str()] = numpy_of(std::move(copies[static_cast<std::size_t>(i)]));
  }
  return named;
}

void load_parameters(attend::train::Parameters& parameters, const nb::dict& values, std::mutex& model) {
  std::deque<Array> arrays;  // a deque: an array holds a buffer and does not move
  std::vector<std::pair<int, attend::ConstTensorView>> loaded;
  for (const auto& [key, value] : values) {
    const auto name = nb::cast<std::string>(nb::str(key));
    const int index = parameters.find(name);
    if (index < 0) refuse_value("load_parameters: there is no parameter ", name);
    const attend::Dims& shape = parameters[index].shape;
    const attend::ConstTensorView view = arrays.emplace_back(value, name.c_str()).view();
    if (view.shape() != shape) {
      refuse_value("load_parameters: ", name, " has shape ", attend::to_string(view.shape()), ", expected ",
                   attend::to_string(shape));
    }
    if (view.dtype() == attend::DType::boolean || view.dtype() == attend::DType::i64) {
      refuse_type("load_parameters: ", name, " holds no floating-point numbers");
    }
    loaded.emplace_back(index, view);
  }
  const Serving serving(model);
  for (const auto& [index, view] : loaded) attend::copy(view, parameters.value(index));
}

}  // namespace attend_python
