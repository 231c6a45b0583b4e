// The cache of keys and values: what was appended is what is attended to, in any portions, and nothing is
// lost when something goes wrong.
#include <attend/cache.h>
#include <attend/reference.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/compare.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr std::int64_t kBatch = 2, kHeads = 3, kD = 20, kDv = 12;

struct Rows {
  explicit Rows(std::int64_t length, DType dtype = DType::f32, std::uint64_t seed = 1)
      : k(random_normal({kBatch, kHeads, length, kD}, dtype, seed)),
        v(random_normal({kBatch, kHeads, length, kDv}, dtype, seed + 1)) {}
  Tensor k, v;
  ConstTensorView keys(std::int64_t begin, std::int64_t end) const { return k.view().slice(2, begin, end); }
  ConstTensorView values(std::int64_t begin, std::int64_t end) const { return v.view().slice(2, begin, end); }
};

KeyValueCache empty_cache(DType dtype = DType::f32, std::int64_t capacity = 0) {
  return {dtype, kBatch, kHeads, kD, kDv, capacity};
}

Tensor queries(std::int64_t length, DType dtype = DType::f32) {
  return random_normal({kBatch, 2 * kHeads, length, kD}, dtype, 9);
}

TEST(Cache, GivesBackWhatWasAppendedInAnyPortions) {
  const Rows rows(700);
  KeyValueCache cache = empty_cache();
  std::int64_t at = 0;
  for (const std::int64_t portion : {1, 1, 1, 5, 0, 92, 500, 100}) {
    cache.append(rows.keys(at, at + portion), rows.values(at, at + portion));
    at += portion;
    EXPECT_EQ(cache.length(), at);
    EXPECT_GE(cache.capacity(), at);
    EXPECT_TRUE(same_bits(cache.keys(), rows.keys(0, at)));
    EXPECT_TRUE(same_bits(cache.values(), rows.values(0, at)));
  }
  EXPECT_EQ(at, 700);
}

// A prompt at once and then token by token, against the whole text at once, causal: the same kernel gives the
// same bits, and the last rows of the whole agree but for rounding.
TEST(Cache, DecodingEqualsAttentionOverTheWholeText) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const std::int64_t n = 560, prompt = 500;
    const Rows rows(n, dtype);
    const Tensor q = queries(n, dtype);
    AttentionOptions causal;
    causal.causal = true;
    causal.alibi_slopes.assign(2 * kHeads, 0.05);
    causal.precision = Precision::f32;
    Tensor whole(DType::f32, {kBatch, 2 * kHeads, n, kDv});
    attention(q, rows.k, rows.v, causal, whole);
    KeyValueCache cache = empty_cache(dtype), at_once = empty_cache(dtype, n);
    cache.append(rows.keys(0, prompt), rows.values(0, prompt));
    for (std::int64_t i = prompt; i < n; ++i) {
      cache.append(rows.keys(i, i + 1), rows.values(i, i + 1));
      if (i % 10 != 0) continue;
      const ConstTensorView token = q.view().slice(2, i, i + 1);
      Tensor out(DType::f32, {kBatch, 2 * kHeads, 1, kDv}), again(DType::f32, out.shape());
      cache.attention(token, causal, out);
      EXPECT_LE(max_abs_difference(out, whole.view().slice(2, i, i + 1)), 2e-6) << i;
      at_once.clear();
      at_once.append(rows.keys(0, i + 1), rows.values(0, i + 1));
      at_once.attention(token, causal, again);
      EXPECT_TRUE(same_bits(out, again)) << i;
    }
  }
}

TEST(Cache, QueriesAreTheLastRowsUnlessToldOtherwise) {
  const Rows rows(40);
  const Tensor q = queries(3);
  KeyValueCache cache = empty_cache();
  cache.append(rows.k, rows.v);
  AttentionOptions causal;
  causal.causal = true;
  const auto direct = [&](QueryOffset offset) {
    AttentionOptions options = causal;
    options.query_offset = offset;
    return attention(q, rows.k, rows.v, options);
  };
  EXPECT_TRUE(same_bits(cache.attention(q, causal), direct(37)));
  for (const QueryOffset& offset :
       {QueryOffset(0), QueryOffset::top_left(), QueryOffset(5), QueryOffset({3, 30})}) {
    AttentionOptions told = causal;
    told.query_offset = offset;
    EXPECT_TRUE(same_bits(cache.attention(q, told), direct(offset)));
  }
}

