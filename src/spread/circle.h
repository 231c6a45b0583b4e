// Blocks that go around: every process sees the rows of all processes, one block after another, its own first
// and then those of the processes before it, and sends each on while it computes with it.
#pragma once

#include <utility>
#include <vector>

#include "spread/call.h"
#include "spread/parcel.h"

namespace attend::spread {

// The process whose block this one sees at a step.
inline int source_at(const Processes& processes, int step) {
  return (processes.rank() - step + processes.count()) % processes.count();
}
inline int next_of(const Processes& processes) { return (processes.rank() + 1) % processes.count(); }
inline int previous_of(const Processes& processes) {
  return (processes.rank() + processes.count() - 1) % processes.count();
}

// Rows of the keys' cut, read only.
class Circle {
 public:
  // own: (B, H, own rows, size) each.
  Circle(const Call& call, const std::vector<ConstTensorView>& own) : call_(call) {
    const std::int64_t rows = call.keys.rows_of(call.processes.rank());
    std::int64_t most = 0;
    for (int process = 0; process < call.processes.count(); ++process)
      most = std::max(most, call.keys.rows_of(process));
    for (const ConstTensorView& view : own) {
      here_.emplace_back(view.dtype(), view.size(0), view.size(1), most, view.size(3));
      copy(view, here_.back().view(rows));
      if (call.processes.count() > 1)
        coming_.emplace_back(view.dtype(), view.size(0), view.size(1), most, view.size(3));
    }
  }

  // visit(source, blocks): with the rows of process `source`.
  template <class Visit>
  void run(const Visit& visit) {
    Processes& processes = call_.processes;
    for (int step = 0; step < processes.count(); ++step) {
      const int source = source_at(processes, step);
      std::unique_ptr<Transfer> transfer;
      if (step + 1 < processes.count()) transfer = send_on(source, source_at(processes, step + 1));
      visit(source, views(source));
      if (transfer == nullptr) return;
      transfer->wait();
      std::swap(here_, coming_);
    }
  }

 private:
  std::vector<ConstTensorView> views(int source) const {
    std::vector<ConstTensorView> all;
    for (const Parcel& parcel : here_) all.push_back(parcel.view(call_.keys.rows_of(source)));
    return all;
  }

  std::unique_ptr<Transfer> send_on(int source, int following) const {
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    for (const Parcel& parcel : here_)
      outgoing.push_back({next_of(call_.processes), parcel.bytes(call_.keys.rows_of(source))});
    for (const Parcel& parcel : coming_)
      incoming.push_back({previous_of(call_.processes), parcel.bytes(call_.keys.rows_of(following))});
    std::vector<Parcel> both = here_;
    both.insert(both.end(), coming_.begin(), coming_.end());
    return call_.processes.start(outgoing, incoming, memory_of(both));
  }

  const Call& call_;
  std::vector<Parcel> here_, coming_;
};

// Sums that go around with the blocks they belong to, each process adding its part, until they are home
// again: (B, H, own rows, size), of the type that adds.
template <class T>
class SumsAround {
 public:
  SumsAround(const Call& call, std::int64_t heads, const std::vector<std::int64_t>& sizes) : call_(call) {
    std::int64_t most = 0;
    for (int process = 0; process < call.processes.count(); ++process)
      most = std::max(most, call.keys.rows_of(process));
    for (const std::int64_t size : sizes) {
      here_.emplace_back(dtype_of<T>(), call.batch(), heads, most, size);
      coming_.emplace_back(dtype_of<T>(), call.batch(), heads, most, size);
    }
  }

  // Adds the parts of the block that is seen at a step, and sends the sums on. In the order in which the
  // steps come.
  void add(int step, const std::vector<ConstTensorView>& parts) {
    Processes& processes = call_.processes;
    const int source = source_at(processes, step);
    const std::int64_t rows = call_.keys.rows_of(source);
    if (step > 0) arrive();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const TensorView sum = here_[i].view(rows);
      step == 0 ? copy(parts[i], sum) : add_rows<T>(parts[i], sum);
    }
    if (processes.count() == 1) return;
    // After the last step the next process is the one whose block it is, and this one's own comes home.
    const std::int64_t next_rows = call_.keys.rows_of(source_at(processes, step + 1));
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    for (const Parcel& parcel : here_) outgoing.push_back({next_of(processes), parcel.bytes(rows)});
    for (const Parcel& parcel : coming_)
      incoming.push_back({previous_of(processes), parcel.bytes(next_rows)});
    std::vector<Parcel> both = here_;
    both.insert(both.end(), coming_.begin(), coming_.end());
    transfer_ = processes.start(outgoing, incoming, memory_of(both));
  }

  // The sums of this process's own rows, after the last step.
  std::vector<TensorView> home() {
    if (call_.processes.count() > 1) arrive();
    std::vector<TensorView> all;
    for (const Parcel& parcel : here_) all.push_back(parcel.view(call_.keys.rows_of(call_.processes.rank())));
    return all;
  }

 private:
  void arrive() {
    transfer_->wait();
    transfer_.reset();
    std::swap(here_, coming_);
  }

  const Call& call_;
  std::vector<Parcel> here_, coming_;
  std::unique_ptr<Transfer> transfer_;
};

}  // namespace attend::spread
