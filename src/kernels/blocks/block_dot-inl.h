// A panel of blocks times a few vectors, where one instruction multiplies four bytes with four in each lane
// of 32 bits and adds the products up. The four numbers of a vector are read by broadcast. A tile is
// Vector::kColumns columns and up to Vector::kVectors vectors, which share the unpacked numbers.
//
// Included inside the pragma that allows the instruction, after Vector was defined: what registers are, and
// the few operations below. Where dot() takes signed numbers on both sides (kSigned), those of 8 bits have
// 128 taken away before, else exactly from the sum.

// The numbers of a block as bytes: register v has numbers [4 v, 4 v + 4) of each column.
template <BlockType kType>
inline void unpack(const std::byte* numbers, Vector::Bytes (&u)[8]) {
  constexpr std::int64_t kLine = 4 * kBlockColumns;
  const auto load = [&](int v) { return Vector::load(numbers + kLine * v); };
  if constexpr (kType == BlockType::q8_0) {
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v)
      u[v] = Vector::kSigned ? Vector::exclusive_or(load(v), Vector::bytes(0x80)) : load(v);
  } else {
    const Vector::Bytes low = Vector::bytes(15);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const Vector::Bytes both = load(v);
      u[v] = Vector::bit_and(both, low);
      u[v + 4] = Vector::bit_and(Vector::shift_right<4>(both), low);
    }
  }
  if constexpr (kType == BlockType::q6_k) {
    const Vector::Bytes upper = Vector::bytes(0x30);
    const auto with = [&](Vector::Bytes four, Vector::Bytes two) {
      return Vector::bit_or(four, Vector::bit_and(two, upper));
    };
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const Vector::Bytes bits = load(4 + h);
      u[4 * h] = with(u[4 * h], Vector::shift_left<4>(bits));
      u[4 * h + 1] = with(u[4 * h + 1], Vector::shift_left<2>(bits));
      u[4 * h + 2] = with(u[4 * h + 2], bits);
      u[4 * h + 3] = with(u[4 * h + 3], Vector::shift_right<2>(bits));
    }
  }
}

// What a block's numbers are multiplied by; `other` is the offset, or the scale of the second half.
struct Scales {
  Vector::Floats scale, other;
};

template <BlockType kType>
inline Scales scales_of(const std::byte* scales, std::int64_t block, std::int64_t column) {
  constexpr std::int64_t kHalves = 2 * kBlockColumns;
  if constexpr (kType == BlockType::q4_0 || kType == BlockType::q8_0) {
    const Vector::Floats scale = Vector::halves(scales + block * kHalves + 2 * column);
    return {scale, scale};
  } else if constexpr (kType == BlockType::q4_1) {
    const std::byte* const both = scales + block * 2 * kHalves + 2 * column;
    return {Vector::halves(both), Vector::halves(both + kHalves)};
  } else {
    constexpr std::int64_t kGroup = panel_scale_bytes(kType, kGroupBlocks);
    constexpr std::int64_t kOfGroup = (kType == BlockType::q4_k ? 2 : 1) * kHalves;
    const std::byte* const group = scales + block / kGroupBlocks * kGroup;
    const std::byte* const both = group + kOfGroup + block % kGroupBlocks * 2 * kBlockColumns + column;
    const Vector::Floats d = Vector::halves(group + 2 * column);
    if constexpr (kType == BlockType::q6_k) {
      return {Vector::multiply(d, Vector::signed_bytes(both)),
              Vector::multiply(d, Vector::signed_bytes(both + kBlockColumns))};
    } else {
      const Vector::Floats offset = Vector::multiply(Vector::halves(group + kHalves + 2 * column),
                                                     Vector::unsigned_bytes(both + kBlockColumns));
      return {Vector::multiply(d, Vector::unsigned_bytes(both)), Vector::negative(offset)};
    }
  }
}

inline Vector::Bytes four_of(const VectorBlock& vector, int v) {
  std::int32_t four;
  __builtin_memcpy(&four, vector.values + 4 * v, sizeof(four));
  return Vector::four_bytes(four);
}

template <BlockType kType>
inline Vector::Floats add_block(const Vector::Bytes (&u)[8], const Scales& scales, const VectorBlock& vector,
                                Vector::Floats sum) {
  constexpr bool kHalved = kType == BlockType::q6_k;
  Vector::Sums first = Vector::sums(0), second = first;
  if constexpr (kType == BlockType::q4_0) first = Vector::sums(vector.minus_8);
  if constexpr (kType == BlockType::q8_0 && !Vector::kSigned) first = Vector::sums(vector.minus_128);
  if constexpr (kHalved) {
    first = Vector::sums(vector.minus_32[0]);
    second = Vector::sums(vector.minus_32[1]);
  }
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    first = Vector::dot(first, u[v], four_of(vector, v));
    second = Vector::dot(second, u[v + 4], four_of(vector, v + 4));
  }
  const Vector::Floats scale = Vector::floats(vector.scale);
  if constexpr (kHalved) {
    sum = Vector::multiply_add(Vector::as_floats(first), Vector::multiply(scales.scale, scale), sum);
    return Vector::multiply_add(Vector::as_floats(second), Vector::multiply(scales.other, scale), sum);
  } else {
    const Vector::Floats products = Vector::as_floats(Vector::add(first, second));
    sum = Vector::multiply_add(products, Vector::multiply(scales.scale, scale), sum);
    if constexpr (kType == BlockType::q4_1 || kType == BlockType::q4_k)
      sum = Vector::multiply_add(scales.other, Vector::floats(vector.weighted), sum);
    return sum;
  }
}

// Columns of one panel from `column` on, and kR vectors.
template <BlockType kType, int kR>
void tile(const PanelProducts& p, std::int64_t column, std::int64_t row) {
  const std::byte* const numbers = p.panel + 4 * column;
  const std::byte* const scales = p.panel + p.blocks * panel_number_bytes(kType);
  const VectorBlock* const vectors = p.vectors + row * p.blocks;
  Vector::Floats sums[kR];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) sums[r] = Vector::floats(0);
  for (std::int64_t b = 0; b < p.blocks; ++b) {
    Vector::Bytes u[8];
    unpack<kType>(numbers + b * panel_number_bytes(kType), u);
    const Scales scale = scales_of<kType>(scales, b, column);
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) sums[r] = add_block<kType>(u, scale, vectors[r * p.blocks + b], sums[r]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) Vector::store(p.sums + (row + r) * kBlockColumns + column, sums[r]);
}

template <BlockType kType, int kR = Vector::kVectors>
void tile_of(const PanelProducts& p, std::int64_t row) {
  if constexpr (kR > 1) {
    if (p.rows - row < kR) return tile_of<kType, kR - 1>(p, row);
  }
  for (std::int64_t column = 0; column < kBlockColumns; column += Vector::kColumns)
    tile<kType, kR>(p, column, row);
}

inline void multiply_panel(const PanelProducts& p) {
  with_block_type(p.type, [&]<BlockType kType>() {
    for (std::int64_t row = 0; row < p.rows; row += Vector::kVectors) tile_of<kType>(p, row);
  });
}
