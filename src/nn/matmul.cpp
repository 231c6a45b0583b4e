#include <attend/matmul.h>
#include <attend/reference.h>

#include "base/check.h"
#include "base/rows.h"
#include "kernels/gelu/gelu_reference.h"
#include "kernels/isa.h"
#include "kernels/matmul/matmul_bf16.h"
#include "kernels/matmul/matmul_reference.h"
#include "kernels/matmul/tile_product.h"
#include "nn/host_operations.h"
#include "nn/packed_bf16.h"
#include "nn/packed_blocks.h"
#include "nn/packed_f32.h"
#include "nn/packed_int8.h"

namespace attend {
namespace {

void refuse_double(const char* operation, const NamedView& tensor) {
  if (tensor.view.dtype() == DType::f64) {
    refuse(operation, tensor.name, " is f64, expected f32, bf16 or f16");
  }
}

void check_packable(ConstTensorView w) {
  require_floats("PackedMatrix", {"w", w}, 2, 2);
  refuse_double("PackedMatrix", {"w", w});
}

void check_memory(TensorView memory, std::int64_t needed) {
  constexpr const char* kOperation = "PackedMatrix";
  if (!memory.given()) refuse(kOperation, "memory is not given");
  if (memory.strides() != row_major_strides(memory.shape())) refuse(kOperation, "memory is not contiguous");
  const std::int64_t bytes = memory.count() * static_cast<std::int64_t>(size_of(memory.dtype()));
  if (bytes < needed) refuse(kOperation, "memory has ", bytes, " bytes, expected ", needed, " or more");
  if (reinterpret_cast<std::uintptr_t>(memory.raw()) % 64 != 0)
    refuse(kOperation, "memory is not aligned to 64 bytes");
}

// Shapes and places; `w` is (k, n).
void check(const char* operation, ConstTensorView a, std::int64_t k, std::int64_t n, TensorView out,
           const MatmulEpilogue& epilogue) {
  require_floats(operation, {"a", a}, 2, kMaxRank);
  if (row_size(a) != k) {
    refuse(operation, "a has shape ", to_string(a.shape()), ", which does not match w of shape ",
           to_string(Dims{k, n}));
  }
  Dims shape(a.shape());
  shape[a.rank() - 1] = n;
  require_shape(operation, {"out", out}, shape);
  if (epilogue.bias.given()) require_shape(operation, {"bias", epilogue.bias}, {n});
  require_writable(operation, {"out", out}, {{"a", a}, {"bias", epilogue.bias}});
  if (epilogue.residual.given()) {
    require_shape(operation, {"residual", epilogue.residual}, shape);
    require_writable_in_place(operation, {"out", out}, {"residual", epilogue.residual});
  }
}

// f64 has no part in a product of other types.
void check_dtypes(const char* operation, ConstTensorView a, TensorView out, const MatmulEpilogue& epilogue) {
  for (const NamedView& tensor : {NamedView{"out", out}, {"residual", epilogue.residual}}) {
    if (tensor.view.given() && (tensor.view.dtype() == DType::f64) != (a.dtype() == DType::f64))
      require_dtype_of(operation, tensor, {"a", a});
  }
  if (epilogue.bias.given() && a.dtype() != DType::f64) refuse_double(operation, {"bias", epilogue.bias});
}

Tensor memory_for(std::int64_t rows, std::int64_t columns, Device device, PackedAs as) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  return Tensor(DType::f32, {PackedMatrix::bytes_needed(rows, columns, device, as) / kFloat}, device);
}

}  // namespace

std::string_view name_of(PackedAs as) noexcept {
  switch (as) {
    case PackedAs::f32:
      return "f32";
    case PackedAs::bf16:
      return "bf16";
    case PackedAs::int8:
      return "int8";
    case PackedAs::blocks:
      return "blocks";
  }
  return "";
}

PackedAs packed_as(Precision precision) noexcept {
  switch (precision) {
    case Precision::f32:
      return PackedAs::f32;
    case Precision::bf16:
      return PackedAs::bf16;
    case Precision::int8:
      return PackedAs::int8;
  }
  return PackedAs::f32;
}

const PackedFormat& detail::packed_format(PackedAs as) {
  static constexpr const PackedFormat* kFormats[] = {&kPackedF32, &kPackedBf16, &kPackedInt8, &kPackedBlocks};
  for (const PackedFormat* const format : kFormats) {
    if (format->as == as) return *format;
  }
  refuse("PackedMatrix", "this build has no matrices of ", name_of(as));
}

std::int64_t PackedMatrix::bytes_needed(std::int64_t rows, std::int64_t columns, Device device, PackedAs as) {
  const auto bytes = operations_of("PackedMatrix", device).packed_bytes;
  if (bytes == nullptr) refuse_missing("PackedMatrix", device);
  return bytes(as, rows, columns);
}

PackedMatrix::PackedMatrix(ConstTensorView w, PackedAs as) : as_(as) {
  check_packable(w);
  rows_ = w.size(0);
  columns_ = w.size(1);
  owned_ = memory_for(rows_, columns_, w.device(), as);
  on_device("PackedMatrix", &Operations::pack, {{"w", w}})(w, as, owned_.view().raw());
}

PackedMatrix::PackedMatrix(ConstTensorView w, TensorView memory, PackedAs as) : as_(as) {
  check_packable(w);
  rows_ = w.size(0);
  columns_ = w.size(1);
  const auto pack = on_device("PackedMatrix", &Operations::pack, {{"w", w}, {"memory", memory}});
  check_memory(memory, bytes_needed(rows_, columns_, w.device(), as));
  if (overlaps(memory, w)) refuse("PackedMatrix", "memory overlaps w");
  pack(w, as, memory.raw());
  lent_ = memory;
}

