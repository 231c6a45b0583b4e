// What must hold of attention that is spread over processes, whatever carries the messages: each process
// calls these functions, compares its own rows with those of the whole sequence, and fails the test where
// they differ.
#pragma once

#include <attend/spread_attention.h>

#include <string>
#include <vector>

namespace attend {

struct SpreadCase {
  std::string name;
  std::int64_t batch = 1, query_heads = 4, key_heads = 2, queries = 61, keys = 61, d = 16, dv = 16;
  AttentionOptions options{};
  bool masked = false;  // with a mask and a bias of each process's own rows
  DType dtype = DType::f32;
};

// Every option, uneven lengths, few queries, none.
std::vector<SpreadCase> spread_cases();

// The output and the row state: gathered and by heads those of one process, bit for bit; around a ring within
// rounding of float64, and the same bits again.
void check_forward(Processes& processes, const SpreadCase& one);
// The same of all gradients.
void check_backward(Processes& processes, const SpreadCase& one);
// The same of top keys, entropy and received.
void check_weights(Processes& processes, const SpreadCase& one);
// What is sent is what the closed forms say, within 1%.
void check_volume(Processes& processes);
// A message of any size arrives as it was sent, and several at once in their order.
void check_messages(Processes& processes, std::size_t bytes);

}  // namespace attend
