// SPDX-License-Identifier: MIT
// StatisticsSet: the statistics of a model's tensors with their origin, so that parts made by several machines can be
// merged and unrelated ones are refused.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/error.h"
#include "calib/value_statistics.h"

namespace quarkq::calib {

struct StatisticsOrigin {
  std::string version;     ///< of quarkq
  std::string model;       ///< hash of the model's file and weights
  std::string graph;       ///< hash of the float graph that ran: the model after the passes that the settings enable
  std::string preprocess;  ///< the block "preprocess:" in one line
  std::map<std::string, std::string> settings;  ///< those that can change the graph or what is observed
  std::set<std::string> isa;                    ///< instruction sets whose float results are in here
  uint64_t samples = 0;                         ///< of the whole data, covered or not
  bool operator==(const StatisticsOrigin&) const = default;
};

struct StatisticsSet {
  StatisticsOrigin origin;
  bool with_bins = true;
  std::map<uint64_t, std::string> samples;         ///< covered samples: number -> name
  std::map<std::string, ValueStatistics> tensors;  ///< by name
};

/// Empty when statistics of origin `theirs` hold for the run `ours`, else the first difference: "made from another
/// model (hash 12ab..., here 34cd...)". Settings that leave the float graph as it is may differ.
std::string run_difference(const StatisticsOrigin& theirs, const StatisticsOrigin& ours, bool allow_other_isa);

/// Adds `part` to `all`. Fails with kBadData naming `part_name` and the difference when they do not fit together or
/// have a sample in common.
Status merge_statistics(StatisticsSet& all, StatisticsSet part, const std::string& part_name, bool allow_other_isa);

/// Fails with kBadData when samples are missing, naming the first ones.
Status check_complete(const StatisticsSet& set, const std::string& name);

// Statistics in a file (docs/scaling.md): the same set gives the same bytes.
//   "QQSTATS1", length of the header as u64, header as JSON, tensors in name order, hash of all before as 32 digits.
//   A tensor: records, bins and votes, each as a count and that many entries; whole numbers are base-128 varints,
//   ascending ones as differences, extremes as float32. Little-endian.

/// The bytes of a file.
std::string encode_statistics(const StatisticsSet& set);
/// Writes by atomic rename.
Status save_statistics(const std::string& path, const StatisticsSet& set);

/// Fails with kBadData naming the file when it is damaged, of another format, or no statistics at all.
Result<StatisticsSet> load_statistics(const std::string& path);
/// The same from memory; `name` is its name in messages.
Result<StatisticsSet> parse_statistics(const std::byte* data, size_t bytes, const std::string& name);

}  // namespace quarkq::calib
