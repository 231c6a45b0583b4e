// attend bench: how fast, as a share of what this machine can do.
#include <attend/device.h>
#include <attend/isa.h>
#include <attend/threads.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <optional>
#include <stdexcept>

#include "app/command.h"
#include "app/output.h"
#include "app/over_processes.h"
#include "app/status_line.h"
#include "base/operations.h"
#include "bench/bench.h"
#include "bench/machine.h"
#include "draw/plot_terminal.h"
#include "draw/prose.h"
#include "draw/table.h"
#include "draw/text_width.h"
#include "steps/narrate.h"

namespace attend::app {
namespace {

struct BenchOptions {
  std::optional<std::string> what;
  std::string device = "cpu";
  int threads = 0;
  bool quick = false, json = false;
};

struct Benchmark {
  const char* name;
  const char* summary;
  bench::Report (*run)(const bench::BenchSettings&);
  bool by_default = true;
};

constexpr Benchmark kBenchmarks[] = {
    {"attention", "forward and backward, full and causal, by shape", bench::bench_attention},
    {"matmul", "the matrix product with packed weights", bench::bench_matmul},
    {"precision", "products and attention in bf16 and int8, and the error of each", bench::bench_precision},
    {"threads", "what more threads gain: 1, 2, 4, ... of them", bench::bench_threads, false},
    {"weights", "what weights on demand cost compared with the output", bench::bench_weights},
    {"decode", "one query on a long cache, as a share of memory bandwidth", bench::bench_decode},
    {"length", "time and memory by length, until n x n does not fit", bench::bench_length, false},
};

// Over the processes of an mpirun.
constexpr const char* kRingBenchmark = "ring";

struct DeviceBenchmark {
  const char* name;
  const char* summary;
  bench::Report (*run)(const bench::BenchSettings&, Device);
};

constexpr DeviceBenchmark kDeviceBenchmarks[] = {
    {"attention", "forward and backward, full and causal, by shape", bench::bench_gpu_attention},
    {"options", "what each option costs compared with none", bench::bench_gpu_options},
    {"weights", "what weights on demand cost compared with the output", bench::bench_gpu_weights},
    {"decode", "one query on a long cache", bench::bench_gpu_decode},
};

constexpr const char* kBenchFooter = R"(
Every answer is checked against float64 before it is timed. The peak is a loop
of multiply-adds (for decode: of memory reads), measured alternately with each
benchmark on the same number of threads. Times are medians; half of all
measurements lie between the quartiles. Run nothing else meanwhile: it would be
measured too.

Try:
  attend bench                             all but threads, length and ring; minutes
  attend bench attention --quick           a first impression, in seconds
  attend bench length                      what O(n^2) costs, and where it stops fitting
  attend bench decode --json               the numbers, for a program
  ATTEND_ISA=avx2 attend bench attention --threads 1
  mpirun -n 4 attend bench ring --threads 1
  attend bench --device cuda               attention, options, weights, decode on a GPU)";

std::string benchmark_list() {
  std::string text = "Benchmarks:\n";
  const auto add = [&](const auto& benchmark) {
    text.append("  ").append(draw::pad_right(benchmark.name, 10)).append(" ").append(benchmark.summary);
    text.append("\n");
  };
  for (const Benchmark& benchmark : kBenchmarks) add(benchmark);
  text.append("Over several processes:\n  ").append(draw::pad_right(kRingBenchmark, 10));
  text.append(" one sequence over the processes of an mpirun, and what they send\n");
  text.append("With --device cuda:\n");
  for (const DeviceBenchmark& benchmark : kDeviceBenchmarks) add(benchmark);
  return text;
}

std::vector<const Benchmark*> chosen_benchmarks(const BenchOptions& options) {
  std::vector<const Benchmark*> chosen;
  std::string names;
  for (const Benchmark& benchmark : kBenchmarks) {
    if (options.what ? *options.what == benchmark.name : benchmark.by_default) chosen.push_back(&benchmark);
    names.append(names.empty() ? "" : ", ").append(benchmark.name);
  }
  if (!chosen.empty()) return chosen;
  throw UsageError("there is no benchmark \"" + *options.what + "\"; available: " + names + ", " +
                   kRingBenchmark);
}

std::string render(const bench::Report& report, const draw::Terminal& terminal) {
  std::string text = draw::heading(report.title, terminal);
  for (const draw::Table& table : report.tables)
    text.append("\n").append(draw::render_table(table, terminal));
  if (report.plot) text.append("\n").append(draw::render_plot(*report.plot, terminal));
  for (const std::string& note : report.notes) text.append("\n").append(draw::paragraph(note, terminal));
  return text;
}

// "cuda" is the first of them. Says why, where there is none.
Device device_named(const std::string& name) {
  if (name == "cpu") return {};
  std::int32_t index = 0;
  if (name != "cuda") {
    const std::string_view number = std::string_view(name).substr(std::min<std::size_t>(5, name.size()));
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (!name.starts_with("cuda:") || error != std::errc() || end != number.data() + number.size())
      throw UsageError("there is no kind of device \"" + name + "\"; expected cpu, cuda or cuda:N");
  }
  const Device device{DeviceKind::cuda, index};
  for (const Device& one : devices()) {
    if (one == device) return device;
  }
  throw std::runtime_error("there is no device " + to_string(device) + " here: " + why_not_cuda(index));
}

std::vector<bench::Report> reports_of(const BenchOptions& options, const bench::BenchSettings& settings) {
  std::vector<bench::Report> reports;
  for (const Benchmark* benchmark : chosen_benchmarks(options)) reports.push_back(benchmark->run(settings));
  return reports;
}

std::vector<bench::Report> reports_of(const BenchOptions& options, const bench::BenchSettings& settings,
                                      Device device) {
  std::vector<bench::Report> reports;
  std::string names;
  for (const DeviceBenchmark& benchmark : kDeviceBenchmarks) {
    names.append(names.empty() ? "" : ", ").append(benchmark.name);
    if (!options.what || *options.what == benchmark.name) reports.push_back(benchmark.run(settings, device));
  }
  if (reports.empty())
    throw UsageError("there is no benchmark \"" + *options.what + "\" on a GPU; available: " + names);
  return reports;
}

void run_bench(const BenchOptions& options, const Globals& globals) {
  const Device device = device_named(options.device);
  if (options.threads != 0) set_threads(options.threads);
  std::vector<bench::Report> reports;
  if (device.is_host() && options.what == kRingBenchmark) {
    over_processes([&](Processes& processes) {
      bench::Report report = bench::bench_ring({.quick = options.quick}, processes);
      if (processes.rank() == 0)
        reports.push_back(std::move(report));  // each has the same, and one prints it
    });
    if (reports.empty()) return;
  } else {
    StatusLine line;
    const bench::BenchSettings settings{.quick = options.quick,
                                        .progress = [&](std::string_view text) { line.show(text); }};
    reports = device.is_host() ? reports_of(options, settings) : reports_of(options, settings, device);
  }
  if (options.json) {
    write_output(bench::to_json(reports));
    return;
  }
  const draw::Terminal terminal = draw::detect_terminal(STDOUT_FILENO, globals.color);
  const std::string machine = device.is_host()
                                  ? bench::cpu_name() + ", " + isa() + ", " + std::to_string(threads()) +
                                        (threads() == 1 ? " thread." : " threads.")
                                  : cuda_description(device.index) + ".";
  std::string text = draw::paragraph(machine, terminal);
  for (const bench::Report& report : reports) text += "\n" + render(report, terminal);
  write_styled(text);
}

}  // namespace

