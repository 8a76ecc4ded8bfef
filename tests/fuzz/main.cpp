// SPDX-License-Identifier: MIT
// The fuzz targets without a fuzzer: quarkq_fuzz_replay TARGET SECONDS SEED [FILE-OR-FOLDER...]
// Runs every seed as it is; then, until the time is over, spoiled ones. Seeds are the target's own and the files (of
// folders: the .onnx files below them). The bytes that are about to run are kept in the file named by
// QUARKQ_FUZZ_LAST, so that a crash can be examined. Prints how many ran. --list prints the targets, with "files" after
// those whose seeds are files; --seeds TARGET FOLDER writes seeds of other targets.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "fuzz/targets.h"

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void run(const quarkq::fuzz::Target& target, const std::string& bytes, const char* last) {
  if (last != nullptr) std::ofstream(last, std::ios::binary) << bytes;
  target.run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

void add_seeds(const std::filesystem::path& path, std::vector<std::string>& seeds) {
  if (std::filesystem::is_regular_file(path)) seeds.push_back(read_file(path));
  if (!std::filesystem::is_directory(path)) return;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.path().extension() == ".onnx" && entry.file_size() < 20000) seeds.push_back(read_file(entry.path()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = quarkq::fuzz::answer_about_targets(argc, argv)) return *status;
  const quarkq::fuzz::Target* target = argc < 4 ? nullptr : quarkq::fuzz::find_target(argv[1]);
  if (target == nullptr) {
    return std::fputs("quarkq_fuzz_replay TARGET SECONDS SEED [FILE-OR-FOLDER...]; --list\n", stderr), 2;
  }
  const double seconds = std::atof(argv[2]);
  auto seed = static_cast<uint32_t>(std::atol(argv[3]));
  const char* last = std::getenv("QUARKQ_FUZZ_LAST");
  std::vector<std::string> seeds;
  if (target->seeds != nullptr) seeds = target->seeds();
  for (int i = 4; i < argc; ++i) add_seeds(argv[i], seeds);
  if (seeds.empty()) return std::fputs("no seeds there\n", stderr), 2;
  std::mt19937 pick(seed);
  const quarkq::Stopwatch watch;
  size_t count = 0;
  for (const std::string& bytes : seeds) run(*target, bytes, last), ++count;
  while (watch.seconds() < seconds) {
    const std::string& bytes = seeds[pick() % seeds.size()];
    run(*target, target->mutate(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), seed++), last);
    ++count;
  }
  std::printf("%s: %zu inputs ran\n", target->name, count);
  return 0;
}
