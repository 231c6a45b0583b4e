// The forward kernels, best first, and which of them takes a call.
#pragma once

#include "cuda/problem.h"

namespace attend::cuda {

struct ForwardTarget {
  Placed out, max, sum;  // a state that is not wanted has no data
};

// Any type that computes in f32, any head size, any strides, every option.
void portable_forward(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                      const ForwardTarget& target);

// The same for sequences of up to kMostDecodedQueries queries, their keys cut into pieces, with heads of up
// to 256. portable_forward() asks for it, and leaves the other sequences alone.
bool portable_decode_takes(const plugin::Attention& call);
void portable_decode(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                     const ForwardTarget& target);

// wgmma and TMA: compute capability 9.0, 16-bit types; head sizes up to 128 with every option, up to 256 with
// causal, windows, lengths and sinks.
bool hopper_takes(plugin::Place place, const plugin::Attention& call);
void hopper_forward(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                    const ForwardTarget& target);

// Sequences of up to kMostDecodedQueries queries, their keys cut into pieces: compute capability 9.0, 16-bit
// types, head sizes up to 256, every option but dropout. Leaves the other sequences alone.
bool decode_takes(plugin::Place place, const plugin::Attention& call);
void decode_forward(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                    const ForwardTarget& target);

// ATTEND_CUDA_KERNEL=portable has the portable kernels compute everything, to compare or to go around a
// fault.
bool portable_only();

// The table's entries.
void attention_kernel(plugin::Place place, const plugin::Attention& call, const char** name,
                      const char** why);
void attention(plugin::Place place, const plugin::Attention& call, const plugin::View& out,
               const plugin::RowState& state);

}  // namespace attend::cuda
