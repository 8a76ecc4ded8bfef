// SPDX-License-Identifier: MIT
// Statistics of the samples, collected while they are read.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "calib/data_reader.h"

namespace quarkq::calib {

/// The values of one input over all samples that were read.
struct InputSummary {
  std::string name;
  ElementType type = ElementType::kUndefined;
  ir::Shape dims;  ///< -1 for dimensions that differ between samples; empty if ranks differ.
  size_t samples = 0;
  double least = 0, most = 0;           ///< Smallest and largest finite value.
  std::vector<double> mean, deviation;  ///< One per channel of an image (axis 1 or 3 of four, 1, 3 or 4 long),
                                        ///< otherwise one.

  bool is_constant() const { return samples > 0 && least == most; }
};

/// Returns the channel axis of an image in a tensor of this shape, 1 or 3, or nullopt if it is not an image.
std::optional<size_t> channel_axis(const ir::Shape& dims);

/// Passes on the samples of another reader. Each sample counts once even if it is read repeatedly, and sums are
/// computed in the order of the samples, so the summary does not depend on the order of reading.
class ObservedReader : public DataReader {
 public:
  ObservedReader(std::unique_ptr<DataReader> reader, const std::vector<InputSpec>& inputs);
  ~ObservedReader() override;

  size_t size() const override { return reader_->size(); }
  Result<Sample> read(size_t index) const override;

  /// Returns summaries by input. Tensors of non-numeric elements have no values.
  std::vector<InputSummary> summary() const;

 private:
  struct Seen;

  std::unique_ptr<DataReader> reader_;
  std::vector<std::string> names_;
  mutable std::mutex mutex_;
  mutable std::map<size_t, std::vector<Seen>> seen_;  ///< Keyed by sample, then by input.
};

}  // namespace quarkq::calib
