// SPDX-License-Identifier: MIT
// UseMatMulNBits (ref:writing#matmulnbits): matrices in 4 bits instead of Q/DQ nodes.
#include <utility>

#include "config/low_bit_weights.h"
#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "numeric/real_numbers.h"
#include "pass/gptq/gptq.h"
#include "plan/constant_codes.h"
#include "qdq/passes.h"
#include "qdq/write/nbits_blocks.h"
#include "qdq/write/split_gemm.h"

namespace quarkq::qdq {
namespace {

constexpr int kBits = config::kMatMulNBitsBits;

/// A matrix in 4 bits and how it is stored.
struct Packed {
  NBitsShape shape;
  PackedNBits weight;
  bool has_zeros = false, zeros_are_real = false, scales_are_matrix = false;
};

/// The reference writes none for the nodes of its other algorithms.
bool has_accuracy_level(config::NBitsAlgorithm algorithm) {
  return algorithm == config::NBitsAlgorithm::kDefault || algorithm == config::NBitsAlgorithm::kKQuant;
}

class NBitsWriter {
 public:
  NBitsWriter(pass::QdqContext& context, const config::MatMulNBitsSettings& options)
      : graph_(context.graph()), edit_(context.graph()), options_(options) {}

  /// The matrix's initializers, and every MatMul in `nodes` reading them instead.
  void write(ir::ValueId weight, const Packed& packed, const std::vector<ir::NodeId>& nodes) {
    const std::vector<ir::ValueId> stored = store(weight, packed);
    for (const ir::NodeId id : nodes) {
      const ir::Node node = graph_.node(id);
      ir::NodeSpec spec{
          "MatMulNBits", ir::kMicrosoftDomain, node.name.empty() ? "" : node.name + "_Q4", {node.input(0)}, {}};
      spec.inputs.insert(spec.inputs.end(), stored.begin(), stored.end());
      const auto attribute = [&](const char* name, int64_t value) { spec.attributes.push_back({name, value, {}, {}}); };
      attribute("K", packed.shape.depth);
      attribute("N", packed.shape.columns);
      if (has_accuracy_level(options_.algorithm)) attribute("accuracy_level", options_.accuracy_level);
      attribute("bits", kBits);
      attribute("block_size", packed.shape.block);
      spec.origins = node.origins;
      const ir::NodeId made = edit_.add_node(std::move(spec), id);
      edit_.remove_node(id);
      edit_.set_output(made, 0, node.output(0));
    }
  }

 private:
  std::vector<ir::ValueId> store(ir::ValueId weight, const Packed& packed) {
    const std::string name = graph_.value(weight).name;
    const ElementType type = graph_.value(weight).constant->type();
    const NBitsShape& shape = packed.shape;
    const int64_t blocks = shape.blocks();
    std::vector<ir::ValueId> stored = {edit_.add_initializer(
        name + "_Q4", ir::Tensor::from<uint8_t>({shape.columns, blocks, shape.block / 2}, packed.weight.codes))};
    const ir::Shape dims =
        packed.scales_are_matrix ? ir::Shape{shape.columns, blocks} : ir::Shape{shape.columns * blocks};
    stored.push_back(edit_.add_initializer(name + "_scales", ir::store_floats(packed.weight.scales, type, dims)));
    if (!packed.has_zeros) return stored;
    ir::Tensor zeros;
    if (packed.zeros_are_real) {
      zeros = ir::store_floats(packed.weight.zeros, type, dims);
    } else {
      const std::vector<uint8_t> codes(packed.weight.zeros.begin(), packed.weight.zeros.end());
      const int64_t bytes = (blocks + 1) / 2;
      zeros = ir::Tensor::from<uint8_t>(
          packed.scales_are_matrix ? ir::Shape{shape.columns, bytes} : ir::Shape{shape.columns * bytes},
          pack_nibbles(codes, blocks, 8));
    }
    stored.push_back(edit_.add_initializer(name + "_zero_points", std::move(zeros)));
    return stored;
  }

