// SPDX-License-Identifier: MIT
// A sample that is at hand.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "calib/data_reader.h"
#include "quarkq/quantize.h"

namespace quarkq::calib {

class OneSample final : public DataReader {
 public:
  explicit OneSample(Sample sample) : sample_(std::move(sample)) {}

  size_t size() const override { return 1; }
  Result<Sample> read(size_t /*index*/) const override { return sample_; }

 private:
  Sample sample_;
};

/// A part of a reader's samples.
class SomeSamples final : public DataReader {
 public:
  /// `numbers` of samples of `all`.
  SomeSamples(std::unique_ptr<DataReader> all, std::vector<size_t> numbers)
      : all_(std::move(all)), numbers_(std::move(numbers)) {}

  size_t size() const override { return numbers_.size(); }
  Result<Sample> read(size_t index) const override { return all_->read(numbers_[index]); }
  std::vector<DataNote> notes() const override { return all_->notes(); }

 private:
  std::unique_ptr<DataReader> all_;
  std::vector<size_t> numbers_;
};

// Samples that measure something. A model may be run on a sample without values, but not calibrated or judged on it.

/// Reads from `all` and fails with kBadData for a sample without any value.
class NonEmptySamples final : public DataReader {
 public:
  explicit NonEmptySamples(std::unique_ptr<DataReader> all) : all_(std::move(all)) {}

  size_t size() const override { return all_->size(); }
  std::vector<DataNote> notes() const override { return all_->notes(); }
  Result<Sample> read(size_t index) const override {
    QQ_TRY(Sample sample, all_->read(index));
    return with_values(std::move(sample));
  }

 private:
  std::unique_ptr<DataReader> all_;
};

/// Returns `opened` as NonEmptySamples. A failure and a null reader stay as they are.
inline Result<std::unique_ptr<DataReader>> refuse_empty(Result<std::unique_ptr<DataReader>> opened) {
  if (!opened.ok() || opened.value() == nullptr) return opened;
  return std::unique_ptr<DataReader>(std::make_unique<NonEmptySamples>(std::move(opened).value()));
}

/// Some samples of a reader, evenly spread over those with even or those with odd numbers: what is found on one half is
/// judged on the other. The reader must outlive this.
class SpreadSamples final : public DataReader {
 public:
  enum class Part { kEven, kOdd };
  /// Of a single sample it is both parts.
  SpreadSamples(const DataReader& all, size_t count, Part part)
      : all_(all),
        odd_(part == Part::kOdd && all.size() > 1 ? 1 : 0),
        available_((all.size() + 1 - odd_) / 2),
        count_(std::min(count, available_)) {}

  size_t size() const override { return count_; }
  /// The reader's number of sample `index`.
  size_t number(size_t index) const { return 2 * (index * available_ / count_) + odd_; }
  Result<Sample> read(size_t index) const override { return all_.read(number(index)); }

 private:
  const DataReader& all_;
  size_t odd_, available_, count_;
};

// Samples from the caller's memory.

/// Reads through the caller's function, one call at a time. kBadData when the data does not fit the inputs.
Result<std::unique_ptr<DataReader>> make_callback_reader(std::vector<InputSpec> inputs, SampleSource source);

}  // namespace quarkq::calib
