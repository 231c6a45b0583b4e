// What a launch of the fast path is given, and its launchers: one file for each, so that they compile side by
// side.
#pragma once

#include <cuda.h>

#include "cuda/attention.h"
#include "cuda/hopper/schedule.h"
#include "cuda/hopper/tile_shape.h"

namespace attend::cuda {

struct HopperParameters {
  CUtensorMap q, k, v;
  Problem problem;
  ForwardTarget target;
  Schedule schedule;
  float log2_scale;     // scale * log2(e)
  int pairs_of_output;  // whether two elements may be stored at once
};

// kGeneral: with every option; else with causal, windows, lengths and sinks, which cost nothing where nothing
// is hidden.
template <class Shape, bool kGeneral>
void launch_hopper(plugin::Place place, const HopperParameters& parameters, int blocks);

extern template void launch_hopper<Shape64, false>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<General64, true>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Shape128, false>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<General128, true>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Shape192, false>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Shape256, false>(plugin::Place, const HopperParameters&, int);

}  // namespace attend::cuda
