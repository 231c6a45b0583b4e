// The part of a block in which tokens look at each other, or at a source.
#pragma once

#include <string>

#include "train/layers.h"

namespace attend::train {

class AttentionPart {
 public:
  // From itself: queries, keys and values of one product. From a source: keys and values of the source.
  enum class From : std::uint8_t { itself, source };

  AttentionPart(Parameters& parameters, const std::string& name, const ModelShape& shape, From from,
                bool causal, std::uint64_t stream);

  // What it keeps from the way there for the way back.
  void plan(Arena& arena, std::int64_t rows, std::int64_t source_rows);
  void plan_room(std::int64_t& panels, std::int64_t& gradient) const;

  // out = what attention gathers from x (and the source), mixed, + residual. (rows, E) each.
  void forward(Pass& pass, ConstTensorView x, ConstTensorView source, TensorView out,
               ConstTensorView residual);
  // From d_out: d_x = its gradient + residual, and d_source += that of the source. Adds to the gradients of
  // its parameters.
  void backward(Pass& pass, ConstTensorView x, ConstTensorView source, ConstTensorView d_out, TensorView d_x,
                ConstTensorView residual, TensorView d_source);

  // What the last forward() did.
  AttentionMoment moment(const Pass& pass) const;

 private:
  struct Heads {
    TensorView q, k, v;
  };
  AttentionOptions options(const Pass& pass) const;
  Heads heads(const Pass& pass, TensorView query, TensorView context) const;
  void turn(const Pass& pass, const Heads& heads, bool inverse) const;
  const Rows& keys(const Pass& pass) const { return from_ == From::itself ? pass.rows : pass.source; }
  RowStateView state(const Pass& pass) const;

  From from_;
  bool causal_;
  std::int64_t hidden_, count_;
  std::uint64_t stream_;
  std::vector<double> slopes_;
  Linear query_, context_, mix_;
  TensorView query_rows_{}, context_rows_{}, attended_{};  // (rows, E or 3 E), (source rows, 2 E), (rows, E)
  TensorView max_{}, sum_{};                               // (rows heads)
};

}  // namespace attend::train
