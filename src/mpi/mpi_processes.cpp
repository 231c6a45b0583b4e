// Messages by MPI. Open MPI moves them only inside its own calls, so a thread asks for that while the library
// computes. One lock holds for every call: MPI is then used by one thread at a time, which every build of it
// can do.
#include <attend/mpi_processes.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace attend {
namespace {

// MPI counts in int. Pieces of a message arrive in the order in which they were sent.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
// Between two looks: long enough to leave the core to what computes, short beside a message (docs/scale.md).
constexpr std::chrono::microseconds kPause{100};

void check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int size = 0;
  MPI_Error_string(code, text, &size);
  throw std::runtime_error("MPI could not " + std::string(what) + ": " +
                           std::string(text, static_cast<std::size_t>(size)));
}

// The messages of one transfer, in pieces that MPI can count.
struct Messages {
  std::vector<MPI_Request> requests{};
  std::shared_ptr<const void> memory{};
  bool done = false;
  int code = MPI_SUCCESS;
};

class MpiProcesses : public Processes {
 public:
  MpiProcesses() {
    int begun = 0, ended = 0, level = 0;
    MPI_Finalized(&ended);
    if (ended != 0) throw std::runtime_error("MPI has ended in this process and cannot begin again");
    MPI_Initialized(&begun);
    ends_mpi_ = begun == 0;
    if (begun == 0) check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "begin");
    check_mpi(MPI_Query_thread(&level), "say which threads may use it");
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &processes_), "set its messages apart from others");
    check_mpi(MPI_Comm_set_errhandler(processes_, MPI_ERRORS_RETURN), "report errors");
    check_mpi(MPI_Comm_rank(processes_, &rank_), "say which process this is");
    check_mpi(MPI_Comm_size(processes_, &count_), "count the processes");
    if (level >= MPI_THREAD_SERIALIZED && count_ > 1) thread_ = std::thread([this] { move_messages(); });
  }

  ~MpiProcesses() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    work_.notify_all();
    if (thread_.joinable()) thread_.join();
    // The other processes may still write what was given up: its memory stays until this one ends.
    if (!under_way_.empty()) new std::list<std::shared_ptr<Messages>>(std::move(under_way_));
    // MPI would wait for the other processes, which wait for this one.
    if (given_up_ || std::uncaught_exceptions() > exceptions_) return;
    MPI_Comm_free(&processes_);
    if (ends_mpi_) MPI_Finalize();
  }

  int rank() const noexcept override { return rank_; }
  int count() const noexcept override { return count_; }

 private:
  class Sent : public Transfer {
   public:
    Sent(MpiProcesses& processes, std::shared_ptr<Messages> messages)
        : processes_(processes), messages_(std::move(messages)) {}
    ~Sent() override { processes_.leave(*messages_); }
    bool done() override { return processes_.look_at(*messages_); }

   private:
    MpiProcesses& processes_;
    std::shared_ptr<Messages> messages_;
  };

  std::unique_ptr<Transfer> begin(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming,
                                  std::shared_ptr<const void> memory) override {
    auto messages = std::make_shared<Messages>();
    messages->memory = std::move(memory);
    const std::lock_guard lock(mutex_);
    if (given_up_)
      throw std::runtime_error("a transfer was ended half way, so these processes are out of step");
    const auto add = [&](auto bytes, const auto& start) {
      for (std::size_t at = 0; at < bytes.size(); at += kMostBytes) {
        const auto piece = bytes.subspan(at, std::min(kMostBytes, bytes.size() - at));
        start(piece.data(), static_cast<int>(piece.size()),
              &messages->requests.emplace_back(MPI_REQUEST_NULL));
      }
    };
    under_way_.push_back(messages);
    for (const Incoming& message : incoming) {
      add(message.bytes, [&](std::byte* at, int size, MPI_Request* request) {
        check_mpi(MPI_Irecv(at, size, MPI_BYTE, message.from, 0, processes_, request), "receive");
      });
    }
    for (const Outgoing& message : outgoing) {
      add(message.bytes, [&](const std::byte* at, int size, MPI_Request* request) {
        check_mpi(MPI_Isend(at, size, MPI_BYTE, message.to, 0, processes_, request), "send");
      });
    }
    look();
    work_.notify_all();
    return std::make_unique<Sent>(*this, std::move(messages));
  }

  // Lets MPI move what is under way. With the lock.
  void look() {
    for (auto at = under_way_.begin(); at != under_way_.end();) {
      Messages& messages = **at;
      int all = 0;
      messages.code = MPI_Testall(static_cast<int>(messages.requests.size()), messages.requests.data(), &all,
                                  MPI_STATUSES_IGNORE);
      messages.done = all != 0 || messages.code != MPI_SUCCESS;
      at = messages.done ? under_way_.erase(at) : std::next(at);
    }
  }

  void move_messages() {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      if (under_way_.empty()) {
        work_.wait(lock, [&] { return stopped_ || !under_way_.empty(); });
        continue;
      }
      look();
      lock.unlock();
      std::this_thread::sleep_for(kPause);
      lock.lock();
    }
  }

  bool look_at(Messages& messages) {
    const std::lock_guard lock(mutex_);
    if (!messages.done) look();
    check_mpi(messages.code, "carry a message");
    return messages.done;
  }

  // What was given up stays under way, with its memory: MPI may still write there.
  void leave(const Messages& messages) noexcept {
    const std::lock_guard lock(mutex_);
    given_up_ = given_up_ || !messages.done;
  }

  MPI_Comm processes_ = MPI_COMM_NULL;
  int rank_ = 0, count_ = 1;
  bool ends_mpi_ = false, given_up_ = false, stopped_ = false;
  const int exceptions_ = std::uncaught_exceptions();
  std::mutex mutex_;
  std::condition_variable work_;
  std::list<std::shared_ptr<Messages>> under_way_;
  std::thread thread_;
};

}  // namespace

bool has_mpi() noexcept { return true; }

std::unique_ptr<Processes> mpi_processes() { return std::make_unique<MpiProcesses>(); }

}  // namespace attend