TEST(Cache, SequencesMayDifferInLength) {
  const Rows prompt(30), token(1, DType::f32, 5);
  const std::vector<std::int64_t> counts = {30, 11};
  KeyValueCache cache = empty_cache();
  const std::vector<std::int64_t> before = cache.lengths();
  cache.append(prompt.k, prompt.v, counts);
  EXPECT_EQ(cache.lengths(), counts);
  EXPECT_EQ(cache.length(), 30);

  // The prompt's own queries stand where the cache ended before it.
  const Tensor q = queries(30), one = queries(1);
  AttentionOptions options;
  options.causal = true;
  options.query_offset = before;
  const Tensor prefill = cache.attention(q, options);
  cache.append(token.k, token.v);
  EXPECT_EQ(cache.lengths(), (std::vector<std::int64_t>{31, 12}));
  options.query_offset = {};
  RowState state(one);
  Tensor step(DType::f32, {kBatch, 2 * kHeads, 1, kDv});
  cache.attention(one, options, step, state);

  for (std::int64_t b = 0; b < kBatch; ++b) {
    const std::int64_t own = counts[static_cast<std::size_t>(b)];
    KeyValueCache alone(DType::f32, 1, kHeads, kD, kDv);
    alone.append(prompt.keys(0, own).slice(0, b, b + 1), prompt.values(0, own).slice(0, b, b + 1));
    const ConstTensorView own_q = q.view().slice(0, b, b + 1).slice(2, 0, own);
    AttentionOptions causal;
    causal.causal = true;
    EXPECT_TRUE(
        same_bits(alone.attention(own_q, causal), prefill.view().slice(0, b, b + 1).slice(2, 0, own)));
    alone.append(token.keys(0, 1).slice(0, b, b + 1), token.values(0, 1).slice(0, b, b + 1));
    EXPECT_TRUE(
        same_bits(alone.attention(one.view().slice(0, b, b + 1), causal), step.view().slice(0, b, b + 1)));
  }
}

TEST(Cache, RoundsToItsOwnTypeAndTakesQueriesOfAnother) {
  const Rows rows(33, DType::f64);
  for (const DType stored : {DType::f32, DType::bf16, DType::f16}) {
    KeyValueCache cache = empty_cache(stored);
    cache.append(rows.k, rows.v);
    const Tensor k = copy_of(rows.k, stored), v = copy_of(rows.v, stored);
    EXPECT_TRUE(same_bits(cache.keys(), k));
    EXPECT_TRUE(same_bits(cache.values(), v));
    for (const std::int64_t length : {1, 20}) {  // decoded, and not
      const Tensor q = queries(length);
      Tensor expected(DType::f64, {kBatch, 2 * kHeads, length, kDv});
      reference::attention(copy_of(q, DType::f64), copy_of(k, DType::f64), copy_of(v, DType::f64), {},
                           expected);
      EXPECT_LE(max_abs_difference(cache.attention(q), expected), 1e-5) << name_of(stored);
    }
  }
  KeyValueCache wide = empty_cache(DType::f64);
  wide.append(rows.k, rows.v);
  EXPECT_REFUSES(wide.attention(queries(1)), "[KeyValueCache::attention] key is f64 but query is f32");
  EXPECT_EQ(wide.attention(queries(1, DType::f64)).dtype(), DType::f64);
}

