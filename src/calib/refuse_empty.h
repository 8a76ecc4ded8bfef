// SPDX-License-Identifier: MIT
// Samples that measure something. A model may be run on a sample without values, but not calibrated or judged on it.
#pragma once

#include <memory>
#include <utility>

#include "calib/data_note.h"
#include "calib/data_reader.h"

namespace quarkq::calib {

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

}  // namespace quarkq::calib
