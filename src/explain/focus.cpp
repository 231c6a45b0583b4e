#include "explain/focus.h"

#include <numeric>

namespace attend::explain {

Focus focus_on(const Reading& reading, const ExplainRequest& request, const Units& units, std::size_t unit) {
  Focus focus;
  for (std::size_t u = 0; u < unit; ++u) focus.unit += units.shows(units.all[u]) ? 1 : 0;
  std::vector<LensMethod> methods = {LensMethod::raw};
  // What it takes needs the model, which a recording does not have, and refuses if it is asked.
  if (reading.has_model() || request.query.method == LensMethod::norm) methods.push_back(LensMethod::norm);
  if (request.query.method > LensMethod::norm) methods.insert(methods.begin(), request.query.method);
  for (const LensMethod method : methods) {
    LensQuery query = request.query;
    query.method = method;
    const std::vector<double> row = lens_row(reading, query, units.all, unit);
    const double total = std::accumulate(row.begin(), row.end(), 0.0);
    const double special = total == 0 ? 0 : special_share(row, units.all) / total;
    const double sink = total == 0 || !units.folds ? 0 : row.front() / total;
    focus.rows.push_back({method, units.kept_shares(row, method), special, sink});
  }
  return focus;
}

}  // namespace attend::explain
