#include "kernels/blocks/block_products.h"

#include <attend/dtype.h>

#include <algorithm>

#include "kernels/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/blocks/block_products.cpp"
#include <hwy/foreach_target.h>

#include "kernels/blocks/block_tile-inl.h"
#include "kernels/matmul/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

template <BlockType kType>
HWY_ATTR void multiply_as(const PanelProducts& p) {
  for (std::int64_t r = 0; r < p.rows; r += kMostVectors)
    block_tile<kType>(p.rows - r, p.panel, p.blocks, p.vectors + r * p.blocks, p.sums + r * kBlockColumns);
}

HWY_ATTR void multiply_panel(const PanelProducts& p) {
  with_block_type(p.type, [&]<BlockType kType>() HWY_ATTR { multiply_as<kType>(p); });
}

// A panel stays in the first-level cache while all vectors pass, and its sums until they are finished.
HWY_ATTR void multiply_blocks(const BlockProducts& p, PanelKernel kernel) {
  HWY_ALIGN float sums[kBlockRows * kBlockColumns];
  const std::int64_t bytes = panel_bytes(p.type, p.blocks);
  for (std::int64_t column = 0; column < p.columns; column += kBlockColumns) {
    const PanelProducts panel{p.type, p.panels + column / kBlockColumns * bytes, p.blocks, p.vectors, p.rows,
                              sums};
    kernel != nullptr ? kernel(panel) : multiply_panel(panel);
    finish(p.finish, 0, p.rows, column, std::min(kBlockColumns, p.columns - column), sums, kBlockColumns);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(multiply_blocks);

// Null where the instruction set in use has no such instruction.
PanelKernel panel_kernel() noexcept {
#if defined(__x86_64__)
  if (has_extension(Extension::avx512_vnni)) return panel_products_vnni;
  if (has_extension(Extension::avx_vnni)) return panel_products_avx_vnni;
#elif defined(__aarch64__)
  if (has_extension(Extension::neon_dot)) return panel_products_neon_dot;
#endif
  return nullptr;
}

}  // namespace

void block_products(const BlockProducts& products) noexcept {
  HWY_DYNAMIC_DISPATCH(multiply_blocks)(products, panel_kernel());
}

}  // namespace attend::kernels
#endif
