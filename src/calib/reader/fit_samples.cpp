// SPDX-License-Identifier: MIT
#include "calib/reader/fit_samples.h"

#include "exec/layout_convert.h"

namespace quarkq::calib {
namespace {

class FittedSamples : public DataReader {
 public:
  FittedSamples(const DataReader& reader, std::vector<InputSpec> inputs, const std::set<std::string>& channels_last)
      : reader_(reader), inputs_(std::move(inputs)) {
    for (InputSpec& input : inputs_) {
      moves_.push_back(channels_last.contains(input.name));
      input.has_shape = false;
    }
  }

  size_t size() const override { return reader_.size(); }

  Result<Sample> read(size_t index) const override {
    QQ_TRY(Sample sample, reader_.read(index));
    for (size_t i = 0; i < sample.inputs.size() && i < inputs_.size(); ++i) {
      ir::Tensor& tensor = sample.inputs[i];
      if (moves_[i] && tensor.rank() == 4) {
        // What is channels-last in memory here is the plain order of the converted input.
        tensor = exec::in_layout(tensor, exec::Layout::kChannelsLast);
      }
      const std::string file = i < sample.files.size() ? sample.files[i] : cat("sample ", sample.name);
      QQ_TRY(tensor, fit_to_input(std::move(tensor), inputs_[i], file));
    }
    return sample;
  }

 private:
  const DataReader& reader_;
  std::vector<InputSpec> inputs_;
  std::vector<bool> moves_;
};

}  // namespace

std::unique_ptr<DataReader> fit_samples(const DataReader& reader, std::vector<InputSpec> inputs,
                                        const std::set<std::string>& channels_last) {
  return std::make_unique<FittedSamples>(reader, std::move(inputs), channels_last);
}

}  // namespace quarkq::calib