  const ir::Graph& graph_;
  ir::GraphEdit edit_;
  const config::MatMulNBitsSettings& options_;
};

bool is_chosen(const pass::QdqContext& context, const ir::Node& node) {
  if (!node.is("MatMul")) return false;
  const ir::Tensor* weight = ir::stored_floats(context.model.graph, node.input(1));
  return weight != nullptr && weight->rank() == 2 && weight->size() > 0 && context.selection.takes(node);
}

/// Linear layers come as Gemm, too: the basic optimizer makes one of MatMul and Add.
void split_gemms(pass::QdqContext& context) {
  if (!context.settings.quirk(config::Quirk::kTakeGemmMatrices)) return;
  for (const ir::NodeId id : std::vector<ir::NodeId>(context.graph().order())) {
    const ir::Node& node = context.graph().node(id);
    if (is_plain_gemm(context.graph(), node) && context.selection.takes(node)) split_gemm(context.graph(), id);
  }
}

NBitsShape shape_of(const ir::Tensor& weight, int64_t block) { return {weight.dims()[0], weight.dims()[1], block}; }

Packed round_plainly(const ir::Tensor& weight, const config::MatMulNBitsSettings& options) {
  const ir::FloatView values = ir::FloatView::of(weight).value();
  Packed made{shape_of(weight, options.group_size), {}};
  if (options.algorithm == config::NBitsAlgorithm::kHqq) {
    made.weight = packed(hqq_blocks(values, made.shape), made.shape);
    made.has_zeros = made.zeros_are_real = true;
  } else if (options.algorithm == config::NBitsAlgorithm::kKQuant) {
    made.weight = packed(k_quant_blocks(values, made.shape), made.shape);
    made.has_zeros = true;
  } else {
    made.weight = round_packed_blocks(values, made.shape, options.symmetric);
    made.has_zeros = !options.symmetric;
  }
  return made;
}

/// A block with one of these has no scale.
Status check_weights(const pass::QdqContext& context, const std::vector<pass::GptqTarget>& targets) {
  for (const pass::GptqTarget& target : targets) {
    const ir::Value& weight = context.model.graph.value(target.weight);
    QQ_TRY(const ir::FloatView values, ir::FloatView::of(*weight.constant));
    if (!numeric::all_finite(values.span()))
      return bad_data("MatMulNBits of '", weight.name, "': the weight contains NaN or infinities; exclude its nodes");
  }
  return Status();
}

/// How codes of GPTQ are stored: unchanged, or in compat mode rounded again to blocks whose size may be one that no
/// runtime takes.
Packed pack_gptq(const pass::GptqResult& result, const pass::GptqOptions& gptq,
                 const config::MatMulNBitsSettings& options, bool compat) {
  const int64_t depth = result.codes.rows, columns = result.codes.columns;
  Packed made;
  made.has_zeros = !gptq.symmetric;
  made.scales_are_matrix = true;
  if (compat) {
    made.shape = {depth, columns, gptq.group_size > 0 ? gptq.group_size : depth + depth % 2};
    made.weight = packed(round_again(result.values.data, made.shape, gptq.symmetric), made.shape);
    return made;
  }
  made.shape = {depth, columns, gptq.group_size > 0 ? gptq.group_size : options.group_size};
  NBitsWeight weight;
  const int64_t blocks = made.shape.blocks(), block = made.shape.block;
  weight.codes.assign(static_cast<size_t>(columns * blocks * block), 0);
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t row = 0; row < depth; ++row)
      weight.codes[static_cast<size_t>(c * blocks * block + row)] = static_cast<uint8_t>(result.codes(row, c));
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t group = gptq.group_size > 0 ? b : 0;
      weight.scales.push_back(static_cast<float>(result.scale(group, c)));
      weight.zeros.push_back(static_cast<float>(result.zero(group, c)));
    }
  }
  made.weight = packed(std::move(weight), made.shape);
  return made;
}

