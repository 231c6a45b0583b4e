// attend._core: the library as Python sees it. The package around it is python/attend.
#include <attend/version.h>

#include "bindings.h"

NB_MODULE(_core, module) {
  module.doc() = "attend's C++ library";
  const std::string_view version = attend::version();
  module.attr("__version__") = nanobind::str(version.data(), version.size());
  attend_python::bind_attention(module);
  attend_python::bind_backward(module);
  attend_python::bind_cache(module);
  attend_python::bind_layers(module);
  attend_python::bind_activations(module);
  attend_python::bind_embedding(module);
  attend_python::bind_linear(module);
  attend_python::bind_multi_head(module);
  attend_python::bind_norms(module);
  attend_python::bind_positions(module);
  attend_python::bind_settings(module);
  attend_python::bind_tokenizer(module);
  attend_python::bind_weights(module);
  attend_python::bind_encoder(module);
  attend_python::bind_lens(module);
  attend_python::bind_draw(module);
  attend_python::bind_lens_figure(module);
  attend_python::bind_train_config(module);
  attend_python::bind_train_model(module);
  attend_python::bind_train_run(module);
}
