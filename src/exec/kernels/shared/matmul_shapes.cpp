// SPDX-License-Identifier: MIT
#include "exec/kernels/shared/matmul_shapes.h"

namespace quarkq::exec {
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
