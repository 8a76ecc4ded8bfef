// SPDX-License-Identifier: MIT
// Samples that the caller provides in memory, checked like a file: names, types, sizes.
#include "calib/sample_readers.h"

#include <cstring>
#include <mutex>
#include <numeric>

#include "base/random.h"
#include "base/strings.h"
#include "numeric/element_type.h"

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
                      " is not supported, use FLOAT, UINT8, INT64 or another number type");
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

// Rows of batches.

Result<std::unique_ptr<DataReader>> SplitBatches::open(std::unique_ptr<DataReader> batches,
                                                       std::vector<bool> is_split) {
  QQ_CHECK(batches->size() > 0);
  std::unique_ptr<SplitBatches> reader(new SplitBatches(std::move(batches), std::move(is_split)));
  size_t end = 0;
  for (size_t i = 0; i < reader->batches_->size(); ++i) {
    QQ_TRY(const Sample sample, reader->batches_->read(i));
    QQ_TRY(const size_t rows, reader->rows_of(sample));
    reader->ends_.push_back(end += rows);
  }
  return std::unique_ptr<DataReader>(std::move(reader));
}

Result<size_t> SplitBatches::rows_of(const Sample& batch) const {
  std::optional<int64_t> rows;
  for (size_t i = 0; i < is_split_.size(); ++i) {
    if (!is_split_[i]) continue;
    const int64_t found = batch.inputs[i].dims()[0];
    const std::string place = i < batch.files.size() ? batch.files[i] : cat("sample ", batch.name);
    if (found < 1) return bad_data(place, ": contains no rows, shape ", shape_text(batch.inputs[i].dims()));
    if (rows && *rows != found)
      return bad_data(place, ": found ", found, " rows, another input of the sample has ", *rows);
    rows = found;
  }
  return static_cast<size_t>(rows.value());
}

Result<std::shared_ptr<const Sample>> SplitBatches::batch(size_t index) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kept_.second != nullptr && kept_.first == index) return kept_.second;
  QQ_TRY(Sample sample, batches_->read(index));
  kept_ = {index, std::make_shared<const Sample>(std::move(sample))};
  return kept_.second;
}

std::vector<DataNote> SplitBatches::notes() const {
  std::vector<DataNote> notes = batches_->notes();
  notes.push_back({"samples-split", "samples",
                   cat(batches_->size(), " of several rows each are run row by row, as ", size(), " samples")});
  return notes;
}

Result<Sample> SplitBatches::read(size_t index) const {
  const auto found = static_cast<size_t>(std::ranges::upper_bound(ends_, index) - ends_.begin());
  const size_t row = index - (found == 0 ? 0 : ends_[found - 1]);
  QQ_TRY(const auto batch, this->batch(found));
  Sample sample{cat(batch->name, "_", row), {}, {}};
  for (size_t i = 0; i < is_split_.size(); ++i) {
    const ir::Tensor& whole = batch->inputs[i];
    if (i < batch->files.size())
      sample.files.push_back(is_split_[i] ? cat(batch->files[i], " row ", row) : batch->files[i]);
    sample.inputs.push_back(is_split_[i] ? whole.rows(static_cast<int64_t>(row), 1) : whole);
  }
  return sample;
}

Result<std::unique_ptr<DataReader>> open_or_cut(std::vector<InputSpec> inputs, size_t limit, const OpenSamples& open) {
  Result<std::unique_ptr<DataReader>> opened = open(inputs, limit);
  if (opened.ok()) return opened;
  std::vector<bool> is_split;
  for (InputSpec& input : inputs) {
    is_split.push_back(input.has_shape && input.dims.size() > 1 && input.dims[0] == 1);
    if (is_split.back()) input.dims[0] = -1;
  }
  if (std::ranges::find(is_split, true) == is_split.end()) return opened;
  Result<std::unique_ptr<DataReader>> batches = open(std::move(inputs), 0);
  if (!batches.ok()) return opened;
  const size_t count = batches.value()->size();
  QQ_TRY(auto rows, SplitBatches::open(std::move(batches).value(), std::move(is_split)));
  if (rows->size() == count) return opened;  // the failure has another reason
  if (limit == 0 || limit >= rows->size()) return rows;
  std::vector<size_t> numbers(limit);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  return std::unique_ptr<DataReader>(std::make_unique<SomeSamples>(std::move(rows), std::move(numbers)));
}

Result<std::unique_ptr<DataReader>> open_source(std::vector<InputSpec> inputs, const SampleSource& source,
                                                size_t limit) {
  return open_or_cut(std::move(inputs), limit, [&](std::vector<InputSpec> given, size_t most) {
    SampleSource limited = source;
    if (most > 0) limited.count = std::min(limited.count, most);
    Result<std::unique_ptr<DataReader>> opened = make_callback_reader(std::move(given), std::move(limited));
    if (!opened.ok()) return opened;
    const Result<Sample> first = opened.value()->read(0);
    return first.ok() ? std::move(opened) : first.status();
  });
}

