// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/runner.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <thread>

#include <malloc.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace txnic::sim {
namespace {

volatile std::sig_atomic_t interrupted = 0;
void on_signal(int) { interrupted = 1; }

class Signals {
 public:
  Signals() {
    struct sigaction action {};
    action.sa_handler = on_signal;  // without SA_RESTART: poll() returns
    ::sigaction(SIGINT, &action, &before_int_);
    ::sigaction(SIGTERM, &action, &before_term_);
    interrupted = 0;
  }
  ~Signals() {
    ::sigaction(SIGINT, &before_int_, nullptr);
    ::sigaction(SIGTERM, &before_term_, nullptr);
  }

 private:
  struct sigaction before_int_ {
  }, before_term_{};
};

struct Child {
  pid_t pid = -1;
  int pipe = -1;
  uint64_t number = 0;  // of its run, in order
  Options options;
  std::string received;
};

bool write_all(int to, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes != 0) {
    const ssize_t done = ::write(to, at, bytes);
    if (done <= 0) return false;
    at += done;
    bytes -= static_cast<size_t>(done);
  }
  return true;
}

// Nodes die and start all the time: their memory stays with the process instead of being mapped again, and is asked for
// in huge pages. (Touching small pages for the first time was a third of all time.) Where that is refused it is slower.
void prepare_heap() {
  constexpr size_t kHeapBytes = 256u << 20, kHugePageBytes = 2u << 20;
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::mallopt(M_TOP_PAD, kHeapBytes);
  void* volatile first = ::malloc(kHugePageBytes);  // grows the heap, by the padding too
  ::free(first);
  const auto end = reinterpret_cast<uintptr_t>(::sbrk(0));
  const uintptr_t begin = (end - kHeapBytes + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

[[noreturn]] void be_child(const Runner::Plan& plan, int to) {
  ::signal(SIGINT, SIG_IGN);  // the parent ends us
  ::signal(SIGTERM, SIG_DFL);
  prepare_heap();
  const SeedResult result = run_seed(plan.options, plan.history_file);
  write_all(to, &result.statistics, sizeof result.statistics);
  write_all(to, result.violation.data(), result.violation.size());
  ::close(to);
  std::fflush(nullptr);
  ::_exit(0);
}

bool start(const Runner::Plan& plan, uint64_t number, Child* child) {
  int ends[2];
  if (::pipe(ends) != 0) return false;
  std::fflush(nullptr);  // else the child prints it again
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    be_child(plan, ends[1]);
  }
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    return false;
  }
  *child = {pid, ends[0], number, plan.options, {}};
  return true;
}

// The pipe is at its end.
SeedResult finish(Child* child) {
  ::close(child->pipe);
  int status = 0;
  ::waitpid(child->pid, &status, 0);
  SeedResult result;
  result.options = child->options;
  if (child->received.size() >= sizeof result.statistics && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    std::memcpy(&result.statistics, child->received.data(), sizeof result.statistics);
    result.violation = child->received.substr(sizeof result.statistics);
  } else if (WIFSIGNALED(status)) {
    result.violation = std::string("the run died: ") + ::strsignal(WTERMSIG(status)) + " (see its message above)";
  } else {
    result.violation = "the run ended with exit code " + std::to_string(WEXITSTATUS(status));
  }
  return result;
}

}  // namespace

uint32_t cores() { return std::max(1u, std::thread::hardware_concurrency()); }

SeedResult run_seed(const Options& options, const std::string& history_file) {
  SeedResult result;
  result.options = options;
  World world(options);
  world.run();
  result.violation = world.violation();
  result.statistics = world.statistics();
  if (history_file.empty()) return result;
  std::FILE* const file = std::fopen(history_file.c_str(), "w");
  if (file == nullptr) {
    result.violation = "cannot write " + history_file + ": " + std::strerror(errno);
    return result;
  }
  write_edn(world.history(), file);
  if (std::fclose(file) != 0) result.violation = "cannot write " + history_file + ": " + std::strerror(errno);
  return result;
}

bool Runner::run(const Next& next, const Take& take, const Tick& tick) {
  const Signals signals;
  std::deque<Child> children;
  std::map<uint64_t, SeedResult> early;  // results that wait for those before them
  uint64_t started = 0, taken = 0;
  bool more = true;
  std::time_t ticked = std::time(nullptr);
  while (interrupted == 0) {
    Plan plan;
    while (more && children.size() < processes_) {
      if (!next(&plan)) {
        more = false;
        break;
      }
      Child child;
      if (!start(plan, started++, &child)) {
        std::perror("txsim: starting a process");
        interrupted = 1;
        break;
      }
      children.push_back(std::move(child));
    }
    if (children.empty()) break;
    std::vector<pollfd> waits;
    for (const Child& child : children) waits.push_back({child.pipe, POLLIN, 0});
    ::poll(waits.data(), waits.size(), 1000);
    for (size_t i = waits.size(); i-- > 0 && interrupted == 0;) {
      if (waits[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t got = ::read(children[i].pipe, buffer, sizeof buffer);
      if (got > 0) {
        children[i].received.append(buffer, static_cast<size_t>(got));
        continue;
      }
      early.emplace(children[i].number, finish(&children[i]));
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (auto first = early.begin(); first != early.end() && first->first == taken; first = early.erase(first)) {
      ++taken;
      more = take(first->second) && more;
    }
    if (const std::time_t now = std::time(nullptr); now != ticked) {
      ticked = now;
      tick();
    }
  }
  for (Child& child : children) {
    ::kill(child.pid, SIGKILL);
    ::close(child.pipe);
    ::waitpid(child.pid, nullptr, 0);
  }
  return interrupted == 0;
}

}  // namespace txnic::sim
