#include "doctor/finite_weights.h"

#include <attend/checkpoint.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "draw/number.h"

namespace attend::doctor {
namespace {

constexpr std::int64_t kNumbersAtOnce = std::int64_t{1} << 20;  // as f32, whatever the type in the file

// Looks at numbers [first, first + the view's) of a tensor.
void look_at(ConstTensorView some, std::int64_t first, BadTensor& found) {
  const Tensor numbers = copy_of(some, DType::f32);
  const std::span<const float> values = numbers.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    if (found.count++ > 0) continue;
    found.first = {first + static_cast<std::int64_t>(i)};
    found.value = static_cast<double>(values[i]);
  }
}

// A flat index into the tensor, as one index per axis.
std::vector<std::int64_t> index_of(std::int64_t place, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = place % shape[axis];
    place /= shape[axis];
  }
  return index;
}

void add_bad_tensors(const ModelFile& weights, std::vector<BadTensor>& found) {
  const Checkpoint checkpoint = Checkpoint::open(weights);
  for (const std::string& name : checkpoint.names()) {
    const TensorInfo info = checkpoint.info(name);
    const bool floats = info.type == "F32" || info.type == "F64" || info.type == "F16" || info.type == "BF16";
    if (!floats || info.shape.size() > 4) continue;
    const ConstTensorView whole = checkpoint.tensor(name);
    BadTensor tensor{.name = name, .file = std::filesystem::path(info.file).filename().string()};
    if (whole.rank() == 0) {
      look_at(whole, 0, tensor);
    } else if (whole.count() > 0) {
      const std::int64_t row = whole.count() / whole.size(0);
      const std::int64_t step = std::max<std::int64_t>(1, kNumbersAtOnce / row);
      for (std::int64_t i = 0; i < whole.size(0); i += step)
        look_at(whole.slice(0, i, std::min(i + step, whole.size(0))), i * row, tensor);
    }
    checkpoint.forget(name);
    if (tensor.count == 0) continue;
    tensor.first = index_of(tensor.first.front(), info.shape);
    found.push_back(std::move(tensor));
  }
  checkpoint.require_intact();
}

}  // namespace

std::vector<BadTensor> find_bad_tensors(const ModelFiles& files) {
  std::vector<BadTensor> found;
  add_bad_tensors(files.weights, found);
  for (const DenseModule& module : files.dense) add_bad_tensors(module.weights, found);
  return found;
}

std::string sentence_of(const BadTensor& tensor) {
  std::string place;
  for (const std::int64_t index : tensor.first) place.append(place.empty() ? "" : ", ").append(joined(index));
  const std::string value = std::isnan(tensor.value) ? "NaN" : draw::format_short(tensor.value);
  if (tensor.count == 1) return joined(tensor.name, " holds ", value, " at [", place, "]");
  return joined(tensor.name, " holds ", tensor.count, " numbers that are not finite, the first at [", place,
                "] (", value, ")");
}

std::string cause_of_not_finite(const ModelFiles& files) {
  const std::vector<BadTensor> tensors = find_bad_tensors(files);
  if (tensors.empty())
    return "all weights are finite, so some intermediate sum is too large for 32-bit floats";
  if (tensors.size() == 1) return "in the weights, " + sentence_of(tensors.front());
  return joined("in the weights, ", sentence_of(tensors.front()), ", and ", tensors.size() - 1,
                tensors.size() == 2 ? " more tensor holds such numbers" : " more tensors hold such numbers");
}

}  // namespace attend::doctor
