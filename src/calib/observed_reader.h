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
  ir::Shape dims;  ///< -1 where samples differ; empty when their ranks do
  size_t samples = 0;
  double least = 0, most = 0;           ///< of the finite values
  std::vector<double> mean, deviation;  ///< by channel of an image (axis 1 or 3 of four, 1, 3 or 4 long), else one each

  bool is_constant() const { return samples > 0 && least == most; }
};

/// The axis of the channels of an image in a tensor of this shape: 1 or 3; nothing when it is none.
std::optional<size_t> channel_axis(const ir::Shape& dims);

/// Passes on the samples of another reader. Each sample counts once however often it is read, and sums are taken in the
/// order of the samples, so the summary does not depend on the order of reading.
class ObservedReader : public DataReader {
 public:
  ObservedReader(std::unique_ptr<DataReader> reader, const std::vector<InputSpec>& inputs);
  ~ObservedReader() override;

  size_t size() const override { return reader_->size(); }
  Result<Sample> read(size_t index) const override;

  /// By input. Tensors of other elements than numbers have no values.
  std::vector<InputSummary> summary() const;

 private:
  struct Seen;

  std::unique_ptr<DataReader> reader_;
  std::vector<std::string> names_;
  mutable std::mutex mutex_;
  mutable std::map<size_t, std::vector<Seen>> seen_;  ///< by sample, then by input
};

}  // namespace quarkq::calib
