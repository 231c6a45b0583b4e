// One function a file: each adds its part of the API to the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>  // here, since a cast compiled without it fails at run time

namespace attend_python {

void bind_activations(nanobind::module_& module);
void bind_attention(nanobind::module_& module);
void bind_backward(nanobind::module_& module);
void bind_cache(nanobind::module_& module);
void bind_device_array(nanobind::module_& module);
void bind_draw(nanobind::module_& module);
void bind_embedding(nanobind::module_& module);
void bind_generator(nanobind::module_& module);
void bind_layers(nanobind::module_& module);
void bind_lens(nanobind::module_& module);
void bind_lens_figure(nanobind::module_& module);
void bind_lens_page(nanobind::module_& module);
void bind_lens_next(nanobind::module_& module);
void bind_lens_recording(nanobind::module_& module);
void bind_linear(nanobind::module_& module);
void bind_multi_head(nanobind::module_& module);
void bind_norms(nanobind::module_& module);
void bind_positions(nanobind::module_& module);
void bind_settings(nanobind::module_& module);
void bind_text_model(nanobind::module_& module);
void bind_tokenizer(nanobind::module_& module);
void bind_train_config(nanobind::module_& module);
void bind_train_model(nanobind::module_& module);
void bind_train_run(nanobind::module_& module);
void bind_weights(nanobind::module_& module);

}  // namespace attend_python
