// SPDX-License-Identifier: MIT
// Sequences of tensors and optionals.
#include <algorithm>

#include "exec/evaluation.h"
#include "exec/kernels/shared/tensor_copy.h"
#include "exec/op_def.h"

namespace quarkq::exec {
namespace {

/// Input `i` as a position in [0, count): negative ones count from the end.
Result<int64_t> position(const Evaluation& e, size_t i, int64_t count) {
  QQ_TRY(const int64_t given, e.integer(i));
  if (count == 0) return e.corrupt("the sequence is empty");
  const int64_t index = given < 0 ? given + count : given;
  if (index < 0 || index >= count) return e.corrupt("position ", given, ", allowed: ", -count, " to ", count - 1);
  return index;
}

Status sequence_construct(Evaluation& e) {
  std::vector<ir::Tensor> elements;
  for (size_t i = 0; i < e.input_count(); ++i) {
    QQ_TRY(const ir::Tensor* const tensor, e.tensor(i));
    elements.push_back(*tensor);
  }
  e.out(0, ir::Operand::of_sequence(std::move(elements)));
  return Status();
}

Status sequence_empty(Evaluation& e) {
  e.out(0, ir::Operand::of_sequence({}));
  return Status();
}

Status sequence_length(Evaluation& e) {
  QQ_TRY(const auto* const elements, e.sequence(0));
  e.out(0, ir::Tensor::scalar(static_cast<int64_t>(elements->size())));
  return Status();
}

Status sequence_at(Evaluation& e) {
  QQ_TRY(const auto* const elements, e.sequence(0));
  QQ_TRY(const int64_t index, position(e, 1, static_cast<int64_t>(elements->size())));
  e.out(0, (*elements)[static_cast<size_t>(index)]);
  return Status();
}

Status sequence_insert(Evaluation& e) {
  QQ_TRY(const auto* const elements, e.sequence(0));
  QQ_TRY(const ir::Tensor* const tensor, e.tensor(1));
  std::vector<ir::Tensor> longer = *elements;
  auto index = static_cast<int64_t>(longer.size());
  if (e.has(2)) {
    QQ_TRY(index, position(e, 2, index + 1));
    // A negative position counts from the elements there are, not from the places between them.
    QQ_TRY(const int64_t given, e.integer(2));
    if (given < 0) index -= 1;
    if (index < 0) return e.corrupt("position ", given, " is before the first of ", longer.size(), " elements");
  }
  longer.insert(longer.begin() + index, *tensor);
  e.out(0, ir::Operand::of_sequence(std::move(longer)));
  return Status();
}

Status sequence_erase(Evaluation& e) {
  QQ_TRY(const auto* const elements, e.sequence(0));
  std::vector<ir::Tensor> shorter = *elements;
  auto index = static_cast<int64_t>(shorter.size()) - 1;
  if (e.has(1)) {
    QQ_TRY(index, position(e, 1, index + 1));
  }
  if (index < 0) return e.corrupt("the sequence is empty");
  shorter.erase(shorter.begin() + index);
  e.out(0, ir::Operand::of_sequence(std::move(shorter)));
  return Status();
}

/// Lengths of the pieces: one for every piece, a list, or pieces of one entry each.
Result<std::vector<int64_t>> piece_lengths(const Evaluation& e, int64_t length) {
  if (!e.has(1)) return std::vector<int64_t>(static_cast<size_t>(length), 1);
  QQ_TRY(const ir::Tensor* const split, e.tensor(1));
  QQ_TRY(std::vector<int64_t> lengths, ir::to_int64(*split));
  if (split->rank() == 0) {
    const int64_t step = lengths[0];
    if (step <= 0) return e.corrupt("split is ", step, ", allowed: positive");
    const int64_t rest = length % step;
    lengths.assign(static_cast<size_t>(length / step + (rest != 0 ? 1 : 0)), step);
    if (rest != 0) lengths.back() = rest;
  }
  int64_t left = length;
  for (const int64_t piece : lengths) {
    if (piece < 0 || piece > left) left = -1;
    if (left < 0) break;
    left -= piece;
  }
  if (left != 0) return e.corrupt("split does not add up to ", length, " entries");
  return lengths;
}

Status split_to_sequence(Evaluation& e) {
  QQ_TRY(const ir::Tensor* const tensor, e.tensor(0));
  QQ_TRY(const int64_t axis, ir::normalize_axis(e.node().int_or("axis", 0), tensor->rank()));
  QQ_TRY(const std::vector<int64_t> lengths, piece_lengths(e, tensor->dims()[static_cast<size_t>(axis)]));
  const bool keeps_axis = e.has(1) || e.node().int_or("keepdims", 1) != 0;
  std::vector<ir::Tensor> pieces;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    QQ_TRY(ir::Tensor piece, cut(*tensor, axis, begin, begin + length));
    pieces.push_back(keeps_axis ? std::move(piece) : without_axis(piece, axis));
    begin += length;
  }
  e.out(0, ir::Operand::of_sequence(std::move(pieces)));
  return Status();
}

Status concat_from_sequence(Evaluation& e) {
  QQ_TRY(const auto* const elements, e.sequence(0));
  if (elements->empty()) return e.corrupt("the sequence is empty");
  const bool new_axis = e.node().int_or("new_axis", 0) != 0;
  QQ_TRY(const int64_t axis,
         ir::normalize_axis(e.node().int_or("axis", 0), (*elements)[0].rank() + (new_axis ? 1 : 0)));
  QQ_TRY(ir::Tensor joined, new_axis ? stack(*elements, axis) : concatenate(*elements, axis));
  e.out(0, std::move(joined));
  return Status();
}

Status optional(Evaluation& e) {
  e.out(0, e.has(0) ? e.in(0) : ir::Operand());
  return Status();
}

Status optional_has_element(Evaluation& e) {
  const bool has = e.has(0) && e.in(0).kind != ir::Operand::Kind::kNone;
  ir::Tensor answer = ir::Tensor::allocate(ElementType::kBool, {});
  answer.mutable_data<uint8_t>()[0] = has ? 1 : 0;
  e.out(0, std::move(answer));
  return Status();
}

Status optional_get_element(Evaluation& e) {
  if (!e.has(0) || e.in(0).kind == ir::Operand::Kind::kNone) return e.corrupt("the optional has no value");
  e.out(0, e.in(0));
  return Status();
}

constexpr OpDef value_op(std::string_view name, int since, Status (*evaluate)(Evaluation&)) {
  return {name, "", since, LayoutRule::kPlain, nullptr, false, evaluate};
}

constexpr OpDef kSequenceOps[] = {
    value_op("SequenceConstruct", 11, sequence_construct),
    value_op("SequenceEmpty", 11, sequence_empty),
    value_op("SequenceLength", 11, sequence_length),
    value_op("SequenceAt", 11, sequence_at),
    value_op("SequenceInsert", 11, sequence_insert),
    value_op("SequenceErase", 11, sequence_erase),
    value_op("SplitToSequence", 11, split_to_sequence),
    value_op("ConcatFromSequence", 11, concat_from_sequence),
    value_op("Optional", 15, optional),
    value_op("OptionalHasElement", 15, optional_has_element),
    value_op("OptionalGetElement", 15, optional_get_element),
};

}  // namespace

Status identity_of_value(Evaluation& e) {
  e.out(0, e.in(0));
  return Status();
}

std::span<const OpDef> sequence_ops() { return kSequenceOps; }

}  // namespace quarkq::exec