void add_bench_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* const command =
      program.add_subcommand("bench", "Measure speed, as a share of this machine's measured peak");
  command->add_option("WHAT", options->what, "One benchmark (default: all but threads, length and ring)")
      ->type_name("");
  command->add_option("--device", options->device, "Where to compute: cpu, cuda or cuda:N (default: cpu)")
      ->take_last()
      ->type_name("NAME");
  command->add_option("--threads", options->threads, "Threads to use (default: all cores)")
      ->check([](const std::string& text) {
        const bool fine = !text.empty() && text.find_first_not_of("0123456789") == text.npos &&
                          text.size() <= 4 && std::stoi(text) >= 1 && std::stoi(text) <= 1024;
        return fine ? std::string() : "\"" + text + "\" is not a number of threads from 1 to 1024";
      })
      ->take_last()
      ->type_name("N");
  command->add_flag("--quick", options->quick, "Fewer and smaller cases; takes a few seconds")
      ->disable_flag_override();
  command->add_flag("--json", options->json, "Print a JSON list with one object per case")
      ->disable_flag_override();
  add_color_option(*command, globals);
  command->footer(benchmark_list() + kBenchFooter);
  command->callback(
      [options, &globals, &run] { run = [options, &globals] { run_bench(*options, globals); }; });
}

}  // namespace attend::app
