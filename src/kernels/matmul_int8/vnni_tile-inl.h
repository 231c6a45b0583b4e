// The tile by vpdpbusd, which multiplies four bytes of u8 with four of s8 in each lane of 32 bits and adds
// the products up without saturation. Included inside the pragma that allows the instruction, after Vector
// was defined: what a register is, and set, load, add_products, store on it.
template <int kR, int kV>
void multiply_vnni(const Int8Tile& tile) noexcept {
  constexpr std::int64_t kLine = 64, kStep = Vector::kBytes;
  using Register = Vector::Register;
  Register sums[kR][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) sums[r][v] = Vector::set(0);
  }
  const std::int64_t panel = tile.groups * kLine, groups = tile.groups, a_row = tile.a_row;
  const auto* const a = static_cast<const char*>(tile.a);
  const std::int8_t* b[kV];
  for (int v = 0; v < kV; ++v) b[v] = tile.b + v * kStep / kLine * panel + v * kStep % kLine;
  const std::int8_t* const ahead = tile.ahead;
  for (std::int64_t i = 0; i < groups; ++i) {
    Register line[kV];
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) line[v] = Vector::load(b[v] + i * kLine);
    if (ahead != nullptr) {
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
  const std::int64_t width = tile.panels * 16;
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) Vector::store(tile.sums + r * width + v * kStep / 4, sums[r][v]);
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
