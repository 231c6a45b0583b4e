// The numbers that learn: named tensors side by side in one piece of memory, with a gradient and two moments
// each.
#pragma once

#include <attend/tensor.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace attend::train {

struct Parameter {
  std::string name;
  Dims shape;
  double mean = 0, deviation = 0;  // of its initial values
  bool decays = true;              // weight decay is for matrices, not for biases and norms
  std::int64_t offset = 0;
};

class Parameters {
 public:
  // All are named first, then memory is allocated for all.
  int add(const std::string& name, const Dims& shape, double mean, double deviation);
  void allocate(DType dtype);

  // Draws all values again: number i of a parameter depends on the seed, the parameter's place and i alone.
  void initialise(std::uint64_t seed);

  int count() const noexcept { return static_cast<int>(list_.size()); }
  const Parameter& operator[](int index) const { return list_.at(static_cast<std::size_t>(index)); }
  int find(const std::string& name) const noexcept;  // -1: there is none
  DType dtype() const noexcept { return values_.dtype(); }

  TensorView value(int index) { return part(values_, index); }
  TensorView gradient(int index) { return part(gradients_, index); }
  TensorView first_moment(int index) { return part(first_, index); }
  TensorView second_moment(int index) { return part(second_, index); }

  // All of them, (elements): what lies between two parameters is 0 and stays so.
  TensorView values() { return values_; }
  TensorView gradients() { return gradients_; }
  TensorView first_moments() { return first_; }
  TensorView second_moments() { return second_; }
  void clear_gradients();

  // How many numbers learn.
  std::int64_t numbers() const;

 private:
  TensorView part(Tensor& storage, int index);
  std::vector<Parameter> list_;
  std::unordered_map<std::string, int>
      places_;  // a model of thousands of layers has tens of thousands of names
  std::int64_t end_ = 0;
  Tensor values_, gradients_, first_, second_;
};

}  // namespace attend::train
