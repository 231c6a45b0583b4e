// What is sent, in closed form. docs/scale.md derives it.
#include <attend/spread_attention.h>

namespace attend {
namespace {

constexpr double kF32 = 4, kI64 = 8;

struct Volume {
  Volume(const SpreadLengths& lengths, const SpreadShape& shape, int processes)
      : p(processes),
        rows(static_cast<double>(shape.batch * shape.query_heads) * static_cast<double>(lengths.queries)),
        columns(static_cast<double>(shape.batch * shape.query_heads) * static_cast<double>(lengths.keys)),
        q(rows * static_cast<double>(shape.d) * kF32),
        out(rows * static_cast<double>(shape.dv) * kF32),
        state(2 * rows * kF32) {
    const double key_rows =
        static_cast<double>(shape.batch * shape.key_heads) * static_cast<double>(lengths.keys);
    k = key_rows * static_cast<double>(shape.d) * kF32;
    v = key_rows * static_cast<double>(shape.dv) * kF32;
  }
  // Of something that every process has a share of: to all others; all of it but its own part, in turn; and
  // by heads.
  double to_all(double bytes) const { return bytes * (p - 1) / p; }
  double around(double bytes) const { return p > 1 ? bytes : 0; }
  double by_heads(double bytes) const { return bytes * (p - 1) / (p * p); }

  double p, rows, columns, q, out, state, k = 0, v = 0;
};

}  // namespace

double spread_forward_bytes(SpreadWay way, const SpreadLengths& lengths, const SpreadShape& shape,
                            int processes) {
  const Volume volume(lengths, shape, processes);
  if (way != SpreadWay::heads) return volume.to_all(volume.k + volume.v);
  return volume.by_heads(volume.q + volume.k + volume.v + volume.out + volume.state);
}

double spread_backward_bytes(SpreadWay way, const SpreadLengths& lengths, const SpreadShape& shape,
                             int processes) {
  const Volume volume(lengths, shape, processes);
  const double kv = volume.k + volume.v;
  if (way == SpreadWay::ring) return volume.to_all(kv) + volume.around(kv);
  return volume.by_heads(2 * (volume.q + kv + volume.out) + volume.state);
}

double spread_weights_bytes(SpreadWay way, const SpreadLengths& lengths, const SpreadShape& shape,
                            const WeightsRequest& request, int processes) {
  const Volume volume(lengths, shape, processes);
  if (way == SpreadWay::ring)
    return volume.to_all(volume.k) + (request.received ? volume.around(volume.columns * kI64) : 0);
  if (way == SpreadWay::gathered && !request.received) return volume.to_all(volume.k);
  const double top = volume.rows * static_cast<double>(request.top_k) * (kI64 + kF32),
               entropy = request.entropy ? volume.rows * kF32 : 0,
               received = request.received ? volume.columns * kF32 : 0;
  return volume.by_heads(volume.q + volume.k + volume.state + top + entropy + received);
}

}  // namespace attend
