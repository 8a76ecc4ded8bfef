// SPDX-License-Identifier: MIT
// A part of a reader's samples.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "calib/data_note.h"
#include "calib/data_reader.h"

namespace quarkq::calib {

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

}  // namespace quarkq::calib
