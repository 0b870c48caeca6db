// SPDX-License-Identifier: BSD-3-Clause
// A child process with its output in a file. It dies with the test, whatever happens.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace txnic::dataplane::test {

inline bool eventually(const auto& condition) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::seconds(60); Clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

// Main and one worker on the first CPU that we may use.
inline std::string two_lcores() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  int cpu = 0;
  while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &allowed)) ++cpu;
  const std::string number = std::to_string(cpu);
  return "0@" + number + ",1@" + number;
}

class Process {
 public:
  Process(const std::vector<std::string>& arguments, std::string log) : log_(std::move(log)) {
    std::vector<char*> pointers;
    for (const std::string& a : arguments) pointers.push_back(const_cast<char*>(a.c_str()));
    pointers.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing is left behind if the test dies
    const int fd = open(log_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  ~Process() { end(SIGKILL); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // The exit code, or minus the signal that ended it.
  int end(int signal) {
    if (pid_ <= 0) return last_;
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    last_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return last_;
  }
  bool is_running() {
    if (pid_ <= 0) return false;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == 0) return true;
    pid_ = 0;
    last_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return false;
  }
  std::string output() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t count(const std::string& text) const {
    const std::string all = output();
    size_t found = 0;
    for (size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++found;
    return found;
  }

 private:
  std::string log_;
  pid_t pid_ = 0;
  int last_ = 0;
};

}  // namespace txnic::dataplane::test
