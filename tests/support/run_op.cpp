// SPDX-License-Identifier: MIT
#include "support/run_op.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "base/error.h"
#include "exec/kernels/shared/support.h"
#include "numeric/element_type.h"

namespace quarkq::test {
namespace {

using exec::Layout;
using exec::LayoutRule;

/// Copies element by element: stored index i_s holds what logical index i_l holds.
ir::Tensor permute(const ir::Tensor& tensor, const ir::Shape& dims, const std::vector<int64_t>& source_strides) {
  ir::Tensor out = ir::Tensor::allocate(tensor.type(), dims);
  const auto bytes = static_cast<size_t>(bits(tensor.type()) / 8);
  std::byte* to = out.mutable_raw();
  ir::Shape index(dims.size());
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < dims.size(); ++d) from += index[d] * source_strides[d];
    std::memcpy(to + static_cast<size_t>(i) * bytes, tensor.raw() + static_cast<size_t>(from) * bytes, bytes);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

/// One prepared call with its inputs in memory order.
struct Prepared {
  std::vector<ir::Tensor> inputs;
  std::vector<exec::Spec> specs;
  std::vector<bool> present;
};

ir::Tensor with_full_rank(const ir::Tensor& tensor, size_t rank) {
  ir::Shape dims = tensor.dims();
  dims.insert(dims.begin(), rank - dims.size(), 1);
  return tensor.reshaped(dims);
}

size_t largest_rank(const std::vector<ir::Tensor>& inputs) {
  size_t rank = 0;
  for (const ir::Tensor& input : inputs) rank = std::max(rank, input.dims().size());
  return rank;
}

Prepared arrange_inputs(const OpCall& call, LayoutRule rule, const std::vector<ir::Tensor>& inputs) {
  Prepared prepared;
  const bool moves = call.layout == Layout::kChannelsLast;
  const size_t full = rule == LayoutRule::kBroadcast ? largest_rank(inputs)
                      : inputs.empty()               ? 0
                                                     : inputs[0].dims().size();
  for (const ir::Tensor& input : inputs) {
    ir::Tensor stored = input;
    Layout layout = Layout::kPlain;
    if (rule == LayoutRule::kImage && &input == inputs.data() && full >= 3 && full <= 5) {
      layout = Layout::kChannelsLast;
      stored = to_layout(input, layout);
    } else if (moves && input.is_defined() && full >= 3) {
      const bool follows = rule == LayoutRule::kFollow && input.dims().size() == full;
      if (follows || rule == LayoutRule::kBroadcast) {
        layout = Layout::kChannelsLast;
        stored = to_layout(with_full_rank(input, full), layout);
      }
    }
    prepared.specs.push_back({stored.type(), stored.dims(), layout, nullptr});
    prepared.present.push_back(stored.is_defined());
    prepared.inputs.push_back(std::move(stored));
  }
  return prepared;
}

ir::Node make_node(const OpCall& call, size_t inputs) {
  ir::Node node;
  node.op = call.op;
  node.domain = call.domain;
  node.name = "n";
  node.attributes = call.attributes;
  int32_t next = 0;
  for (size_t i = 0; i < inputs; ++i) node.inputs.push_back(ir::ValueId{next++});
  for (size_t i = 0; i < call.outputs; ++i) node.outputs.push_back(ir::ValueId{next++});
  return node;
}

exec::Prepare make_prepare(const OpCall& call, const ir::Node& node, const Prepared& prepared) {
  exec::Prepare p(node, node.label(), call.opset, prepared.specs, prepared.present);
  Layout layout = Layout::kPlain;
  const LayoutRule rule = exec::find_op(call.op, call.domain, call.opset)->rule;
  for (const exec::Spec& spec : prepared.specs) {
    if (spec.layout == Layout::kChannelsLast && rule != LayoutRule::kImage) layout = spec.layout;
  }
  p.set_layout(layout);
  return p;
}

/// Output buffers as prepare declared them: new ones, or an input's memory where that is allowed.
Result<std::vector<ir::Tensor>> make_outputs(const exec::Prepare& p, std::vector<ir::Tensor>& inputs) {
  std::vector<ir::Tensor> outputs;
  for (size_t i = 0; i < p.output_count(); ++i) {
    const exec::Prepare::Output& output = p.output(i);
    if (!output.declared) return internal_error("output ", i, " was not declared");
    QQ_TRY([[maybe_unused]] const int64_t count, ir::element_count(output.spec.dims));
    if (output.alias_of >= 0) {
      outputs.push_back(inputs[static_cast<size_t>(output.alias_of)].reshaped(output.spec.dims));
    } else if (output.in_place >= 0) {
      ir::Tensor& input = inputs[static_cast<size_t>(output.in_place)];
      if (input.bytes() != storage_bytes(output.spec.type, count)) return internal_error("in place of another size");
      ir::Tensor copy = ir::Tensor::allocate(output.spec.type, output.spec.dims);
      std::memcpy(copy.mutable_raw(), input.raw(), static_cast<size_t>(input.bytes()));
      input = copy;  // the same memory, read and written
      outputs.push_back(std::move(copy));
    } else {
      outputs.push_back(ir::Tensor::allocate(output.spec.type, output.spec.dims));
    }
  }
  return outputs;
}

Result<std::vector<ir::Tensor>> run_prepared(const exec::Prepare& p, const exec::Kernel& kernel,
                                             std::vector<ir::Tensor> inputs) {
  QQ_TRY(std::vector<ir::Tensor> outputs, make_outputs(p, inputs));
  std::vector<const std::byte*> in(inputs.size());
  std::vector<std::byte*> out(outputs.size());
  std::ranges::transform(inputs, in.begin(),
                         [](const ir::Tensor& input) { return input.is_defined() ? input.raw() : nullptr; });
  std::ranges::transform(outputs, out.begin(),
                         [](const ir::Tensor& output) { return const_cast<std::byte*>(output.raw()); });
  const ir::Tensor scratch = ir::Tensor::allocate(ElementType::kUInt8, {static_cast<int64_t>(p.scratch_bytes())});
  QQ_RETURN_IF_ERROR(kernel({in, out, const_cast<std::byte*>(scratch.raw())}));
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = from_layout(outputs[i], p.output(i).spec.layout);
  return outputs;
}

}  // namespace

ir::Tensor to_layout(const ir::Tensor& tensor, Layout layout) {
  if (layout == Layout::kPlain || tensor.rank() < 3) return tensor;
  return permute(tensor, exec::stored_dims(tensor.dims(), layout),
                 exec::stored_dims(exec::row_major_strides(tensor.dims()), layout));
}

ir::Tensor from_layout(const ir::Tensor& stored, Layout layout) {
  if (layout == Layout::kPlain || stored.rank() < 3) return stored;
  return permute(stored, exec::logical_dims(stored.dims(), layout),
                 exec::logical_dims(exec::row_major_strides(stored.dims()), layout));
}

Result<std::vector<ir::Tensor>> run_op(const OpCall& call, const std::vector<ir::Tensor>& inputs) {
  const exec::OpDef* op = exec::find_op(call.op, call.domain, call.opset);
  if (op == nullptr) return unsupported("no row for ", call.domain, ":", call.op, " at opset ", call.opset);
  const ir::Node node = make_node(call, inputs.size());
  Prepared prepared = arrange_inputs(call, op->rule, inputs);
  for (int attempt = call.unknown_inputs ? 0 : 1; attempt < 2; ++attempt) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      prepared.specs[i].constant = attempt == 1 && prepared.present[i] ? &prepared.inputs[i] : nullptr;
    }
    exec::Prepare p = make_prepare(call, node, prepared);
    QQ_TRY(const exec::Kernel kernel, op->prepare(p));
    if (kernel != nullptr) return run_prepared(p, kernel, prepared.inputs);
  }
  return internal_error("prepare deferred although all inputs were known");
}

ir::Tensor random_floats(ir::Shape dims, float low, float high, uint32_t seed) {
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::kFloat, std::move(dims));
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(low, high);
  for (float& value : tensor.mutable_data<float>()) value = draw(generator);
  return tensor;
}

ir::Tensor as_type(const ir::Tensor& tensor, ElementType type) {
  ir::Tensor out = ir::Tensor::allocate(type, tensor.dims());
  std::byte* to = out.mutable_raw();
  exec::visit_number(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const float value = tensor.data<float>()[static_cast<size_t>(i)];
      if constexpr (std::is_same_v<T, bool> || !std::is_integral_v<T>) {
        reinterpret_cast<T*>(to)[i] = static_cast<T>(value);
      } else {  // negative numbers wrap in types without a sign
        reinterpret_cast<T*>(to)[i] = static_cast<T>(static_cast<int64_t>(value));
      }
    }
  });
  return out;
}

std::vector<double> values(const ir::Tensor& tensor) {
  const auto result = ir::to_double(tensor);
  QQ_CHECK(result.ok());
  return result.value();
}

}  // namespace quarkq::test