TEST(Cache, Int8RoundsEachRowToItsOwnScale) {
  const Rows rows(70);
  KeyValueCache cache(CacheType::int8, kBatch, kHeads, kD, kDv);
  for (std::int64_t at = 0; at < 70; at += 7) cache.append(rows.keys(at, at + 7), rows.values(at, at + 7));
  const Tensor keys = cache.read_keys();
  ASSERT_EQ(keys.view().shape(), rows.k.view().shape());
  for (std::int64_t row = 0; row < keys.count() / kD; ++row) {
    const float* const stored = keys.values<float>().data() + row * kD;
    const float* const given = rows.k.values<float>().data() + row * kD;
    float largest = 0;
    for (std::int64_t i = 0; i < kD; ++i) largest = std::max(largest, std::abs(given[i]));
    for (std::int64_t i = 0; i < kD; ++i) ASSERT_NEAR(stored[i], given[i], largest / 253);
  }
  EXPECT_TRUE(cache.is_int8());
  EXPECT_EQ(cache.head_size(), kD);
  EXPECT_LT(cache.bytes(), kBatch * kHeads * cache.capacity() * (kD + kDv + 8) + 1);
  EXPECT_REFUSES(cache.keys(), "[KeyValueCache::keys] a cache in int8 has no numbers to view");
  EXPECT_REFUSES(cache.values(), "[KeyValueCache::values] a cache in int8 has no numbers to view");
}

// Few queries read the rows as they lie, many a copy: both see the numbers that read_keys() has, in every
// option.
TEST(Cache, Int8IsAttendedToAsWhatItStandsFor) {
  for (const std::int64_t n : {5, 16, 700}) {
    const Rows rows(n);
    KeyValueCache cache(CacheType::int8, kBatch, kHeads, kD, kDv);
    cache.append(rows.k, rows.v);
    KeyValueCache same(CacheType::f32, kBatch, kHeads, kD, kDv);
    same.append(cache.read_keys(), cache.read_values());
    for (const std::int64_t queries_now : {1, 3, 5}) {
      const Tensor q = queries(queries_now);
      AttentionOptions options;
      EXPECT_LT(max_abs_difference(cache.attention(q, options), same.attention(q, options)), 2e-6);
      options.causal = true;
      options.softcap = 3;
      options.alibi_slopes.assign(2 * kHeads, 0.05);
      EXPECT_LT(max_abs_difference(cache.attention(q, options), same.attention(q, options)), 2e-6);
    }
  }
  const Rows rows(40);
  KeyValueCache cache(CacheType::int8, kBatch, kHeads, kD, kDv);
  cache.append(rows.k, rows.v);
  KeyValueCache same(CacheType::f32, kBatch, kHeads, kD, kDv);
  same.append(cache.read_keys(), cache.read_values());
  EXPECT_TRUE(same_bits(cache.attention(queries(30)), same.attention(queries(30))));
}

TEST(Cache, Int8KeepsWhatIsNotFiniteWhereItIs) {
  Rows rows(20);
  rows.k.values<float>()[7 * kD + 2] = std::numeric_limits<float>::quiet_NaN();  // key 7 of the first head
  rows.v.values<float>()[7 * kDv + 2] = std::numeric_limits<float>::infinity();
  KeyValueCache cache(CacheType::int8, kBatch, kHeads, kD, kDv);
  cache.append(rows.k, rows.v);
  AttentionOptions options;
  options.key_lengths = {7, 20};
  for (const double value : values_of(cache.attention(queries(1), options)))
    EXPECT_TRUE(std::isfinite(value));
  const std::vector<double> all = values_of(cache.attention(queries(1)));
  EXPECT_TRUE(std::isnan(all[0]));
  EXPECT_TRUE(std::isfinite(all[2 * kDv]));  // of the next key head
}

TEST(Cache, AnEmptyOneGivesZero) {
  KeyValueCache cache = empty_cache();
  EXPECT_EQ(cache.length(), 0);
  EXPECT_EQ(cache.keys().shape(), (Dims{kBatch, kHeads, 0, kD}));
  for (const double value : values_of(cache.attention(queries(1), {.causal = true}))) EXPECT_EQ(value, 0);
  const Rows none(0);
  cache.append(none.k, none.v);
  EXPECT_EQ(cache.length(), 0);
  KeyValueCache nobody(DType::f32, 0, kHeads, kD, kDv);
  nobody.append(Tensor(DType::f32, {0, kHeads, 4, kD}), Tensor(DType::f32, {0, kHeads, 4, kDv}));
  EXPECT_EQ(nobody.attention(Tensor(DType::f32, {0, kHeads, 1, kD})).count(), 0);
}

