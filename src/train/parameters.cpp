#include "train/parameters.h"

#include <cstring>

#include "base/error.h"
#include "base/random.h"
#include "train/arena.h"

namespace attend::train {

int Parameters::add(const std::string& name, const Dims& shape, double mean, double deviation) {
  if (!places_.emplace(name, count()).second) refuse("train", "there are two parameters named ", name);
  list_.push_back({name, shape, mean, deviation, shape.rank() > 1, end_});
  constexpr std::int64_t kLine = 16;  // each begins at a cache line
  end_ += (element_count(shape) + kLine - 1) / kLine * kLine;
  return count() - 1;
}

void Parameters::allocate(DType dtype) {
  for (Tensor* const storage : {&values_, &gradients_, &first_, &second_}) *storage = Tensor(dtype, {end_});
}

int Parameters::find(const std::string& name) const noexcept {
  const auto found = places_.find(name);
  return found == places_.end() ? -1 : found->second;
}

TensorView Parameters::part(Tensor& storage, int index) {
  const Parameter& parameter = (*this)[index];
  const std::int64_t size = element_count(parameter.shape);
  const TensorView flat = storage.view().slice(0, parameter.offset, parameter.offset + size);
  return flat.with_layout(parameter.shape, row_major_strides(parameter.shape));
}

void Parameters::initialise(std::uint64_t seed) {
  const auto fill = [&]<class T>(T) {
    for (int index = 0; index < count(); ++index) {
      const Parameter& parameter = (*this)[index];
      const std::uint64_t stream = random_bits(seed, static_cast<std::uint64_t>(index));
      T* const to = value(index).template data<T>();
      const std::int64_t size = element_count(parameter.shape);
      for (std::int64_t i = 0; i < size; ++i) {
        const double drawn = parameter.deviation == 0 ? 0 : normal_at(stream, static_cast<std::uint64_t>(i));
        to[i] = static_cast<T>(parameter.mean + parameter.deviation * drawn);
      }
    }
  };
  dtype() == DType::f32 ? fill(float{}) : fill(double{});
}

void Parameters::clear_gradients() {
  try {
    clear(gradients_);
  } catch (
      ...) {  // interrupted: they are cleared all the same, because what is there is a part of a gradient
    std::memset(gradients_.view().raw(), 0, static_cast<std::size_t>(end_) * size_of(dtype()));
    throw;
  }
}

std::int64_t Parameters::numbers() const {
  std::int64_t total = 0;
  for (const Parameter& parameter : list_) total += element_count(parameter.shape);
  return total;
}

}  // namespace attend::train
