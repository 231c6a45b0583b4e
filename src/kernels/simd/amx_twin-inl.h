// The tile instructions in software, for tests on machines that have none and under sanitizers, which do not
// see what instructions read and write: a build with ATTEND_AMX_TWIN has these in place of amx-inl.h's own,
// under the same names, and says that every processor with AVX512-BF16 has tiles. Same sums, to the bit.
// Included by amx-inl.h, inside its namespace.

struct TwinTiles {
  alignas(64) std::uint8_t bytes[8][kTileRows * kTileBytes];
  bool configured;
};
inline thread_local TwinTiles twin_tiles{};

// A tile that nobody has configured, as the processor has it: an illegal instruction.
HWY_INLINE std::uint8_t* twin_tile(int tile) {
  if (!twin_tiles.configured) __builtin_trap();
  return twin_tiles.bytes[tile];
}

// What the tiles held before is gone: they are numbers that spoil any sum.
class TileScope {
 public:
  HWY_INLINE TileScope() {
    if (twin_tiles.configured) __builtin_trap();  // the inner of two would release the outer's tiles
    std::memset(twin_tiles.bytes, 0x7f, sizeof(twin_tiles.bytes));
    twin_tiles.configured = true;
  }
  HWY_INLINE ~TileScope() { twin_tiles.configured = false; }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

template <int kTile>
HWY_INLINE void tile_zero() {
  std::memset(twin_tile(kTile), 0, kTileRows * kTileBytes);
}

template <int kTile>
HWY_INLINE void tile_load(const void* rows, std::int64_t stride) {
  std::uint8_t* const to = twin_tile(kTile);
  for (std::int64_t r = 0; r < kTileRows; ++r)
    std::memcpy(to + r * kTileBytes, static_cast<const char*>(rows) + r * stride, kTileBytes);
}
template <int kTile>
HWY_INLINE void tile_store(void* rows, std::int64_t stride) {
  const std::uint8_t* const from = twin_tile(kTile);
  for (std::int64_t r = 0; r < kTileRows; ++r)
    std::memcpy(static_cast<char*>(rows) + r * stride, from + r * kTileBytes, kTileBytes);
}

// Subnormal numbers as 0, with their sign.
HWY_INLINE V without_subnormals(V x) {
  const DI d;
  const auto bits = hn::BitCast(d, x);
  const auto small = hn::Eq(hn::And(bits, hn::Set(d, 0x7f800000)), hn::Zero(d));
  const auto sign = hn::And(bits, hn::Set(d, static_cast<std::int32_t>(0x80000000u)));
  return hn::BitCast(D(), hn::IfThenElse(small, sign, bits));
}

// Even and odd places apart, each a chain of fused multiplications in order of the depth.
template <int kSum, int kA, int kB>
HWY_INLINE void tile_multiply_bf16() {
  const D d;
  auto* const sums = reinterpret_cast<float*>(twin_tile(kSum));
  const auto* const a = reinterpret_cast<const std::int32_t*>(twin_tile(kA));
  const auto* const b = reinterpret_cast<const std::int32_t*>(twin_tile(kB));
  for (std::int64_t r = 0; r < 16; ++r) {
    V even = hn::Zero(d), odd = hn::Zero(d);
    for (std::int64_t i = 0; i < 16; ++i) {
      const Pairs x = same_pair(a[r * 16 + i]), y = hn::Load(DI(), b + i * 16);
      even = without_subnormals(
          hn::MulAdd(without_subnormals(first_of(x)), without_subnormals(first_of(y)), even));
      odd = without_subnormals(
          hn::MulAdd(without_subnormals(second_of(x)), without_subnormals(second_of(y)), odd));
    }
    const V both = without_subnormals(hn::Add(even, odd)),
            sum = hn::Add(without_subnormals(hn::Load(d, sums + r * 16)), both);
    hn::Store(without_subnormals(sum), d, sums + r * 16);
  }
}

template <int kSum, int kA, int kB, bool kSigned>
HWY_INLINE void tile_multiply_int8() {
  const DI d;
  auto* const sums = reinterpret_cast<std::int32_t*>(twin_tile(kSum));
  const std::uint8_t* const a = twin_tile(kA);
  const auto* const b = reinterpret_cast<const std::int32_t*>(twin_tile(kB));
  for (std::int64_t r = 0; r < 16; ++r) {
    auto sum = hn::Load(d, sums + r * 16);
    for (std::int64_t i = 0; i < 16; ++i) {
      const auto four = hn::Load(d, b + i * 16);
      for (int p = 0; p < 4; ++p) {
        const std::uint8_t x = a[r * kTileBytes + i * 4 + p];
        const auto y = hn::ShiftRight<24>(hn::ShiftLeftSame(four, 24 - 8 * p));
        sum = hn::Add(sum, hn::Mul(y, hn::Set(d, kSigned ? static_cast<std::int8_t>(x) : x)));
      }
    }
    hn::Store(sum, d, sums + r * 16);
  }
}
