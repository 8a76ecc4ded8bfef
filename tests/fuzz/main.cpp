// SPDX-License-Identifier: MIT
// The fuzz target without a fuzzer: quarkq_fuzz_replay SECONDS SEED FILE-OR-FOLDER...
// Runs every model file as it is; then, until the time is over, spoiled ones. The model that is about to run is kept in
// the file named by QUARKQ_FUZZ_LAST, so that a crash can be looked at. Prints how many models ran.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "fuzz/fuzz_run.h"

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void run(const std::string& model, const char* last) {
  if (last != nullptr) std::ofstream(last, std::ios::binary) << model;
  quarkq::fuzz::run_once(reinterpret_cast<const uint8_t*>(model.data()), model.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fputs("quarkq_fuzz_replay SECONDS SEED FILE-OR-FOLDER...\n", stderr), 2;
  const double seconds = std::atof(argv[1]);
  auto seed = static_cast<uint32_t>(std::atol(argv[2]));
  const char* last = std::getenv("QUARKQ_FUZZ_LAST");
  std::vector<std::string> models;
  for (int i = 3; i < argc; ++i) {
    if (std::filesystem::is_regular_file(argv[i])) models.push_back(read_file(argv[i]));
    if (!std::filesystem::is_directory(argv[i])) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.path().extension() == ".onnx" && entry.file_size() < 20000) models.push_back(read_file(entry.path()));
    }
  }
  if (models.empty()) return std::fputs("no models there\n", stderr), 2;
  std::mt19937 pick(seed);
  const quarkq::Stopwatch watch;
  size_t count = 0;
  for (const std::string& model : models) run(model, last), ++count;
  while (watch.seconds() < seconds) {
    const std::string& model = models[pick() % models.size()];
    run(quarkq::fuzz::mutate(reinterpret_cast<const uint8_t*>(model.data()), model.size(), seed++), last);
    ++count;
  }
  std::printf("%zu models ran\n", count);
  return 0;
}
