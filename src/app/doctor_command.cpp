// attend doctor: what this machine and this model will use and why, and whether vectors equal a reference.
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
#include "doctor/machine.h"
#include "doctor/model_facts.h"
#include "doctor/self_test.h"

namespace attend::app {
namespace {

constexpr const char* kFooter = R"(
Try:
  attend doctor
  attend doctor --model ./my-model --json)";

struct Arguments {
  std::optional<std::string> model;
  bool json = false;
};

// The model that was asked for; or the default one, if it is there.
std::optional<TextModel> model_of(const Arguments& given, std::vector<doctor::Section>& sections) {
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

void run_doctor(const Arguments& given, const Globals& globals) {
  std::vector<doctor::Section> sections{doctor::machine_section(), doctor::settings_section()};
  std::string failure;
  if (const std::optional<TextModel> model = model_of(given, sections)) {
    sections.push_back(doctor::model_section(*model));
    bool passed = false;
    sections.push_back(doctor::self_test_section(*model, passed));
    if (!passed) failure = "the self test failed";
  }
  write_output(given.json ? doctor::to_json(sections)
                          : doctor::render(sections, draw::detect_terminal(STDOUT_FILENO, globals.color)));
  if (!failure.empty()) throw std::runtime_error(failure);
}

}  // namespace

void add_doctor_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  CLI::App* const command = program.add_subcommand(
      "doctor", "What this machine and this model will use, and parity with a reference");
  const auto given = std::make_shared<Arguments>();
  command->add_option("-m,--model", given->model, "A folder, or a name in the hub's cache")
      ->type_name("MODEL");
  command->add_flag("--json", given->json, "Print one JSON object")->disable_flag_override();
  add_color_option(*command, globals);
  command->footer(kFooter);
  command->callback([given, &globals, &run] { run = [given, &globals] { run_doctor(*given, globals); }; });
}

}  // namespace attend::app
