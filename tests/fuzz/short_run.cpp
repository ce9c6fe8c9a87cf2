// fuzz_short: every fuzz target, without a fuzzer. Replays the seeds of corpus/TARGET/, then a fixed number
// of mutations of them, the same ones each time.
//
//   fuzz_short FOLDER [--runs N] [--target NAME [--seed S]]   FOLDER: tests/fuzz
//   fuzz_short --target NAME --input FILE                     one input again
//
// When a target fails, what it was given is written to fuzz-failure-TARGET in the current folder, and the
// seed is printed.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/fuzz/mutations.hpp"
#include "tests/fuzz/targets.hpp"

namespace {

namespace fs = std::filesystem;

constexpr unsigned kSlowest = 20;  // seconds for one input; then it counts as endless

// What is under way, for whoever is called when it goes wrong.
std::string g_input;
std::array<char, 256> g_file, g_what;

void on_failure(int signal) {
  const auto say = [](const char* text) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
  };
  say(signal == SIGALRM ? "\nFAILED (no end): " : "\nFAILED: ");
  say(g_what.data());
  say("\nthe input is in ");
  say(g_file.data());
  say("\n");
  const int fd = ::open(g_file.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  [[maybe_unused]] const auto written = ::write(fd, g_input.data(), g_input.size());
  ::_exit(1);
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

std::vector<std::string> read_seeds(const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator(folder))
      files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<std::string> seeds;
  for (const fs::path& file : files)
    seeds.push_back(read_file(file));
  return seeds;
}

// libFuzzer's form: one "word" a line, with \" \\ and \xAB.
std::vector<std::string> read_words(const fs::path& path) {
  std::vector<std::string> words;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find('"'), end = line.rfind('"');
    if (line.starts_with('#') || begin == end) continue;
    std::string word;
    for (std::size_t at = begin + 1; at < end; ++at) {
      if (line[at] == '\\' && line[at + 1] == 'x') {
        word += static_cast<char>(std::stoi(line.substr(at + 2, 2), nullptr, 16));
        at += 3;
      } else {
        if (line[at] == '\\') ++at;
        word += line[at];
      }
    }
    words.push_back(std::move(word));
  }
  return words;
}

void run(const fuzz::Target& target, std::string input, const std::string& what) {
  g_input = std::move(input);
  std::snprintf(g_what.data(), g_what.size(), "%s, %s", target.name, what.c_str());
  std::snprintf(g_file.data(), g_file.size(), "fuzz-failure-%s", target.name);
  ::alarm(kSlowest);
  target.run(reinterpret_cast<const std::uint8_t*>(g_input.data()), g_input.size());
  ::alarm(0);
}

// A target has its own numbers, which do not change when others are added.
std::uint64_t first_seed(const char* name) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (; *name != 0; ++name)
    hash = (hash ^ static_cast<unsigned char>(*name)) * 1099511628211ULL;
  return hash & 0xFFFF'FFFF'0000ULL;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder, only, input;
  std::uint64_t runs = 1000, seed = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (!name.starts_with("--")) {
      folder = name;
      continue;
    }
    ++i;
    if (name == "--runs") runs = std::stoull(value);
    if (name == "--seed") seed = std::stoull(value);
    if (name == "--target") only = value;
    if (name == "--input") input = value;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM})
    std::signal(signal, on_failure);

  bool found = false;
  for (const fuzz::Target& target : fuzz::targets()) {
    if (!only.empty() && only != target.name) continue;
    found = true;
    if (!input.empty()) {
      run(target, read_file(input), input);
      continue;
    }
    const auto seeds = read_seeds(fs::path(folder) / "corpus" / target.name);
    const auto words = read_words(fs::path(folder) / "words" / (std::string(target.name) + ".dict"));
    if (seeds.empty()) {
      std::cerr << target.name << " has no seeds in " << folder << "/corpus/" << target.name << "\n";
      return 1;
    }
    for (std::size_t i = 0; i < seeds.size() && seed == 0; ++i)
      run(target, seeds[i], "seed file " + std::to_string(i + 1) + " by name");
    const std::uint64_t first = seed != 0 ? seed : first_seed(target.name), count = seed != 0 ? 1 : runs;
    for (std::uint64_t at = first; at < first + count; ++at)
      run(target, fuzz::mutated(seeds, words, at),
          "--target " + std::string(target.name) + " --seed " + std::to_string(at));
    std::cout << target.name << ": " << seeds.size() << " seeds, " << count << " mutations" << std::endl;
  }
  if (!found) std::cerr << "there is no target '" << only << "'\n";
  return found ? 0 : 1;
}