PackedMatrix::PackedMatrix(std::span<const BlockView> parts, TensorView memory) : as_(PackedAs::blocks) {
  const std::int64_t needed = bytes_needed(parts);
  if (memory.given()) {
    require_host("PackedMatrix", {{"memory", memory}});
    check_memory(memory, needed);
  } else {
    owned_ = Tensor(DType::f32, {needed / static_cast<std::int64_t>(sizeof(float))});
  }
  rows_ = parts.front().columns;
  for (const BlockView& part : parts) columns_ += part.rows;
  pack_block_parts(parts, memory.given() ? memory.raw() : owned_.view().raw());
  lent_ = memory;
}

std::int64_t PackedMatrix::bytes_needed(std::span<const BlockView> parts) {
  check_block_parts(parts);
  return bytes_of_block_parts(parts);
}

bool PackedMatrix::rounds_rows() const {
  if (as_ != PackedAs::bf16 || device() != Device{}) return false;
  kernels::require_isa();
  return kernels::multiplies_bf16() || kernels::multiplies_tiles();
}

PackedMatrix PackedMatrix::transposed() const {
  PackedMatrix result;
  result.rows_ = columns_;
  result.columns_ = rows_;
  result.owned_ = memory_for(columns_, rows_, device(), PackedAs::f32);
  on_device("PackedMatrix", &Operations::transpose_packed, {{"w", memory()}})(*this,
                                                                              result.owned_.view().raw());
  return result;
}

void matmul(ConstTensorView a, const PackedMatrix& w, TensorView out, const MatmulEpilogue& epilogue) {
  constexpr const char* kOperation = "matmul";
  check(kOperation, a, w.rows(), w.columns(), out, epilogue);
  refuse_double(kOperation, {"a", a});
  check_dtypes(kOperation, a, out, epilogue);
  const ConstTensorView memory = w.memory();
  require_writable(kOperation, {"out", out}, {{"w", memory}});
  on_device(
      kOperation, &Operations::matmul_packed,
      {{"a", a}, {"w", memory}, {"out", out}, {"bias", epilogue.bias}, {"residual", epilogue.residual}})(
      a, w, out, epilogue);
}

void matmul(ConstTensorView a, ConstTensorView w, TensorView out, const MatmulEpilogue& epilogue) {
  constexpr const char* kOperation = "matmul";
  require_floats(kOperation, {"w", w}, 2, 2);
  check(kOperation, a, w.size(0), w.size(1), out, epilogue);
  require_writable(kOperation, {"out", out}, {{"w", w}});
  check_dtypes(kOperation, a, out, epilogue);
  if (a.dtype() == DType::f64) {
    require_dtype_of(kOperation, {"w", w}, {"a", a});
  } else {
    refuse_double(kOperation, {"w", w});
  }
  on_device(kOperation, &Operations::matmul,
            {{"a", a}, {"w", w}, {"out", out}, {"bias", epilogue.bias}, {"residual", epilogue.residual}})(
      a, w, out, epilogue);
}

std::int64_t host::packed_bytes(PackedAs as, std::int64_t rows, std::int64_t columns) {
  return packed_format(as).bytes_needed(rows, columns);
}

void host::pack(ConstTensorView w, PackedAs as, void* memory) { packed_format(as).pack(w, memory); }

void host::transpose_packed(const PackedMatrix& w, void* memory) {
  packed_format(w.packed_as()).transpose(w, memory);
}

void host::matmul_packed(ConstTensorView a, const PackedMatrix& w, TensorView out,
                         const MatmulEpilogue& epilogue) {
  multiply_packed(a, w, out, epilogue);
}

void host::matmul(ConstTensorView a, ConstTensorView w, TensorView out, const MatmulEpilogue& epilogue) {
  if (a.dtype() == DType::f64) return reference::matmul(a, w, out, epilogue);
  multiply_packed(a, PackedMatrix(w), out, epilogue);
}

void reference::matmul(ConstTensorView a, ConstTensorView w, TensorView out, const MatmulEpilogue& epilogue) {
  constexpr const char* kOperation = "reference::matmul";
  require_floats(kOperation, {"w", w}, 2, 2);
  const std::int64_t k = w.size(0), n = w.size(1);
  check(kOperation, a, k, n, out, epilogue);
  require_writable(kOperation, {"out", out}, {{"w", w}});
  require_host(kOperation,
               {{"a", a}, {"w", w}, {"out", out}, {"bias", epilogue.bias}, {"residual", epilogue.residual}});
  const Tensor left = copy_of(a, DType::f64), right = copy_of(w, DType::f64);
  Tensor bias, result(DType::f64, out.shape());
  if (epilogue.bias.given()) bias = copy_of(epilogue.bias, DType::f64);
  kernels::matmul_reference(
      row_count(out), n, k, left.values<double>().data(), {k, 1}, right.values<double>().data(), {n, 1},
      epilogue.bias.given() ? bias.values<double>().data() : nullptr, result.values<double>().data(), {n, 1});
  for (double& value : result.values<double>()) {
    value = kernels::activation_reference(value, epilogue.activation);
  }
  if (epilogue.residual.given()) {
    const Tensor residual = copy_of(epilogue.residual, DType::f64);
    for (std::size_t i = 0; i < residual.values<double>().size(); ++i) {
      result.values<double>()[i] += residual.values<double>()[i];
    }
  }
  copy(result, out);
}

}  // namespace attend
