// The tile by vpdpbusd, which multiplies four bytes of u8 with four of s8 in each lane of 32 bits and adds
// the products up without saturation. Included inside the pragma that allows the instruction, after Vector
// was defined: what a register is, and set, load, add_products and keep on it.

// One block of the depth. `before` has the sums of those before it.
template <int kR, int kV, bool kAhead>
void add_block(const Int8Tile& tile, const char* a, const std::int8_t* const* b, std::int64_t groups,
               const std::int8_t* ahead, const float* before, std::int64_t before_row) noexcept {
  using Register = Vector::Register;
  constexpr std::int64_t kLine = kInt8Line, kStep = Vector::kBytes;
  const std::int64_t panel = int8_panel_bytes(tile.groups), a_row = tile.a_row, width = tile.panels * 16;
  Register sums[kR][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) sums[r][v] = Vector::set(0);
  }
  for (std::int64_t i = 0; i < groups; ++i) {
    Register line[kV];
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) line[v] = Vector::load(b[v] + i * kLine);
    if constexpr (kAhead) {
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) {
        if (v * kStep % kLine == 0) __builtin_prefetch(ahead + v * kStep / kLine * panel + i * kLine, 0, 2);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
      std::int32_t four;
      __builtin_memcpy(&four, a + r * a_row + i * kInt8Group, sizeof(four));
      const Register x = Vector::set(four);
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) sums[r][v] = Vector::add_products(sums[r][v], x, line[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) {
      const auto* const scales = reinterpret_cast<const float*>(b[v] + groups * kLine);
      constexpr std::int64_t kFloats = kStep / 4;
      Vector::keep(sums[r][v], scales, before + r * before_row + v * kFloats,
                   tile.sums + r * width + v * kFloats);
    }
  }
}

template <int kR, int kV>
void multiply_vnni(const Int8Tile& tile) noexcept {
  constexpr std::int64_t kLine = kInt8Line, kStep = Vector::kBytes;
  alignas(64) static constexpr float kNothing[kV * kStep / 4] = {};
  const std::int64_t panel = int8_panel_bytes(tile.groups);
  const auto* a = static_cast<const char*>(tile.a);
  const std::int8_t* b[kV];
  for (int v = 0; v < kV; ++v) b[v] = tile.b + v * kStep / kLine * panel + v * kStep % kLine;
  const std::int8_t* ahead = tile.ahead;
  for (std::int64_t first = 0; first < tile.groups; first += kInt8BlockGroups) {
    const std::int64_t left = tile.groups - first, groups = left < kInt8BlockGroups ? left : kInt8BlockGroups;
    const float* const before = first > 0 ? tile.sums : kNothing;
    const std::int64_t before_row = first > 0 ? tile.panels * 16 : 0;
    if (ahead != nullptr) {
      add_block<kR, kV, true>(tile, a, b, groups, ahead, before, before_row);
      ahead += (groups + 1) * kLine;
    } else {
      add_block<kR, kV, false>(tile, a, b, groups, nullptr, before, before_row);
    }
    for (int v = 0; v < kV; ++v) b[v] += (groups + 1) * kLine;
    a += groups * kInt8Group;
  }
}

// The registers of a panel are kV of those of a tile, so that a tile is never cut within a panel.
template <int kR, int kV>
void multiply_vnni_sized(const Int8Tile& tile) noexcept {
  constexpr int kPanel = 64 / Vector::kBytes;
  if constexpr (kV > kPanel) {
    if (tile.panels * kPanel < kV) return multiply_vnni_sized<kR, kV - kPanel>(tile);
  }
  if constexpr (kR > 1) {
    if (tile.rows < kR) return multiply_vnni_sized<kR - 1, kV>(tile);
  }
  multiply_vnni<kR, kV>(tile);
}
