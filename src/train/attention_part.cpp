#include "train/attention_part.h"

#include <attend/attention_backward.h>
#include <attend/positions.h>

#include <cmath>

#include "base/random.h"

namespace attend::train {
namespace {

double deviation(const ModelShape& shape) { return 1 / std::sqrt(static_cast<double>(shape.hidden)); }

// What adds to the stream of a deep model starts smaller, so that the sum of all layers does not grow.
double added_deviation(const ModelShape& shape) {
  return deviation(shape) / std::sqrt(2.0 * static_cast<double>(shape.layers));
}

// (rows, H D) as (B, H, L, D)
template <class View>
View by_head(View view, const Rows& rows, std::int64_t heads) {
  return view.split(0, rows.sequences, rows.length).split(2, heads, view.size(1) / heads).transposed(1, 2);
}

}  // namespace

AttentionPart::AttentionPart(Parameters& parameters, const std::string& name, const ModelShape& shape,
                             From from, bool causal, std::uint64_t stream)
    : from_(from), causal_(causal), hidden_(shape.hidden), count_(shape.heads), stream_(stream) {
  const std::int64_t e = shape.hidden;
  if (from == From::itself) {
    query_ = Linear(parameters, name + ".qkv", e, 3 * e, deviation(shape));
  } else {
    query_ = Linear(parameters, name + ".q", e, e, deviation(shape));
    context_ = Linear(parameters, name + ".kv", e, 2 * e, deviation(shape));
  }
  mix_ = Linear(parameters, name + ".out", e, e, added_deviation(shape));
  if (shape.positions == PositionKind::alibi && from == From::itself) slopes_ = alibi_slopes(shape.heads);
}

void AttentionPart::plan(Arena& arena, std::int64_t rows, std::int64_t source_rows) {
  arena.want(query_rows_, {rows, (from_ == From::itself ? 3 : 1) * hidden_});
  if (from_ == From::source) arena.want(context_rows_, {source_rows, 2 * hidden_});
  arena.want(attended_, {rows, hidden_});
  arena.want(max_, {rows * count_});
  arena.want(sum_, {rows * count_});
}

void AttentionPart::plan_room(std::int64_t& panels, std::int64_t& gradient) const {
  for (const Linear* const layer : {&query_, &context_, &mix_}) layer->plan(panels, gradient);
}

AttentionOptions AttentionPart::options(const Pass& pass) const {
  AttentionOptions options{.causal = causal_, .key_lengths = keys(pass).lengths, .alibi_slopes = slopes_};
  if (!pass.shape.scaled) options.scale = 1;
  if (pass.training) {
    options.dropout = pass.shape.dropout;
    options.dropout_seed = random_bits(pass.seed, stream_);
  }
  return options;
}

AttentionPart::Heads AttentionPart::heads(const Pass& pass, TensorView query, TensorView context) const {
  const auto part = [&](TensorView rows, const Rows& shape, std::int64_t which) {
    return by_head(first_rows(rows, shape.count()).slice(1, which * hidden_, (which + 1) * hidden_), shape,
                   count_);
  };
  if (from_ == From::itself) {
    return {part(query, pass.rows, 0), part(query, pass.rows, 1), part(query, pass.rows, 2)};
  }
  return {part(query, pass.rows, 0), part(context, pass.source, 0), part(context, pass.source, 1)};
}

void AttentionPart::turn(const Pass& pass, const Heads& heads, bool inverse) const {
  if (from_ == From::source || pass.shape.positions != PositionKind::rotary) return;
  for (const TensorView& view : {heads.q, heads.k}) {
    apply_rotary_tables(view, pass.cosines.slice(0, 0, pass.rows.length),
                        pass.sines.slice(0, 0, pass.rows.length), RotaryPairing::halves, view, inverse);
  }
}

RowStateView AttentionPart::state(const Pass& pass) const {
  const Dims shape{pass.rows.sequences, count_, pass.rows.length};
  const auto shaped = [&](const TensorView& flat) {
    return flat.with_layout(shape, row_major_strides(shape));
  };
  return {shaped(max_), shaped(sum_)};
}

void AttentionPart::forward(Pass& pass, ConstTensorView x, ConstTensorView source, TensorView out,
                            ConstTensorView residual) {
  const std::int64_t rows = pass.rows.count();
  query_.forward(pass, x, first_rows(query_rows_, rows));
  if (from_ == From::source) context_.forward(pass, source, first_rows(context_rows_, pass.source.count()));
  const Heads now = heads(pass, query_rows_, context_rows_);
  turn(pass, now, false);
  const TensorView attended = first_rows(attended_, rows);
  attention(now.q, now.k, now.v, options(pass), by_head(attended, pass.rows, count_), state(pass));
  mix_.forward(pass, attended, out, residual);
}

void AttentionPart::backward(Pass& pass, ConstTensorView x, ConstTensorView source, ConstTensorView d_out,
                             TensorView d_x, ConstTensorView residual, TensorView d_source) {
  const std::int64_t rows = pass.rows.count();
  const TensorView d_attended = first_rows(pass.room.d_attended, rows),
                   attended = first_rows(attended_, rows);
  mix_.backward(pass, attended, d_out, d_attended);
  const std::int64_t width = query_rows_.size(1);
  const TensorView d_query = first_rows(pass.room.d_query, rows).slice(1, 0, width);
  const Heads now = heads(pass, query_rows_, context_rows_);
  const Heads back = heads(pass, d_query, pass.room.d_context);
  const RowStateView kept = state(pass);
  attention_backward(now.q, now.k, now.v, options(pass), by_head(attended, pass.rows, count_),
                     {kept.max, kept.sum}, by_head(d_attended, pass.rows, count_),
                     {.q = back.q, .k = back.k, .v = back.v});
  turn(pass, back, true);
  query_.backward(pass, x, d_query, d_x, residual);
  if (from_ == From::itself) return;
  context_.backward(pass, source, first_rows(pass.room.d_context, pass.source.count()), d_source, d_source);
}

AttentionMoment AttentionPart::moment(const Pass& pass) const {
  const Heads now = heads(pass, query_rows_, context_rows_);
  const RowStateView kept = state(pass);
  return {now.q, now.k, options(pass), {kept.max, kept.sum}};
}

}  // namespace attend::train
