// What a launch of the fast path is given, and its launchers: a file for every few, so that they compile side
// by side.
#pragma once

#include <cuda.h>

#include "cuda/attention.h"
#include "cuda/hopper/bias_rows.h"
#include "cuda/hopper/mask_words.h"
#include "cuda/hopper/schedule.h"
#include "cuda/hopper/tanh.h"
#include "cuda/hopper/tile_shape.h"

namespace attend::cuda {

// What the loop does to scores. Each has causal, windows, lengths and sinks, which cost nothing where nothing
// is hidden; the first five know one option or none, and the last takes any, at the price of asking.
enum class Variant { plain, capped, sloped, masked, biased, every };

// How results are stored: one by one, two neighbours, or eight of 16 bits.
enum class StoreWidth { one, two, eight };

struct HopperParameters {
  CUtensorMap q, k, v;
  Problem problem;
  ForwardTarget target;
  Schedule schedule;
  MaskWords mask;
  BiasRows bias;
  // Scores are held in the unit that costs the loop least: raw products, shares of the cap, or as they are
  // meant.
  float log2_unit;      // one of them in powers of 2
  float enormous_unit;  // nearly the same, and a power of 2 itself
  float natural_unit;   // one of them as a score is meant
  float to_cap;         // a raw product as a share of the cap
  TanhTerms cap_terms;  // tanh() times the cap in powers of 2
  float slope_unit;     // what a slope is multiplied with to be of that unit
  StoreWidth width;
};

template <class Shape, Variant kVariant>
void launch_hopper(plugin::Place place, const HopperParameters& parameters, int blocks);

extern template void launch_hopper<Shape64, Variant::plain>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Shape64, Variant::capped>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Shape64, Variant::sloped>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Shape64, Variant::masked>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Biased64, Variant::biased>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Every64, Variant::every>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Shape128, Variant::plain>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Shape128, Variant::capped>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Shape128, Variant::sloped>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Shape128, Variant::masked>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Biased128, Variant::biased>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Every128, Variant::every>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Shape192, Variant::plain>(plugin::Place, const HopperParameters&, int);
extern template void launch_hopper<Shape256, Variant::plain>(plugin::Place, const HopperParameters&, int);

}  // namespace attend::cuda
