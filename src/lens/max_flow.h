// The most that can flow through a network of pipes (Dinic 1970).
#pragma once

#include <cstdint>
#include <vector>

namespace attend::lens {

class FlowNetwork {
 public:
  explicit FlowNetwork(std::int32_t nodes) : first_(static_cast<std::size_t>(nodes), -1) {}

  void add_pipe(std::int32_t from, std::int32_t to, double capacity);

  // Every call starts with empty pipes.
  double max_flow(std::int32_t source, std::int32_t sink);

 private:
  struct Pipe {
    std::int32_t to;
    std::int32_t next;  // of the same node; -1: none
    double capacity, left;
  };
  bool find_levels(std::int32_t source, std::int32_t sink);
  double push(std::int32_t node, std::int32_t sink, double most);

  std::vector<Pipe> pipes_;  // each followed by its reverse
  std::vector<std::int32_t> first_, current_, level_, queue_;
};

}  // namespace attend::lens
