// What all commands of the program share.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <stdexcept>
#include <string>

#include "draw/terminal.h"

namespace attend::app {

// Exit codes: 0 success, 1 failure, 2 an invalid command line.
inline constexpr int kDone = 0, kFailed = 1, kUsage = 2;

// An invalid command line, described in one sentence; a hint at --help follows it.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Globals {
  draw::ColorChoice color = draw::ColorChoice::automatic;
};

// Adds --color, which works before and after the command's name.
void add_color_option(CLI::App& app, Globals& globals);

// Each registers one command, which sets `run` when it is chosen.
void add_bench_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_chat_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_classify_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_compare_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_doctor_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_embed_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_explain_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_explore_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_generate_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_heads_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_models_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_next_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_pull_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_reference_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_rerank_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_serve_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_steps_command(CLI::App& program, Globals& globals, std::function<void()>& run);
void add_train_command(CLI::App& program, Globals& globals, std::function<void()>& run);

}  // namespace attend::app
