// SPDX-License-Identifier: MIT
// Samples that the caller provides in memory, checked like a file: names, types, sizes.
#include "calib/callback_reader.h"

#include <cstring>
#include <mutex>

#include "base/suggest.h"

namespace quarkq::calib {
namespace {

class CallbackReader : public DataReader {
 public:
  CallbackReader(std::vector<InputSpec> inputs, SampleSource source)
      : inputs_(std::move(inputs)), source_(std::move(source)) {}

  size_t size() const override { return source_.count; }

  Result<Sample> read(size_t index) const override {
    const std::string name = cat("sample ", index);  // in messages
    Sample sample{cat(index), std::vector<ir::Tensor>(inputs_.size()), {}};
    const std::lock_guard<std::mutex> lock(mutex_);  // callers need not be thread-safe
    QQ_TRY(const std::vector<SampleTensor> given, source_.read(index));
    if (given.size() != inputs_.size())
      return bad_data(name, ": found ", given.size(), " tensors, the model takes ", inputs_.size());
    for (const SampleTensor& tensor : given) {
      QQ_TRY(const size_t place, place_of(tensor, name));
      if (sample.inputs[place].is_defined()) return bad_data(name, ": input ", inputs_[place].name, " is given twice");
      QQ_TRY(ir::Tensor copy, copy_of(tensor, cat(name, ", input ", inputs_[place].name)));
      QQ_TRY(sample.inputs[place], fit_to_input(std::move(copy), inputs_[place], name));
    }
    return sample;
  }

 private:
  Result<size_t> place_of(const SampleTensor& tensor, const std::string& sample) const {
    if (tensor.name.empty() && inputs_.size() == 1) return size_t{0};
    std::vector<std::string> names;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].name == tensor.name) return i;
      names.push_back(inputs_[i].name);
    }
    return bad_data(sample, ": the model has no input '", tensor.name, "'", did_you_mean(tensor.name, names));
  }

  static Result<ir::Tensor> copy_of(const SampleTensor& tensor, const std::string& what) {
    const std::optional<ElementType> type = element_type_from_name(tensor.type);
    if (!type || *type == ElementType::kString || *type == ElementType::kUndefined)
      return bad_data(what, ": type ", tensor.type,
                      " is not supported, take FLOAT, UINT8, INT64 or another number type");
    const Result<int64_t> count = ir::element_count(tensor.dims);
    if (!count.ok()) return bad_data(what, ": ", count.status().message());
    const int64_t bytes = storage_bytes(*type, count.value());
    if (static_cast<uint64_t>(bytes) != tensor.bytes || (bytes > 0 && tensor.data == nullptr)) {
      return bad_data(what, ": found ", tensor.bytes, " bytes, ", shape_text(tensor.dims), " of ", tensor.type, " has ",
                      bytes);
    }
    ir::Tensor copy = ir::Tensor::allocate(*type, tensor.dims);
    if (bytes > 0) std::memcpy(copy.mutable_raw(), tensor.data, tensor.bytes);
    return copy;
  }

  std::vector<InputSpec> inputs_;
  SampleSource source_;
  mutable std::mutex mutex_;
};

}  // namespace

Result<std::unique_ptr<DataReader>> make_callback_reader(std::vector<InputSpec> inputs, SampleSource source) {
  if (source.count == 0) return bad_data("samples: the source has none, one is needed at least");
  return std::unique_ptr<DataReader>(std::make_unique<CallbackReader>(std::move(inputs), std::move(source)));
}

}  // namespace quarkq::calib
