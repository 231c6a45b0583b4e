#include <attend/encoder.h>

namespace attend {

TensorSource tensors_of(const Checkpoint& checkpoint) {
  const std::vector<std::string> names = checkpoint.names();
  return {.file = names.empty() ? "checkpoint" : checkpoint.info(names.front()).file,
          .contains = [checkpoint](const std::string& name) { return checkpoint.contains(name); },
          .tensor = [checkpoint](const std::string& name) { return checkpoint.tensor(name); },
          .forget = [checkpoint](const std::string& name) { checkpoint.forget(name); }};
}

}  // namespace attend
