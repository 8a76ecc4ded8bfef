// SPDX-License-Identifier: MIT
// Bytes that claim to be a statistics file.
#include "base/hash.h"
#include "calib/calibrator_table.h"
#include "calib/statistics_set.h"
#include "fuzz/sample_files.h"

namespace quarkq::fuzz {

void run_statistics(const uint8_t* data, size_t size) {
  // The hash at the end would refuse every change, so the right one is appended.
  std::string bytes(reinterpret_cast<const char*>(data), size);
  ContentHash hash;
  hash.add(bytes.data(), bytes.size());
  bytes += hash.text();
  Result<calib::StatisticsSet> set =
      calib::parse_statistics(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "fuzz");
  if (!set.ok()) return;
  for (const auto& [name, statistics] : set.value().tensors) {
    for (const calib::Calibrator& row : calib::calibrators()) {
      if (!row.is_compat()) static_cast<void>(row.finish(statistics, {}).ok());
    }
  }
  calib::StatisticsSet again = set.value();
  static_cast<void>(calib::merge_statistics(again, set.value(), "fuzz", false).ok());
  static_cast<void>(calib::encode_statistics(again));
}

std::vector<std::string> statistics_seeds() {
  calib::StatisticsSet set;
  set.origin.samples = 3;
  set.origin.isa = {"avx2"};
  set.origin.settings = {{"preset", "A8W8"}};
  const float values[] = {-1.5f, 0.0f, 2.0f, 1e-20f, 3e38f};
  calib::ValueStatistics statistics(/*with_bins=*/true);
  for (uint64_t sample = 0; sample < 2; ++sample) {
    statistics.add(values + sample, 4, sample);
    set.samples[sample] = "s";
  }
  statistics.votes[3] = 2;
  set.tensors.emplace("x", std::move(statistics));
  const std::string bytes = calib::encode_statistics(set);
  return {bytes.substr(0, bytes.size() - 32)};
}

}  // namespace quarkq::fuzz
