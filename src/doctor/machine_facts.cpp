// What this machine has, what attend will use of it, and why.
#include <attend/attention.h>
#include <attend/isa.h>
#include <attend/threads.h>
#include <attend/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/memory_limit.h"
#include "base/operations.h"
#include "bench/machine.h"
#include "doctor/sections.h"

namespace attend::doctor {
namespace {

// The processor features that matter to the kernels, by their names in /proc/cpuinfo.
std::vector<std::string> features() {
  constexpr std::array kKnown = {"ssse3",       "sse4_1",      "sse4_2",   "avx",      "avx2",
                                 "fma",         "f16c",        "avx512f",  "avx512bw", "avx512dq",
                                 "avx512vl",    "avx512_vnni", "avx_vnni", "amx_tile", "avx512_bf16",
                                 "avx512_fp16", "amx_bf16",    "amx_int8", "asimd",    "asimddp",
                                 "asimdhp",     "bf16",        "sve",      "sve2",     "i8mm"};
  std::vector<std::string> found;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(std::min(line.find(':'), line.size() - 1) + 1));
    for (std::string word; words >> word;) {
      if (std::find(kKnown.begin(), kKnown.end(), word) != kKnown.end()) found.push_back(word);
    }
    break;  // of the first core; all are alike
  }
  return found;
}

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

void add_isa(Section& section) {
  const std::string name = isa();
  const std::vector<std::string> all = available_isas();
  const std::string why = is_set("ATTEND_ISA")  ? "because ATTEND_ISA says so"
                          : name == all.front() ? "the best that this processor and this build support"
                                                : "chosen by the program";
  section.add("isa", Json{{"name", name}, {"why", why}, {"available", all}},
              name + ", " + why + "; available: " + joined_names(all));
}

void add_threads(Section& section) {
  const int count = threads();
  const std::string why = is_set("ATTEND_THREADS") ? "because ATTEND_THREADS says so"
                                                   : "one for each core that this process may use";
  const unsigned cores = std::thread::hardware_concurrency();
  section.add("threads", Json{{"count", count}, {"why", why}, {"cores", cores}},
              std::to_string(count) + ", " + why + " (the machine has " + std::to_string(cores) + ")");
}

void add_memory(Section& section) {
  const double page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  const double total = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * page;
  const double available = bench::available_memory();
  section.add("memory", Json{{"bytes", total}, {"available_bytes", available}},
              memory_text(total) + ", of which " + memory_text(available) + " is available now");
  constexpr std::array kLevels = {std::pair("L1 data", _SC_LEVEL1_DCACHE_SIZE),
                                  std::pair("L2", _SC_LEVEL2_CACHE_SIZE),
                                  std::pair("L3", _SC_LEVEL3_CACHE_SIZE)};
  Json sizes = Json::object();
  std::vector<std::string> texts;
  for (const auto& [name, what] : kLevels) {
    const long bytes = ::sysconf(what);
    if (bytes <= 0) continue;  // the system does not say
    sizes[name] = bytes;
    const bool small = bytes < 1 << 20;
    texts.push_back(std::string(name) + " " + std::to_string(bytes >> (small ? 10 : 20)) +
                    (small ? " KiB" : " MiB"));
  }
  section.add("caches", std::move(sizes), joined_names(texts, "unknown: the system does not say"));
}

// Which devices besides the host there are, or why there is none.
void add_devices(Section& section) {
  Json list = Json::array();
  std::vector<std::string> texts;
  for (const Device device : devices()) {
    if (device.is_host()) continue;
    const std::string what = cuda_description(device.index);
    list.push_back({{"name", to_string(device)}, {"what", what}});
    texts.push_back(to_string(device) + " (" + what + ")");
  }
  const std::string why = texts.empty() ? why_not_cuda(0) : "";
  section.add("cuda", Json{{"devices", std::move(list)}, {"why", why}},
              texts.empty() ? "none: " + why : joined_names(texts));
}

// A tensor of this shape, only for asking which kernel it gets: all its elements share one address.
ConstTensorView shaped(DType dtype, std::int64_t length) {
  static constexpr double kNothing = 0;
  return {&kNothing, dtype, Dims{1, 12, length, 64}, Dims{0, 0, 0, 0}};
}

void add_kernels(Section& section) {
  struct Call {
    DType dtype;
    std::int64_t queries, keys;
  };
  constexpr std::array kCalls = {
      Call{DType::f32, 1, 4096},   Call{DType::f32, 8, 4096},    Call{DType::f32, 9, 9},
      Call{DType::f32, 128, 128},  Call{DType::f32, 4096, 4096}, Call{DType::bf16, 1, 4096},
      Call{DType::bf16, 128, 128}, Call{DType::f16, 128, 128},   Call{DType::f64, 128, 128}};
  draw::Table table{.title = "Kernels for attention, by type and length",
                    .label_header = "type",
                    .columns = {{"queries"}, {"keys"}, {"kernel", draw::Align::left}},
                    .rows = {}};
  Json list = Json::array();
  for (const Call& call : kCalls) {
    const KernelChoice choice =
        attention_kernel(shaped(call.dtype, call.queries), shaped(call.dtype, call.keys));
    const std::string type(attend::name_of(call.dtype)), name(choice.name), why(choice.why);
    list.push_back(
        {{"dtype", type}, {"queries", call.queries}, {"keys", call.keys}, {"kernel", name}, {"why", why}});
    table.rows.push_back({type, {std::to_string(call.queries), std::to_string(call.keys), name}});
    const std::string note = name + ": " + why + ".";
    if (std::find(section.notes.begin(), section.notes.end(), note) == section.notes.end())
      section.notes.push_back(note);
  }
  section.add("kernels", std::move(list), "");
  section.tables.push_back(std::move(table));
}

}  // namespace

Section machine_section() {
  Section section{"machine", "This machine"};
  section.add("attend", Json{{"version", version()}, {"compiler", bench::compiler_name()}},
              std::string(version()) + ", compiled by " + bench::compiler_name());
  section.add("cpu", bench::cpu_name());
  const std::vector<std::string> words = features();
  section.add("features", words, joined_names(words, "unknown: the system does not say"));
  add_isa(section);
  add_threads(section);
  add_memory(section);
  add_devices(section);
  add_kernels(section);
  return section;
}

}  // namespace attend::doctor
