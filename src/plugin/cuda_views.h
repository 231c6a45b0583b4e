// Views and checked calls as the plugin's table takes them.
#pragma once

#include <attend/weights.h>

#include <vector>

#include "attention/layout.h"
#include "plugin/cuda_library.h"

namespace attend::detail {

// Where a view's memory is, and the stream that this thread computes on there.
plugin::Place place_of(Device device);

plugin::View plugin_view(ConstTensorView view);
plugin::RowState plugin_state(const ConstRowStateView& state);

// Keeps the sequences that the call points to; options must outlive it.
class PluginAttention {
 public:
  PluginAttention(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                  const AttentionOptions& options);
  PluginAttention(const PluginAttention&) = delete;
  PluginAttention& operator=(const PluginAttention&) = delete;
  const plugin::Attention& call() const { return call_; }

 private:
  std::vector<plugin::Sequence> sequences_;
  plugin::Attention call_;
};

// Throws what the plugin says, as a sentence of the operation; NoMemory, where it says that.
void require_done(const char* operation, int code);

}  // namespace attend::detail
