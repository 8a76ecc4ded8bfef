// SPDX-License-Identifier: MIT
// StatisticsSet: the statistics of a model's tensors with their origin, so that parts from several machines can be
// merged and unrelated parts are rejected.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/error.h"
#include "calib/value_statistics.h"

namespace quarkq::calib {

struct StatisticsOrigin {
  std::string version;     ///< Version of quarkq.
  std::string model;       ///< Hash of the model's file and weights.
  std::string graph;       ///< Hash of the float graph that ran: the model after the enabled passes.
  std::string preprocess;  ///< The block "preprocess:" on one line.
  std::map<std::string, std::string> settings;  ///< Settings that can change the graph or the observed values.
  std::set<std::string> isa;                    ///< Instruction sets of the float results.
  uint64_t samples = 0;                         ///< Number of samples in the whole data, covered or not.
  bool operator==(const StatisticsOrigin&) const = default;
};

struct StatisticsSet {
  StatisticsOrigin origin;
  bool with_bins = true;
  std::map<uint64_t, std::string> samples;         ///< Names of the covered samples, by number.
  std::map<std::string, ValueStatistics> tensors;  ///< Keyed by tensor name.
};

/// Returns an empty string if statistics of origin `theirs` are valid for the run `ours`, otherwise the first
/// difference: "made from another model (hash 12ab..., here 34cd...)". Settings that do not change the float graph may
/// differ.
std::string run_difference(const StatisticsOrigin& theirs, const StatisticsOrigin& ours, bool allow_other_isa);

/// Adds `part` to `all`. Fails with kBadData naming `part_name` and the difference if they do not match or have a
/// sample in common.
Status merge_statistics(StatisticsSet& all, StatisticsSet part, const std::string& part_name, bool allow_other_isa);

/// Fails with kBadData if samples are missing, naming the first ones.
Status check_complete(const StatisticsSet& set, const std::string& name);

// Statistics in a file (docs/scaling.md): the same set gives the same bytes.
//   "QQSTATS1", length of the header as u64, header as JSON, tensors in name order, hash of all before as 32 digits.
//   A tensor: records, bins and votes, each as a count and that many entries; whole numbers are base-128 varints,
//   ascending ones as differences, extremes as float32. Little-endian.

/// Returns the bytes of a file.
std::string encode_statistics(const StatisticsSet& set);
/// Writes by atomic rename.
Status save_statistics(const std::string& path, const StatisticsSet& set);

/// Fails with kBadData naming the file if it is damaged, has another format, or does not contain statistics.
Result<StatisticsSet> load_statistics(const std::string& path);
/// Parses statistics in memory. Messages refer to them as `name`.
Result<StatisticsSet> parse_statistics(const std::byte* data, size_t bytes, const std::string& name);

}  // namespace quarkq::calib
