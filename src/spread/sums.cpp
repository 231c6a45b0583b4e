#include "spread/sums.h"

namespace attend::spread {

void add_over_processes(Processes& processes, std::vector<double>& numbers) {
  const auto count = static_cast<std::size_t>(processes.count());
  const auto all = std::make_shared<std::vector<std::vector<double>>>(count, numbers);
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (int other = 0; other < processes.count(); ++other) {
    if (other == processes.rank()) continue;
    outgoing.push_back({other, std::as_bytes(std::span((*all)[static_cast<std::size_t>(processes.rank())]))});
    incoming.push_back({other, std::as_writable_bytes(std::span((*all)[static_cast<std::size_t>(other)]))});
  }
  processes.start(outgoing, incoming, all)->wait();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 0;
    for (const std::vector<double>& one : *all) numbers[i] += one[i];
  }
}

}  // namespace attend::spread