TEST(Cache, TakesBackAndStartsAgain) {
  const Rows rows(50);
  KeyValueCache cache = empty_cache(DType::f32, 50);
  cache.append(rows.k, rows.v);
  cache.truncate(20);
  EXPECT_TRUE(same_bits(cache.keys(), rows.keys(0, 20)));
  cache.append(rows.keys(20, 31), rows.values(20, 31));
  EXPECT_TRUE(same_bits(cache.values(), rows.values(0, 31)));
  cache.truncate(std::vector<std::int64_t>{31, 4});
  EXPECT_EQ(cache.lengths(), (std::vector<std::int64_t>{31, 4}));
  cache.truncate(10);
  EXPECT_EQ(cache.lengths(), (std::vector<std::int64_t>{10, 4}));
  cache.clear();
  EXPECT_EQ(cache.length(), 0);
  EXPECT_EQ(cache.capacity(), 50);
}

TEST(Cache, GrowsByDoubling) {
  const Rows row(1);
  KeyValueCache cache = empty_cache();
  int growths = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t before = cache.capacity();
    cache.append(row.k, row.v);
    growths += cache.capacity() != before ? 1 : 0;
  }
  EXPECT_EQ(growths, 11);
  cache.reserve(5000);
  EXPECT_EQ(cache.capacity(), 5000);
  cache.reserve(10);
  EXPECT_EQ(cache.capacity(), 5000);
  EXPECT_EQ(cache.length(), 1000);
  EXPECT_TRUE(same_bits(cache.keys().slice(2, 999, 1000), row.k));
}

// Its own rows again, with and without growth, keys of one length; and rows left behind a truncate().
TEST(Cache, TakesViewsOfItself) {
  const Rows rows(10);
  for (const std::int64_t capacity : {0, 100}) {
    KeyValueCache cache = empty_cache(DType::f32, capacity);
    cache.append(rows.k, rows.v);
    cache.append(cache.keys(), cache.values());
    EXPECT_TRUE(same_bits(cache.keys().slice(2, 0, 10), rows.k));
    EXPECT_TRUE(same_bits(cache.keys().slice(2, 10, 20), rows.k));
    EXPECT_TRUE(same_bits(cache.values().slice(2, 10, 20), rows.v));
  }
  KeyValueCache cache = empty_cache(DType::f32, 20);
  cache.append(rows.k, rows.v);
  const ConstTensorView k = cache.keys(), v = cache.values();
  cache.truncate(5);
  cache.append(k.slice(2, 1, 10), v.slice(2, 1, 10));  // onto rows 5 to 13, which it reads
  EXPECT_TRUE(same_bits(cache.keys().slice(2, 5, 14), rows.keys(1, 10)));
  EXPECT_TRUE(same_bits(cache.values().slice(2, 5, 14), rows.values(1, 10)));
}

TEST(Cache, TakesAnyStrides) {
  const Tensor k = random_normal({kBatch, 7, kHeads, kD}, DType::f32, 1),
               v = random_normal({kBatch, kHeads, kDv, 7}, DType::f32, 2);
  KeyValueCache cache = empty_cache();
  cache.append(k.view().transposed(1, 2), v.view().transposed(2, 3));
  EXPECT_TRUE(same_bits(cache.keys(), k.view().transposed(1, 2)));
  EXPECT_TRUE(same_bits(cache.values(), v.view().transposed(2, 3)));
}

