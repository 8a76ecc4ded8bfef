// SPDX-License-Identifier: MIT
// Statistics in a file (docs/scaling.md): the same set gives the same bytes.
//   "QQSTATS1", length of the header as u64, header as JSON, tensors in name order, hash of all before as 32 digits.
//   A tensor: records, bins and votes, each as a count and that many entries; whole numbers are base-128 varints,
//   ascending ones as differences, extremes as float32. Little-endian.
#pragma once

#include "calib/statistics_set.h"

namespace quarkq::calib {

/// The bytes of a file.
std::string encode_statistics(const StatisticsSet& set);
/// Writes by atomic rename.
Status save_statistics(const std::string& path, const StatisticsSet& set);

/// Fails with kBadData naming the file when it is damaged, of another format, or no statistics at all.
Result<StatisticsSet> load_statistics(const std::string& path);
/// The same from memory; `name` is its name in messages.
Result<StatisticsSet> parse_statistics(const std::byte* data, size_t bytes, const std::string& name);

}  // namespace quarkq::calib
