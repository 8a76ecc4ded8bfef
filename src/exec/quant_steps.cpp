// SPDX-License-Identifier: MIT
// A Q node whose codes only its DQ reads, both with the same constant parameters, becomes one step: the codes are never
// stored. Bit for bit what the two nodes give (spec 02 D.1, D.2).
#include <algorithm>

#include "exec/compiler.h"
#include "exec/kernels/shared/support.h"
#include "numeric/linear_quant.h"

namespace quarkq::exec {
namespace {

bool is_q(const ir::Node& node) { return node.op == "QuantizeLinear" || node.op == "ExtendedQuantizeLinear"; }
bool is_dq(const ir::Node& node) { return node.op == "DequantizeLinear" || node.op == "ExtendedDequantizeLinear"; }

/// Scale and zero point of a per-tensor Q or DQ node with integer codes of at most 16 bits.
struct PairParams {
  float scale = 0;
  int32_t zero_point = 0;
  ElementType type = ElementType::kUndefined;
  bool operator==(const PairParams&) const = default;
};

std::optional<PairParams> read_params(const ir::Tensor* scale, const ir::Tensor* zero_point) {
  if (scale == nullptr || zero_point == nullptr || scale->type() != ElementType::kFloat) return std::nullopt;
  if (scale->size() != 1 || zero_point->size() != 1 || !is_integer(zero_point->type())) return std::nullopt;
  const int width = bits(zero_point->type());
  if (width != 8 && width != 16) return std::nullopt;
  const Result<std::vector<int64_t>> zero = ir::to_int64(*zero_point);
  if (!zero.ok()) return std::nullopt;
  return PairParams{scale->data<float>()[0], static_cast<int32_t>(zero.value()[0]), zero_point->type()};
}

Kernel fake_quantize_kernel(const PairParams& params, bool saturate, int64_t count) {
  const numeric::IntegerRange limits = numeric::integer_range(params.type, numeric::RangeKind::kFull);
  const auto low = static_cast<int32_t>(limits.min), high = static_cast<int32_t>(limits.max);
  return [=](const Run& run) {
    const auto fake = saturate ? QQ_DISPATCH(numeric, fake_quantize_saturate) : QQ_DISPATCH(numeric, fake_quantize);
    for_elements(count, [&](int64_t begin, int64_t end) {
      fake(run.in<float>(0) + begin, run.out<float>(0) + begin, end - begin, params.scale, params.zero_point, low,
           high);
    });
    return Status();
  };
}

}  // namespace

bool Compiler::add_quantize_pair(const ir::Node& node) {
  const auto has_all = [](const ir::Node& n) {
    return n.inputs.size() == 3 && n.inputs[0].valid() && n.inputs[1].valid() && n.inputs[2].valid();
  };
  if (!is_q(node) || !has_all(node) || held(node.inputs[0]).constant != nullptr) return false;
  const ir::ValueId codes = node.output(0);
  if (!codes.valid() || is_tapped(codes) || is_fetched(codes)) return false;
  const std::optional<ir::Use> use = graph_.sole_use(codes);
  if (!use || use->input != 0) return false;
  const ir::Node& dequantize = graph_.node(use->node);
  if (node.int_or("precision", 0) != 0 || dequantize.find("output_dtype") != nullptr) return false;
  if (!is_dq(dequantize) || !has_all(dequantize) || dequantize.domain != node.domain) return false;
  if (held(node.inputs[0]).type != ElementType::kFloat) return false;
  const auto params = read_params(held(node.inputs[1]).constant, held(node.inputs[2]).constant);
  const auto back = read_params(graph_.constant(dequantize.inputs[1]), graph_.constant(dequantize.inputs[2]));
  if (!params || !back || !(*params == *back)) return false;

  const Held source = held(node.inputs[0]);
  const int slot = new_slot(slots_[static_cast<size_t>(source.slot)].bytes);
  const int step_index = static_cast<int>(program_.steps_.size());
  Step step;
  step.kernel = fake_quantize_kernel(*params, node.domain != "com.amd.quark", ir::checked_count(source.dims));
  step.inputs = {source.slot};
  step.outputs = {slot};
  step.label = graph_.label(node.id) + " + DequantizeLinear";
  program_.steps_.push_back(std::move(step));
  in_place_.push_back({step_index, slot, source.slot});
  done_[static_cast<size_t>(dequantize.id.index)] = true;
  held(dequantize.outputs[0]) = {When::kNow, ElementType::kFloat, source.dims, source.native, slot, nullptr};
  tap(dequantize.outputs[0], step_index);
  return true;
}

}  // namespace quarkq::exec