TEST(Cache, RefusesAndStaysAsItWas) {
  const Rows rows(6);
  KeyValueCache cache = empty_cache();
  cache.append(rows.k, rows.v);
  const Tensor f32(DType::f32, {kBatch, kHeads, 6, kDv});
  EXPECT_REFUSES(cache.append({}, rows.v), "[KeyValueCache::append] key is not given");
  EXPECT_REFUSES(cache.append(rows.k, {}), "[KeyValueCache::append] value is not given");
  EXPECT_REFUSES(cache.append(f32, rows.v), "key has shape (2, 3, 6, 12), expected (2, 3, 6, 20)");
  EXPECT_REFUSES(cache.append(rows.k, rows.k), "value has shape (2, 3, 6, 20), expected (2, 3, 6, 12)");
  EXPECT_REFUSES(cache.append(rows.keys(0, 5), rows.v),
                 "value has shape (2, 3, 6, 12), expected (2, 3, 5, 12)");
  EXPECT_REFUSES(cache.append(Tensor(DType::boolean, {kBatch, kHeads, 6, kD}), rows.v), "key is boolean");
  EXPECT_REFUSES(cache.append(rows.k.view().select(0, 0), rows.v), "key has shape (3, 6, 20)");
  EXPECT_REFUSES(cache.append(rows.k, rows.v, std::vector<std::int64_t>{1}),
                 "counts has 1 entries for 2 sequences");
  EXPECT_REFUSES(cache.append(rows.k, rows.v, std::vector<std::int64_t>{1, 7}),
                 "counts[1] is 7, expected 0 to 6");
  EXPECT_REFUSES(cache.append(rows.k, rows.v, std::vector<std::int64_t>{-1, 0}),
                 "counts[0] is -1, expected 0 to 6");
  EXPECT_REFUSES(cache.truncate(7), "[KeyValueCache::truncate] length is 7, expected 0 to 6");
  EXPECT_REFUSES(cache.truncate(-1), "length is -1");
  EXPECT_REFUSES(cache.truncate(std::vector<std::int64_t>{7, 0}), "lengths[0] is 7, expected 0 to 6");
  EXPECT_REFUSES(cache.truncate(std::vector<std::int64_t>{1}), "lengths has 1 entries for 2 sequences");
  EXPECT_REFUSES(cache.reserve(-1), "[KeyValueCache::reserve] capacity is -1, expected 0 or more");
  EXPECT_REFUSES(cache.attention(queries(1), {.key_lengths = {6, 7}}),
                 "key_lengths[1] is 7, but sequence 1 has 6 keys");
  EXPECT_REFUSES(cache.attention(queries(1), {.key_lengths = {6}}),
                 "key_lengths has 1 entries for 2 sequences");
  EXPECT_REFUSES(cache.attention(queries(1), {.cumulative_query_lengths = {0, 1}}), "not packed ones");
  EXPECT_REFUSES(cache.attention({}), "[KeyValueCache::attention] query is not given");
  EXPECT_TRUE(same_bits(cache.keys(), rows.k));
  EXPECT_TRUE(same_bits(cache.values(), rows.v));

  EXPECT_REFUSES(KeyValueCache(DType::boolean, 1, 1, 1, 1), "[KeyValueCache] boolean is not a floating type");
  EXPECT_REFUSES(KeyValueCache(DType::i64, 1, 1, 1, 1), "[KeyValueCache] i64 is not a floating type");
  EXPECT_REFUSES(KeyValueCache(DType::f32, -1, 1, 1, 1), "batch is -1, expected 0 or more");
  EXPECT_REFUSES(KeyValueCache(DType::f32, 1, 1, 0, 1), "d is 0, expected 1 or more");
  EXPECT_REFUSES(KeyValueCache(DType::f32, 1, 1, 1, 1, -1), "capacity is -1");
  EXPECT_REFUSES(KeyValueCache(DType::f32, 1 << 20, 1 << 20, 1 << 20, 1, 1 << 20),
                 "more elements than 64 bits");
}

// Room that cannot be had: the exception says so, and the cache is as it was.
TEST(Cache, ARowTooManyChangesNothing) {
  const Rows rows(6);
  KeyValueCache cache = empty_cache();
  cache.append(rows.k, rows.v);
  EXPECT_REFUSES(cache.reserve(std::numeric_limits<std::int64_t>::max()), "more elements than 64 bits");
  // Rows that all lie in one place: as many as one likes, without memory of their own.
  const float zero[kDv + kD] = {};
  const std::int64_t many = std::int64_t{1} << 56;
  const ConstTensorView k(zero, {kBatch, kHeads, many, kD}, {0, 0, 0, 1});
  const ConstTensorView v(zero, {kBatch, kHeads, many, kDv}, {0, 0, 0, 1});
  EXPECT_REFUSES(cache.append(k, v), "than 64 bits can count");
  EXPECT_EQ(cache.length(), 6);
  EXPECT_TRUE(same_bits(cache.keys(), rows.k));
  EXPECT_TRUE(same_bits(cache.values(), rows.v));
}

}  // namespace
}  // namespace attend
