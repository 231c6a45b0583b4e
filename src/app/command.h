// What every command of the program shares.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <stdexcept>
#include <string>

#include "draw/terminal.h"

namespace attend::app {

// Exit codes: 0 done, 1 failed, 2 the command line makes no sense.
inline constexpr int kDone = 0, kFailed = 1, kUsage = 2;

// A failure told in one sentence, with a hint on a second line where there is one.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Globals {
  draw::ColorChoice color = draw::ColorChoice::automatic;
};

// Adds --color, which works before and after the command's name.
void add_color_option(CLI::App& app, Globals& globals);

// Each registers one command; `run` is set to what to do when it was chosen.
void add_bench_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_compare_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_doctor_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_embed_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_explain_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_explore_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_generate_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_pull_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_steps_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_train_command(CLI::App& program, Globals& globals, std::function<void()>& run);

}  // namespace attend::app
