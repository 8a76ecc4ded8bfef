// SPDX-License-Identifier: MIT
#include "calib/observed_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/element_type.h"

namespace quarkq::calib {

/// Of the finite values of one channel. Of external linkage, as ObservedReader::Seen is.
struct InputSums {
  uint64_t count = 0;
  double sum = 0, squares = 0, least = std::numeric_limits<double>::infinity(),
         most = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    ++count;
    sum += value;
    squares += value * value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  void add(const InputSums& other) {
    count += other.count;
    sum += other.sum;
    squares += other.squares;
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
};

namespace {

/// Calls `add(channel, value)` for each element. `inner`: elements that follow each other within a channel.
template <typename T, typename Decode, typename Add>
void visit(const ir::Tensor& tensor, size_t channels, size_t inner, const Decode& decode, const Add& add) {
  const auto values = tensor.data<T>();
  for (size_t begin = 0, channel = 0; begin < values.size(); begin += inner) {
    const size_t end = std::min(values.size(), begin + inner);
    for (size_t i = begin; i < end; ++i) add(channel, decode(values[i]));
    channel = channel + 1 == channels ? 0 : channel + 1;
  }
}

std::vector<InputSums> sums_of(const ir::Tensor& tensor) {
  const std::optional<size_t> axis = channel_axis(tensor.dims());
  const size_t channels = axis ? static_cast<size_t>(tensor.dims()[*axis]) : 1;
  size_t inner = 1;
  for (size_t i = axis ? *axis + 1 : 0; i < tensor.dims().size(); ++i) inner *= static_cast<size_t>(tensor.dims()[i]);
  std::vector<InputSums> sums(channels);
  if (tensor.size() == 0) return sums;
  const auto add = [&](size_t channel, double value) { sums[channel].add(value); };
  const auto plain = [](auto value) { return static_cast<double>(value); };
  switch (tensor.type()) {
    case ElementType::kFloat: visit<float>(tensor, channels, inner, plain, add); break;
    case ElementType::kDouble: visit<double>(tensor, channels, inner, plain, add); break;
    case ElementType::kFloat16: visit<uint16_t>(tensor, channels, inner, float_from_float16, add); break;
    case ElementType::kUInt8: visit<uint8_t>(tensor, channels, inner, plain, add); break;
    case ElementType::kInt8: visit<int8_t>(tensor, channels, inner, plain, add); break;
    case ElementType::kInt32: visit<int32_t>(tensor, channels, inner, plain, add); break;
    case ElementType::kInt64: visit<int64_t>(tensor, channels, inner, plain, add); break;
    default: break;
  }
  return sums;
}

/// Without those dimensions that differ.
void meet(ir::Shape& dims, const ir::Shape& other) {
  if (dims.size() != other.size()) dims.clear();
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = dims[i] == other[i] ? dims[i] : -1;
}

}  // namespace

/// What one sample holds in one input.
struct ObservedReader::Seen {
  ElementType type = ElementType::kUndefined;
  ir::Shape dims;
  std::vector<InputSums> channels;
};

std::optional<size_t> channel_axis(const ir::Shape& dims) {
  const auto is_channels = [](int64_t dim) { return dim == 1 || dim == 3 || dim == 4; };
  if (dims.size() != 4) return std::nullopt;
  if (is_channels(dims[1])) return 1;
  return is_channels(dims[3]) ? std::optional<size_t>(3) : std::nullopt;
}

ObservedReader::ObservedReader(std::unique_ptr<DataReader> reader, const std::vector<InputSpec>& inputs)
    : reader_(std::move(reader)) {
  for (const InputSpec& input : inputs) names_.push_back(input.name);
}

ObservedReader::~ObservedReader() = default;

Result<Sample> ObservedReader::read(size_t index) const {
  QQ_TRY(Sample sample, reader_->read(index));
  {
    const std::lock_guard lock(mutex_);
    if (seen_.contains(index)) return sample;
  }
  std::vector<Seen> seen;
  for (const ir::Tensor& tensor : sample.inputs) seen.push_back({tensor.type(), tensor.dims(), sums_of(tensor)});
  const std::lock_guard lock(mutex_);
  seen_.emplace(index, std::move(seen));
  return sample;
}

std::vector<InputSummary> ObservedReader::summary() const {
  const std::lock_guard lock(mutex_);
  std::vector<InputSummary> summaries;
  for (size_t i = 0; i < names_.size() && !seen_.empty(); ++i) {
    InputSummary input;
    input.name = names_[i];
    input.samples = seen_.size();
    const Seen& first = seen_.begin()->second[i];
    input.type = first.type;
    input.dims = first.dims;
    std::vector<InputSums> all(first.channels.size());
    for (const auto& [index, inputs] : seen_) {
      const std::vector<InputSums>& channels = inputs[i].channels;
      meet(input.dims, inputs[i].dims);
      if (channels.size() != all.size())
        all.assign(1, InputSums());  // not the same kind of data: no summary by channel
      for (size_t c = 0; c < all.size() && channels.size() == all.size(); ++c) all[c].add(channels[c]);
    }
    InputSums whole;
    for (const InputSums& channel : all) {
      whole.add(channel);
      const double count = std::max<double>(1, static_cast<double>(channel.count)), mean = channel.sum / count;
      input.mean.push_back(mean);
      input.deviation.push_back(std::sqrt(std::max(0.0, channel.squares / count - mean * mean)));
    }
    if (whole.count > 0) {
      input.least = whole.least;
      input.most = whole.most;
    }
    summaries.push_back(std::move(input));
  }
  return summaries;
}

}  // namespace quarkq::calib
