// Random attention cases for property tests; rapidcheck shrinks a failing one to its simplest form.
#pragma once

#include <rapidcheck.h>

#include "support/attention_case.h"

namespace attend {

inline AttentionCase arbitrary_case(DType dtype = DType::f32, std::int64_t longest = 40) {
  const auto flag = [] { return *rc::gen::arbitrary<bool>(); };
  const auto below = [](int n) { return *rc::gen::inRange(0, n); };
  AttentionCase c;
  c.dtype = dtype;
  c.batch = 1 + below(3);
  c.key_heads = 1 + below(3);
  c.group = 1 + below(3);
  c.queries = below(static_cast<int>(longest) + 1);
  c.keys = below(static_cast<int>(longest) + 1);
  c.d = 1 + below(40);
  c.dv = 1 + below(40);
  c.causal = flag();
  c.offset = static_cast<CaseOffset>(below(4));
  if (flag()) c.window_left = below(20);
  if (flag()) c.window_right = below(20);
  c.key_lengths = flag();
  c.mask = static_cast<CaseMask>(below(5));
  c.bias = static_cast<CaseBias>(below(5));
  c.alibi = flag();
  c.softcap = flag();
  c.sinks = flag();
  c.own_scale = flag();
  c.packed = flag();
  c.memory = static_cast<CaseMemory>(below(4));
  c.seed = *rc::gen::arbitrary<std::uint32_t>();
  return c;
}

}  // namespace attend

#define EXPECT_PROPERTY(...) EXPECT_TRUE(rc::check(__VA_ARGS__))
