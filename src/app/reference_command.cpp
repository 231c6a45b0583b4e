// attend reference: manual pages and completions, as building and packaging want them. Not in the list of
// commands.
#include <filesystem>

#include "app/command.h"
#include "app/outline.h"
#include "save/output_file.h"

namespace attend::app {

void add_reference_command(CLI::App& program, Globals&, std::function<void()>& run) {
  CLI::App* const command = program.add_subcommand(
      "reference", "Write manual pages and completions into a folder, as they are under share/");
  const auto folder = std::make_shared<std::string>();
  command->add_option("folder", *folder, "The folder")->required()->type_name("FOLDER");
  command->group("");
  command->callback([&program, &run, folder] {
    run = [&program, folder] {
      for (const auto& [path, text] : reference::reference_files(outline_of_program(program))) {
        const std::filesystem::path file = std::filesystem::path(*folder) / path;
        std::filesystem::create_directories(file.parent_path());
        save::OutputFile out(file);
        out.write(text);
        out.commit();
      }
    };
  });
}

}  // namespace attend::app
