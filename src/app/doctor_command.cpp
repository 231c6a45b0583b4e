// attend doctor: what this machine and a model will use and why, and whether vectors equal a reference.
#include <attend/file_error.h>
#include <attend/text_model.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/command.h"
#include "app/output.h"
#include "base/error.h"
#include "doctor/reference.h"
#include "doctor/sections.h"
#include "embed/text_lines.h"

namespace attend::app {
namespace {

constexpr const char* kDoctorFooter = R"(
With --reference, the model is compared with the output of another program: a
.npy with one vector per text, as returned by sentence-transformers' encode(); or
a .npz or .safetensors with "embeddings", or with "ids", "ends" and "hidden.N",
the states of each layer. Where the two differ, the usual causes are tried one by
one. Exit code 0: they agree, 1: they do not.

Try:
  attend doctor
  attend doctor --model ./my-model --json
  attend doctor --reference vectors.npy --texts texts.txt)";

struct DoctorArguments {
  std::optional<std::string> model, reference, texts;
  bool json = false, jsonl = false;
};

std::vector<std::string> texts_of(const DoctorArguments& given) {
  embed::TextLines lines(*given.texts, given.jsonl ? embed::LineForm::json : embed::LineForm::plain);
  std::vector<std::string> texts;
  for (std::string text; lines.next(text);) texts.push_back(std::move(text));
  return texts;
}

// The requested model, or the default one if it is installed.
std::optional<TextModel> model_of(const DoctorArguments& given, std::vector<doctor::Section>& sections) {
  if (given.model) return TextModel::load(*given.model);
  try {
    find_model(kDefaultModel);
  } catch (const FileError& error) {
    doctor::Section section{"model", "The default model"};
    section.add("not_there", error.what());
    section.add("get_it", joined("attend pull ", kDefaultModel));
    sections.push_back(std::move(section));
    return std::nullopt;
  }
  return TextModel::load(kDefaultModel);
}

void run_doctor(const DoctorArguments& given, const Globals& globals) {
  std::vector<doctor::Section> sections{doctor::machine_section(), doctor::settings_section()};
  std::string failure;
  const std::optional<TextModel> model = model_of(given, sections);
  if (model) {
    bool finite = true, passed = false;
    sections.push_back(doctor::model_section(*model, finite));
    sections.push_back(doctor::self_test_section(*model, passed));
    if (finite && passed) sections.push_back(doctor::precisions_section(*model));
    if (!passed) failure = "the self test failed";
    if (!finite) failure = "the weights of the model contain NaN or infinity";
  }
  if (given.reference) {
    if (!model)
      throw std::runtime_error(
          joined("there is no model to compare with; attend pull ", kDefaultModel, " gets the default one"));
    const doctor::Reference reference = doctor::read_reference(*given.reference);
    if (reference.embeddings && !given.texts)
      throw UsageError("--reference holds vectors of texts, so it needs --texts");
    std::optional<std::vector<std::string>> texts;
    if (given.texts) texts = texts_of(given);
    bool holds = false;
    sections.push_back(doctor::parity_section(*model, reference, texts ? &*texts : nullptr, holds));
    if (!holds) failure = "the reference differs from what this model computes";
  }
  if (given.json) {
    write_output(doctor::to_json(sections));
  } else {
    write_styled(doctor::render(sections, draw::detect_terminal(STDOUT_FILENO, globals.color)));
  }
  if (!failure.empty()) throw std::runtime_error(failure);
}

}  // namespace

void add_doctor_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  CLI::App* const command = program.add_subcommand("doctor",
                                                   "Report what this machine and a model will use and what "
                                                   "each precision costs; check parity with a reference");
  const auto given = std::make_shared<DoctorArguments>();
  command->add_option("-m,--model", given->model, "A folder, or a name in the hub's cache")
      ->type_name("MODEL");
  CLI::Option* const reference = command
                                     ->add_option("--reference", given->reference,
                                                  "Output of another program: .npy, .npz or .safetensors")
                                     ->type_name("FILE");
  command
      ->add_option("--texts", given->texts,
                   "The texts that it was computed for, one per line; - reads standard input")
      ->type_name("FILE")
      ->needs(reference);
  command->add_flag("--jsonl", given->jsonl, "Each line of the texts is {\"text\": ...} or a JSON string")
      ->disable_flag_override();
  command->add_flag("--json", given->json, "Print one JSON object")->disable_flag_override();
  add_color_option(*command, globals);
  command->footer(kDoctorFooter);
  command->callback([given, &globals, &run] { run = [given, &globals] { run_doctor(*given, globals); }; });
}

}  // namespace attend::app
