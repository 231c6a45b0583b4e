// attend._core: the library as Python sees it. The package around it is python/attend.
#include <attend/version.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <typeinfo>

#include "bindings.h"
#include "compute.h"

namespace {

// What has a sentence keeps it; the standard library's own exceptions have the names of its functions.
void explain_no_memory(const std::exception_ptr& thrown, void*) {
  constexpr const char* kNone = "there is not enough memory";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc& error) {
    PyErr_SetString(PyExc_MemoryError, typeid(error) == typeid(std::bad_alloc) ? kNone : error.what());
  } catch (const std::length_error&) {
    PyErr_SetString(PyExc_MemoryError, kNone);
  }
}

}  // namespace

NB_MODULE(_core, module) {
  nanobind::register_exception_translator(explain_no_memory);
  module.doc() = "attend's C++ library";
  const std::string_view version = attend::version();
  module.attr("__version__") = nanobind::str(version.data(), version.size());
  attend_python::find_main_thread();
  attend_python::bind_attention(module);
  attend_python::bind_backward(module);
  attend_python::bind_cache(module);
  attend_python::bind_device_array(module);
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
  attend_python::bind_text_model(module);
  attend_python::bind_generator(module);
  attend_python::bind_lens(module);
  attend_python::bind_draw(module);
  attend_python::bind_lens_figure(module);
  attend_python::bind_lens_page(module);
  attend_python::bind_lens_next(module);
  attend_python::bind_lens_recording(module);
  attend_python::bind_train_config(module);
  attend_python::bind_train_model(module);
  attend_python::bind_train_run(module);
}
