// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target without libFuzzer: replay_main CORPUS_DIR ITERATIONS SEED. First each file of the corpus, then
// ITERATIONS mutations of them, the same ones for the same seed. An input that ends the process is left in
// ./crash-SEED-NUMBER; run it again with: replay_main FILE.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define TXNIC_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TXNIC_SANITIZED 1
#endif
#endif
#ifdef TXNIC_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

// What runs now, for the signal handler.
const Input* g_running = nullptr;
char g_crash_path[96];

void write_running() {
  if (g_running == nullptr) return;
  const int file = open(g_crash_path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (file < 0) return;
  const ssize_t written = write(file, g_running->data(), g_running->size());
  const char text[] = "the input is in ";
  if (write(2, text, sizeof text - 1) < 0 || write(2, g_crash_path, std::strlen(g_crash_path)) < 0 ||
      write(2, "\n", 1) < 0 || written < 0) {
    _exit(1);
  }
  close(file);
}

void on_signal(int number) {
  write_running();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

Input read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<Input> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());  // the order of a folder is not the same everywhere
  std::vector<Input> corpus;
  for (const auto& path : paths) corpus.push_back(read_file(path));
  return corpus;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  Input mutate(const std::vector<Input>& corpus) {
    Input input = corpus[below(corpus.size())];
    const size_t changes = 1 + below(4);
    for (size_t i = 0; i < changes; ++i) change(input, corpus[below(corpus.size())]);
    // A length field that lies is refused at once; so it mostly tells the truth (bytes 4 and 5 of a message).
    if (input.size() >= 6 && below(4) != 0) {
      input[4] = static_cast<uint8_t>(input.size());
      input[5] = static_cast<uint8_t>(input.size() >> 8);
    }
    return input;
  }

 private:
  // Not uniform_int_distribution: its numbers differ between standard libraries.
  size_t below(size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(random_() % bound); }

  void change(Input& input, const Input& other) {
    static constexpr uint8_t kEdges[] = {0, 1, 2, 7, 8, 16, 63, 64, 65, 127, 128, 254, 255};
    const size_t at = below(input.size());
    switch (below(7)) {
      case 0:
        if (!input.empty()) input[at] = static_cast<uint8_t>(input[at] ^ 1u << below(8));
        break;
      case 1:
        if (!input.empty()) input[at] = kEdges[below(std::size(kEdges))];
        break;
      case 2:
        if (!input.empty()) input[at] = static_cast<uint8_t>(random_());
        break;
      case 3: input.resize(at); break;
      case 4: {
        const auto from = static_cast<std::ptrdiff_t>(below(other.size()));
        input.insert(input.end(), other.begin() + from, other.end());
        break;
      }
      case 5:
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), 1 + below(8), static_cast<uint8_t>(random_()));
        break;
      default:
        if (!input.empty()) {
          const size_t count = 1 + below(input.size() - at);
          input.erase(input.begin() + static_cast<std::ptrdiff_t>(at),
                      input.begin() + static_cast<std::ptrdiff_t>(at + count));
        }
    }
    if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
  }

  static constexpr size_t kInputBytesMax = 1 << 20;
  std::mt19937_64 random_;
};

void run(const Input& input) {
  g_running = &input;
  LLVMFuzzerTestOneInput(input.data(), input.size());
  g_running = nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) {
    run(read_file(argv[1]));
    return 0;
  }
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s CORPUS_DIR ITERATIONS SEED\n       %s FILE\n", argv[0], argv[0]);
    return 2;
  }
#ifdef TXNIC_SANITIZED
  __sanitizer_set_death_callback(write_running);
#endif
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(number, on_signal);

  const std::vector<Input> corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no files in the corpus\n", argv[1]);
    return 2;
  }
  const uint64_t iterations = std::strtoull(argv[2], nullptr, 10);
  const uint64_t seed = std::strtoull(argv[3], nullptr, 10);
  for (size_t i = 0; i < corpus.size(); ++i) {
    std::snprintf(g_crash_path, sizeof g_crash_path, "crash-corpus-%zu", i);
    run(corpus[i]);
  }
  Mutator mutator(seed);
  for (uint64_t i = 0; i < iterations; ++i) {
    std::snprintf(g_crash_path, sizeof g_crash_path, "crash-%llu-%llu", static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(i));
    run(mutator.mutate(corpus));
  }
  std::printf("%zu files and %llu mutations, seed %llu\n", corpus.size(), static_cast<unsigned long long>(iterations),
              static_cast<unsigned long long>(seed));
  return 0;
}
