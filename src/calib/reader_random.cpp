// SPDX-License-Identifier: MIT
// Random samples, number for number those of the reference (ref:samples#random-samples).
#include "base/random.h"
#include "base/suggest.h"
#include "calib/one_sample.h"
#include "numeric/half.h"

namespace quarkq::calib {
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
