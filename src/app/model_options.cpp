#include "app/model_options.h"

#include <attend/lens_recording.h>

#include "app/command.h"
#include "app/output.h"
#include "base/counting.h"
#include "base/error.h"
#include "doctor/finite_weights.h"

namespace attend::app {

void add_model_option(CLI::App& command, std::string& model) {
  command.add_option("-m,--model", model, "A folder, a GGUF file, or a name on the hub")
      ->take_last()
      ->type_name("MODEL")
      ->capture_default_str();
}

void add_precision_option(CLI::App& command, ModelOptions& options) {
  command
      .add_option_function<std::string>(
          "--precision", [&](const std::string& name) { options.precision = *precision_named(name); },
          "The numbers in which the model multiplies: f32 is exact, bf16 and int8 are faster")
      ->check(CLI::IsMember({"f32", "bf16", "int8"}))
      ->take_last()
      ->default_str("f32")
      ->type_name("TYPE");
}

void add_sink_option(CLI::App& command, std::string& sink) {
  command
      .add_option("--sink", sink,
                  "The first token of a model that writes: fold leaves it out, keep shows it, auto leaves it "
                  "out where most of the attention rests on it")
      ->check(CLI::IsMember({"auto", "fold", "keep"}))
      ->type_name("HOW")
      ->capture_default_str();
}

bool is_recording(const std::string& text) {
  std::error_code error;
  return text.ends_with(kRecordingExtension) &&
         (text.find(' ') == text.npos || std::filesystem::exists(text, error));
}

void require_no_model(const std::string& model, const ModelOptions& options, const std::string& recording) {
  if (model != kDefaultModel)
    throw UsageError(joined("-m is for reading a text, but ", recording, " is the recording of a pass"));
  if (options.precision != Precision::f32)
    throw UsageError(joined("--precision is for a model, but ", recording, " is the recording of a pass"));
}

namespace {

void require_option(const char* thing, std::optional<std::int64_t> value, std::int64_t count) {
  if (value && !is_number(*value, count))
    throw UsageError(out_of_count(joined("--", thing), thing, *value, count));
}

}  // namespace

void require_layer(const TextModel& model, std::optional<std::int64_t> layer,
                   std::optional<std::int64_t> head) {
  const ModelDescription& description = model.transformer().description();
  require_option("layer", layer, description.layer_count());
  require_option("head", head, description.heads());
}

void require_layer(const Reading& reading, std::optional<std::int64_t> layer,
                   std::optional<std::int64_t> head) {
  require_option("layer", layer, reading.layers());
  require_option("head", head, reading.heads());
}

void require_max_tokens(const TextModel& model, std::optional<std::int64_t> given) {
  const std::int64_t special = model.tokenizer().special_count(), most = model.most_tokens();
  if (given && (*given <= special || *given > most)) {
    throw UsageError(
        joined("--max-tokens is ", *given, ", expected a number above ", special, " and up to ", most));
  }
}

void warn_of_truncation(const Reading& reading, const std::string& hint) {
  if (reading.tokens().dropped == 0) return;
  say(joined("The text has ", reading.size() + reading.tokens().dropped, " tokens, and only the first ",
             reading.size(), " were read.", hint));
}

void warn_of_not_finite(const Reading& reading) {
  if (!reading.not_finite()) return;
  const std::string sentence = sentence_of(reading, *reading.not_finite());
  if (!reading.has_model()) return say(sentence);
  say(joined(sentence, " Why: ", doctor::cause_of_not_finite(reading.model().files()), "."));
}

}  // namespace attend::app
