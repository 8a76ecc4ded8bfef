// SPDX-License-Identifier: MIT
// A sample in memory.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
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

/// A subset of a reader's samples.
class SomeSamples final : public DataReader {
 public:
  /// Reads the samples of `all` with these numbers.
  SomeSamples(std::unique_ptr<DataReader> all, std::vector<size_t> numbers)
      : all_(std::move(all)), numbers_(std::move(numbers)) {}

  size_t size() const override { return numbers_.size(); }
  Result<Sample> read(size_t index) const override { return all_->read(numbers_[index]); }
  std::vector<DataNote> notes() const override { return all_->notes(); }

 private:
  std::unique_ptr<DataReader> all_;
  std::vector<size_t> numbers_;
};

/// Rows of batches as samples of their own, NAME_0, NAME_1, ...
class SplitBatches final : public DataReader {
 public:
  /// Reads `batches`, whose samples have rows along axis 0 of the inputs in `is_split`. Other inputs are passed on
  /// whole. Reads every sample once to count its rows. Fails with kBadData if a sample cannot be read, or if its inputs
  /// have different numbers of rows.
  static Result<std::unique_ptr<DataReader>> open(std::unique_ptr<DataReader> batches, std::vector<bool> is_split);

  size_t size() const override { return ends_.back(); }
  Result<Sample> read(size_t index) const override;
  std::vector<DataNote> notes() const override;

 private:
  SplitBatches(std::unique_ptr<DataReader> batches, std::vector<bool> is_split)
      : batches_(std::move(batches)), is_split_(std::move(is_split)) {}
  /// Returns the number of rows of a batch.
  Result<size_t> rows_of(const Sample& batch) const;
  /// Returns the batch from its cache, or reads it.
  Result<std::shared_ptr<const Sample>> batch(size_t index) const;

  std::unique_ptr<DataReader> batches_;
  std::vector<bool> is_split_;
  std::vector<size_t> ends_;  ///< The number of rows up to the end of each batch.
  mutable std::mutex mutex_;
  mutable std::pair<size_t, std::shared_ptr<const Sample>> kept_;  ///< The batch read last.
};

/// Opens samples for inputs; reads `limit` samples at most, 0: all.
using OpenSamples = std::function<Result<std::unique_ptr<DataReader>>(std::vector<InputSpec> inputs, size_t limit)>;

/// Returns what `open` opens for the inputs. If that fails and the inputs take one row, but the samples are batches of
/// rows, returns the rows as samples, `limit` at most. Otherwise returns the failure.
Result<std::unique_ptr<DataReader>> open_or_cut(std::vector<InputSpec> inputs, size_t limit, const OpenSamples& open);

// Samples with values. A model may be run on a sample without values, but not calibrated or judged on it.

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

/// Returns `opened` as NonEmptySamples. A failure and a null reader are returned unchanged.
inline Result<std::unique_ptr<DataReader>> refuse_empty(Result<std::unique_ptr<DataReader>> opened) {
  if (!opened.ok() || opened.value() == nullptr) return opened;
  return std::unique_ptr<DataReader>(std::make_unique<NonEmptySamples>(std::move(opened).value()));
}

/// Some samples of a reader, evenly spread over the samples with even or with odd numbers, so that findings on one half
/// are judged on the other. The reader must outlive this object.
class SpreadSamples final : public DataReader {
 public:
  enum class Part { kEven, kOdd };
  /// A single sample belongs to both parts.
  SpreadSamples(const DataReader& all, size_t count, Part part)
      : all_(all),
        odd_(part == Part::kOdd && all.size() > 1 ? 1 : 0),
        available_((all.size() + 1 - odd_) / 2),
        count_(std::min(count, available_)) {}

  size_t size() const override { return count_; }
  /// Returns the reader's number of sample `index`.
  size_t number(size_t index) const { return 2 * (index * available_ / count_) + odd_; }
  Result<Sample> read(size_t index) const override { return all_.read(number(index)); }

 private:
  const DataReader& all_;
  size_t odd_, available_, count_;
};

/// Returns a reader that calls the caller's function, one call at a time. Its reads fail with kBadData if the data does
/// not match the inputs. Fails with kBadData if the source has no samples.
Result<std::unique_ptr<DataReader>> make_callback_reader(std::vector<InputSpec> inputs, SampleSource source);

/// Like make_callback_reader(), for `limit` samples at most (0: all). Batches of rows for inputs that take one row are
/// cut like batches in files.
Result<std::unique_ptr<DataReader>> open_source(std::vector<InputSpec> inputs, const SampleSource& source,
                                                size_t limit);

}  // namespace quarkq::calib
