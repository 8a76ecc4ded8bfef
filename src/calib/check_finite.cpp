// SPDX-License-Identifier: MIT
#include "calib/check_finite.h"

#include <algorithm>
#include <cmath>

namespace quarkq::calib {
namespace {

constexpr int64_t kBlock = 4096;  ///< values checked before a branch

/// Index of the first value whose exponent bits are all set, or `count`. Blocks first, without a branch: vectorizable.
template <typename Bits>
int64_t first_non_finite(const Bits* values, int64_t count, Bits exponent) {
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count);
    Bits found = 0;
    for (int64_t i = begin; i < end; ++i) found |= static_cast<Bits>((values[i] & exponent) == exponent);
    if (found == 0) continue;
    for (int64_t i = begin; i < end; ++i) {
      if ((values[i] & exponent) == exponent) return i;
    }
  }
  return count;
}

int64_t first_non_finite(const ir::Tensor& tensor) {
  const int64_t count = tensor.size();
  const std::byte* raw = tensor.raw();
  switch (tensor.type()) {
    case ElementType::kFloat:
      return first_non_finite<uint32_t>(reinterpret_cast<const uint32_t*>(raw), count, 0x7F800000u);
    case ElementType::kDouble:
      return first_non_finite<uint64_t>(reinterpret_cast<const uint64_t*>(raw), count, 0x7FF0000000000000u);
    case ElementType::kFloat16:
      return first_non_finite<uint16_t>(reinterpret_cast<const uint16_t*>(raw), count, 0x7C00);
    case ElementType::kBFloat16:
      return first_non_finite<uint16_t>(reinterpret_cast<const uint16_t*>(raw), count, 0x7F80);
    default: return count;
  }
}

/// "[0,2,17]"
std::string position_text(int64_t index, const ir::Shape& dims) {
  ir::Shape position(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    position[axis] = index % dims[axis];
    index /= dims[axis];
  }
  return shape_text(position);
}

bool is_nan_at(const ir::Tensor& tensor, int64_t index) {
  const Result<std::vector<double>> values = ir::to_double(tensor);
  return values.ok() && std::isnan(values.value()[static_cast<size_t>(index)]);
}

}  // namespace

Status check_finite(const Sample& sample, const std::vector<InputSpec>& inputs) {
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const ir::Tensor& tensor = sample.inputs[i];
    const int64_t index = first_non_finite(tensor);
    if (index == tensor.size()) continue;
    return bad_data(i < sample.files.size() ? sample.files[i] : cat("sample ", sample.name), ": input ",
                    i < inputs.size() ? inputs[i].name : cat(i), " has ",
                    is_nan_at(tensor, index) ? "a NaN" : "an infinity", " at ", position_text(index, tensor.dims()),
                    ", only finite values are allowed; calibration.allow_non_finite: true accepts all");
  }
  return Status();
}

}  // namespace quarkq::calib