// Random samples, number for number those of the reference (ref:samples#random-samples).

namespace {

constexpr uint32_t kSeed = 42;  // from ref:samples#random-samples

/// Sizes for unknown dimensions: images get 3 x 32 x 32, matrices 16 columns (ref:samples#random-samples).
int64_t default_dim(size_t axis, size_t rank) {
  if (axis == 1) return rank == 2 ? 16 : rank == 4 ? 3 : 1;
  if (axis == 2 || axis == 3) return rank == 4 ? 32 : 1;
  return 1;
}

Result<ir::Shape> sample_shape(const InputSpec& input, const RandomDataOptions& options) {
  ir::Shape dims = input.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] <= 0) dims[i] = default_dim(i, dims.size());
  }
  if (dims.empty()) dims = {1};
  if (options.shapes.empty()) return dims;
  const auto given = options.shapes.find(input.name);
  if (given == options.shapes.end()) {
    return invalid_argument("RandomDataReaderInputShape: has no entry for input ", input.name);
  }
  ir::Shape wanted = given->second;
  if (!wanted.empty() && wanted[0] <= 0) wanted[0] = 1;
  for (const int64_t dim : wanted) {
    if (dim <= 0) return dims;
  }
  return wanted;
}

template <typename T>
void fill_integers(ir::Tensor& tensor, int64_t low, int64_t high) {
  NumpyRandom random(kSeed);
  for (T& value : tensor.mutable_data<T>()) value = static_cast<T>(random.integer(low, high));
}

/// Both ends exact in double, and fewer values than the generator tells apart. False for NaN.
bool is_integer_range(const std::pair<double, double>& range) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  return range.first >= -kExact && range.second <= kExact && range.first <= range.second &&
         range.second - range.first < 4294967295.0;
}

bool has_random_values(ElementType type) {
  return is_integer(type) || type == ElementType::kFloat || type == ElementType::kDouble ||
         type == ElementType::kFloat16 || type == ElementType::kBool;
}

Status fill(ir::Tensor& tensor, const InputSpec& input, const std::pair<double, double>* range) {
  NumpyRandom random(kSeed);
  const double low = range == nullptr ? 0.0 : range->first,
               width = range == nullptr ? 1.0 : range->second - range->first;
  auto draw = [&] { return low + width * random.uniform(); };
  switch (tensor.type()) {
    case ElementType::kFloat:
      for (float& value : tensor.mutable_data<float>()) value = static_cast<float>(draw());
      return Status();
    case ElementType::kDouble:
      for (double& value : tensor.mutable_data<double>()) value = draw();
      return Status();
    case ElementType::kFloat16:
      for (uint16_t& value : tensor.mutable_data<uint16_t>()) value = float16_from_float(static_cast<float>(draw()));
      return Status();
    case ElementType::kBool:
      for (uint8_t& value : tensor.mutable_data<uint8_t>()) value = draw() != 0.0;
      return Status();
    default: break;
  }
  if (range == nullptr) return Status();  // doubles below 1, cast: all zero
  if (!is_integer_range(*range)) {
    return invalid_argument("RandomDataReaderInputDataRange: [", range->first, ",", range->second, "] of input ",
                            input.name, " is not a range of fewer than 2^32 integers");
  }
  const auto first = static_cast<int64_t>(range->first), last = static_cast<int64_t>(range->second);
  switch (bits(tensor.type())) {
    case 8: fill_integers<uint8_t>(tensor, first, last); return Status();
    case 16: fill_integers<uint16_t>(tensor, first, last); return Status();
    case 32: fill_integers<uint32_t>(tensor, first, last); return Status();
    default: fill_integers<uint64_t>(tensor, first, last); return Status();
  }
}

}  // namespace

Result<std::unique_ptr<DataReader>> make_random_reader(const std::vector<InputSpec>& inputs,
                                                       const RandomDataOptions& options) {
  Sample sample;
  sample.name = "random";
  for (const InputSpec& input : inputs) {
    if (!has_random_values(input.type) || bits(input.type) < 8) {
      return bad_data("input ", input.name, ": no random data for ", name(input.type));
    }
    QQ_TRY(const ir::Shape dims, sample_shape(input, options));
    const auto range = options.ranges.find(input.name);
    if (!options.ranges.empty() && range == options.ranges.end()) {
      return invalid_argument("RandomDataReaderInputDataRange: has no entry for input ", input.name);
    }
    QQ_TRY(ir::Tensor tensor, zeros_for_input(input, input.type, dims));
    QQ_RETURN_IF_ERROR(fill(tensor, input, options.ranges.empty() ? nullptr : &range->second));
    sample.inputs.push_back(std::move(tensor));
  }
  return std::unique_ptr<DataReader>(new OneSample(std::move(sample)));
}

}  // namespace quarkq::calib
