// SPDX-License-Identifier: MIT
#include "exec/kernels/shared/kernel_shapes.h"

#include <algorithm>

namespace quarkq::exec {

namespace {

// Far beyond any real network, small enough that sums never overflow and oneDNN does not lose itself in padding.
constexpr int64_t kMaxExtent = 1 << 16;
constexpr int64_t kMaxTaps = 1 << 24;    // of one window
constexpr int64_t kMaxOutput = 1 << 30;  // of one spatial dimension

/// An attribute with one entry for each spatial dimension, or two.
struct ListAttribute {
  const char* name;
  size_t count;
  int64_t fallback, lowest;
};

Result<std::vector<int64_t>> read_list(const Prepare& p, const ListAttribute& list) {
  std::vector<int64_t> out = p.node().ints_or(list.name, std::vector<int64_t>(list.count, list.fallback));
  if (out.size() != list.count) {
    return p.corrupt(list.name, " has ", out.size(), " entries, ", list.count, " are needed");
  }
  for (const int64_t value : out) {
    if (value < list.lowest || value > kMaxExtent) {
      return p.corrupt(list.name, " is ", shape_text(out), ", entries must be in [", list.lowest, ",", kMaxExtent, "]");
    }
  }
  return out;
}

/// Kernel, strides, dilations and explicit pads: what both directions share.
Status read_common(const Prepare& p, const std::vector<int64_t>& kernel, Window& w) {
  const size_t rank = kernel.size();
  w.kernel = kernel;
  int64_t taps = 1;
  for (const int64_t size : kernel) {
    if (size < 1 || size > kMaxExtent || taps * size > kMaxTaps) {
      return p.corrupt("kernel is ", shape_text(kernel), ", entries must be in [1,", kMaxExtent,
                       "], their product at most ", kMaxTaps);
    }
    taps *= size;
  }
  QQ_TRY(w.strides, read_list(p, {"strides", rank, 1, 1}));
  QQ_TRY(w.dilations, read_list(p, {"dilations", rank, 1, 1}));
  QQ_TRY(const std::vector<int64_t> pads, read_list(p, {"pads", 2 * rank, 0, -kMaxExtent}));
  w.pads_begin.assign(pads.begin(), pads.begin() + static_cast<int64_t>(rank));
  w.pads_end.assign(pads.begin() + static_cast<int64_t>(rank), pads.end());
  return Status();
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Splits `total` padding; SAME_UPPER puts the odd one at the end.
void split_padding(Window& w, size_t i, int64_t total, bool upper) {
  total = std::max<int64_t>(total, 0);
  w.pads_begin[i] = upper ? total / 2 : total - total / 2;
  w.pads_end[i] = total - w.pads_begin[i];
}

}  // namespace

Result<Window> read_window(const Prepare& p, const ir::Shape& spatial, const std::vector<int64_t>& kernel) {
  Window w;
  if (kernel.size() != spatial.size()) {
    return p.corrupt("kernel ", shape_text(kernel), " does not fit ", spatial.size(), " spatial dimensions");
  }
  QQ_RETURN_IF_ERROR(read_common(p, kernel, w));
  const std::string auto_pad = p.node().string_or("auto_pad", "NOTSET");
  const bool ceil_mode = p.node().int_or("ceil_mode", 0) != 0;
  for (size_t i = 0; i < spatial.size(); ++i) {
    const int64_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const int64_t stride = w.strides[i];
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      const int64_t out = ceil_div(spatial[i], stride);
      split_padding(w, i, (out - 1) * stride + extent - spatial[i], auto_pad == "SAME_UPPER");
    } else if (auto_pad == "VALID") {
      w.pads_begin[i] = w.pads_end[i] = 0;
    } else if (auto_pad != "NOTSET") {
      return p.corrupt("auto_pad is '", auto_pad, "', allowed: NOTSET, SAME_UPPER, SAME_LOWER, VALID");
    }
    const int64_t room = spatial[i] + w.pads_begin[i] + w.pads_end[i] - extent;
    if (room < 0) {
      return p.corrupt("a window of ", extent, " is larger than the padded input of ", room + extent, " in dimension ",
                       i + 2);
    }
    int64_t out = room / stride + 1;
    if (ceil_mode && room % stride != 0 && out * stride < spatial[i] + w.pads_begin[i]) {
      ++out;  // the last window starts inside the input or its left padding, and reaches past the end
    }
    w.declared_end.push_back(w.pads_end[i]);
    w.pads_end[i] = (out - 1) * stride + extent - spatial[i] - w.pads_begin[i];
    w.output.push_back(out);
  }
  return w;
}

Result<Window> read_transposed_window(const Prepare& p, const ir::Shape& spatial, const std::vector<int64_t>& kernel) {
  Window w;
  if (kernel.size() != spatial.size()) {
    return p.corrupt("kernel ", shape_text(kernel), " does not fit ", spatial.size(), " spatial dimensions");
  }
  QQ_RETURN_IF_ERROR(read_common(p, kernel, w));
  QQ_TRY(const std::vector<int64_t> extra, read_list(p, {"output_padding", spatial.size(), 0, 0}));
  std::vector<int64_t> wanted = p.node().ints_or("output_shape", {});
  if (wanted.size() == spatial.size() + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != spatial.size()) {
    return p.corrupt("output_shape ", shape_text(wanted), " has a wrong rank");
  }
  const std::string auto_pad = p.node().string_or("auto_pad", "NOTSET");
  for (size_t i = 0; i < spatial.size(); ++i) {
    const int64_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const int64_t full = (spatial[i] - 1) * w.strides[i] + extent + extra[i];
    const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
    const int64_t out = !wanted.empty() ? wanted[i]
                        : same          ? spatial[i] * w.strides[i]
                                        : full - w.pads_begin[i] - w.pads_end[i];
    if (out < 1 || out > kMaxOutput)
      return p.corrupt("dimension ", i + 2, " of the output would be ", out, ", allowed: 1 to ", kMaxOutput);
    if (!wanted.empty() || same) split_padding(w, i, full - out, auto_pad == "SAME_UPPER");
    w.output.push_back(out);
    w.pads_end[i] = (spatial[i] - 1) * w.strides[i] + extent - w.output[i] - w.pads_begin[i];
  }
  return w;
}

namespace {

std::string transposition_text(const MatMulOperands& operands) {
  if (!operands.turn_left && !operands.turn_right) return {};
  return cat(" with transA ", operands.turn_left, ", transB ", operands.turn_right);
}

}  // namespace

Result<MatMulShapes> read_matmul(const Prepare& p, const MatMulOperands& operands) {
  const ir::Shape &left = p.in(operands.left).dims, &right = p.in(operands.right).dims;
  ir::Shape a = left, b = right;
  if (a.empty() || b.empty()) return p.corrupt("a scalar operand: ", shape_text(a), " times ", shape_text(b));
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  MatMulShapes s;
  s.batch_left.assign(a.begin(), a.end() - 2);
  s.batch_right.assign(b.begin(), b.end() - 2);
  a.erase(a.begin(), a.end() - 2);
  b.erase(b.begin(), b.end() - 2);
  s.m = a[operands.turn_left ? 1 : 0];
  s.k = a[operands.turn_left ? 0 : 1];
  s.n = b[operands.turn_right ? 0 : 1];
  if (b[operands.turn_right ? 1 : 0] != s.k) {
    return p.corrupt("inner dimensions differ: ", shape_text(left), " times ", shape_text(right),
                     transposition_text(operands));
  }
  QQ_TRY(s.batch, ir::broadcast(s.batch_left, s.batch_right).context(p.label()));
  s.out = s.batch;
  if (!row) s.out.push_back(s.m);
  if (!column) s.out.push_back(s.n);
  QQ_RETURN_IF_ERROR(check_dims(p, s.out));
  return s;
}

Result<MatMulShapes> read_gemm_matrices(const Prepare& p, const MatMulOperands& operands) {
  const ir::Shape &a = p.in(operands.left).dims, &b = p.in(operands.right).dims;
  if (a.size() == 2 && b.size() == 2) return read_matmul(p, operands);
  return p.corrupt("operands must have rank 2, found ", shape_text(a), " and ", shape_text(b));
}

std::vector<int64_t> matrix_numbers(const ir::Shape& batch, const ir::Shape& own) {
  std::vector<int64_t> numbers(static_cast<size_t>(product(batch)));
  const size_t missing = batch.size() - own.size();
  for (size_t entry = 0; entry < numbers.size(); ++entry) {
    auto rest = static_cast<int64_t>(entry);
    int64_t stride = 1;
    for (size_t d = batch.size(); d-- > missing;) {
      const int64_t coordinate = rest % batch[d], size = own[d - missing];
      rest /= batch[d];
      if (size != 1) numbers[entry] += coordinate * stride;
      stride *= size;
    }
  }
  return numbers;
}

}  // namespace quarkq::exec