using PackedWeights = std::vector<Packed>;  // One per target.

Result<PackedWeights> pack_with_gptq(pass::QdqContext& context, const std::vector<pass::GptqTarget>& targets,
                                     const config::MatMulNBitsSettings& options) {
  const bool compat = !context.settings.quirk(config::Quirk::kPackGptqCodes);
  QQ_TRY(pass::GptqOptions gptq_settings, pass::gptq_options(context.settings, kBits));
  if (!compat && gptq_settings.group_size > 0)
    QQ_RETURN_IF_ERROR(config::check_nbits_block("GPTQParams.GroupSize", gptq_settings.group_size));
  if (!compat && gptq_settings.group_size > 0 && gptq_settings.by_importance)
    return invalid_argument("GPTQParams: ActOrder moves rows out of their groups; use it with GroupSize -1");
  if (context.data == nullptr || context.data->size() == 0)
    return invalid_argument("MatMulNBitsParams.Algorithm: GPTQ needs samples (--calib DIR)");
  PackedWeights packed;
  const pass::GptqSamples samples =
      pass::gptq_samples(context.settings, *context.data, context.environment, context.progress);
  QQ_RETURN_IF_ERROR(pass::for_each_hessian(
      samples, context.model, targets,
      [&](const pass::GptqTarget& target, const pass::Dense<double>& hessian) -> Status {
        const ir::Value& weight = context.graph().value(target.weight);
        QQ_TRY(const pass::GptqResult result, pass::gptq(pass::dense_of(*weight.constant), hessian, gptq_settings)
                                                  .context(cat("GPTQ of '", weight.name, "'")));
        packed.push_back(pack_gptq(result, gptq_settings, options, compat));
        return Status();
      }));
  return packed;
}

}  // namespace

Result<Changed> quantize_matmul_nbits(pass::QdqContext& context) {
  QQ_TRY(const config::MatMulNBitsSettings options, config::read_matmul_nbits_settings(context.settings));
  const ir::Graph& graph = context.graph();
  split_gemms(context);
  Changed changed = Changed::kNo;
  if (options.embedding_bits > 0) {
    QQ_TRY(changed, quantize_embedding_tables(context, options));
  }
  const std::vector<pass::GptqTarget> targets =
      pass::gptq_targets(graph, [&](const ir::Node& node) { return is_chosen(context, node); });
  if (targets.empty()) return changed;
  QQ_RETURN_IF_ERROR(check_weights(context, targets));
  const bool is_gptq = options.algorithm == config::NBitsAlgorithm::kGptq;
  PackedWeights with_gptq;
  if (is_gptq) {
    QQ_TRY(with_gptq, pack_with_gptq(context, targets, options));
  }
  NBitsWriter writer(context, options);
  for (size_t t = 0; t < targets.size(); ++t) {
    std::vector<ir::NodeId> nodes;
    for (const ir::Use& use : graph.value(targets[t].weight).uses) {
      if (!use.is_capture && use.input == 1 && is_chosen(context, graph.node(use.node))) nodes.push_back(use.node);
    }
    const Packed packed =
        is_gptq ? std::exchange(with_gptq[t], {}) : round_plainly(*graph.value(targets[t].weight).constant, options);
    if (!numeric::all_finite(packed.weight.scales) || !numeric::all_finite(packed.weight.zeros))
      return bad_data("MatMulNBits of '", graph.value(targets[t].weight).name,
                      "': differences of its weights overflow, so that blocks have no scale; exclude its nodes");
    writer.write(targets[t].weight, packed, nodes);
  }
  ir::GraphEdit(context.graph()).remove_unused_initializers();
  context.model.set_opset(ir::kMicrosoftDomain, 1);
  return Changed::kYes;
}

}  // namespace quarkq::qdq
