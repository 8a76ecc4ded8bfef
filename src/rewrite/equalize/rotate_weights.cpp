// SPDX-License-Identifier: MIT
// QuaRot's R1 (Ashkboos et al. 2024; ref:equalization#quarot): W R in front of an activation and R^T W after it
// cancel. A norm between the two commutes with R once its own weight is in the layers after it.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "config/rewrite_settings.h"
#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/graph.h"
#include "plan/constant_codes.h"
#include "rewrite/equalize/hadamard.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

// Which layers QuaRot rotates together: the file that RConfigPath names (ref:equalization#quarot).

/// Layers that write an activation, the norm between (may be absent), and the layers that read what it makes.
struct RotationPair {
  std::string label;  ///< "FILE: R1_pairs[0]", for messages
  std::vector<ir::NodeId> previous, next;
  ir::NodeId norm;
};

using NodesByName = std::map<std::string, ir::NodeId, std::less<>>;

Result<ir::NodeId> find_node(const std::string& name, const NodesByName& nodes) {
  const auto found = nodes.find(name);
  if (found == nodes.end()) return invalid_argument("no node is called '", name, "'");
  return found->second;
}

Result<std::vector<ir::NodeId>> find_nodes(const std::vector<std::string>& names, const NodesByName& nodes) {
  std::vector<ir::NodeId> found;
  for (const std::string& name : names) {
    QQ_TRY(const ir::NodeId id, find_node(name, nodes));
    found.push_back(id);
  }
  return found;
}

Result<RotationPair> find_pair(const config::RotationEntry& entry, const NodesByName& nodes) {
  RotationPair pair;
  pair.label = entry.label;
  QQ_TRY(pair.previous, find_nodes(entry.previous, nodes).context("prev_nodes"));
  QQ_TRY(pair.next, find_nodes(entry.next, nodes).context("next_nodes"));
  if (entry.norm) {
    QQ_TRY(pair.norm, find_node(*entry.norm, nodes).context("norm_node"));
  }
  return pair;
}

/// {"R1_pairs": [{"prev_nodes": [names], "norm_node": name, "next_nodes": [names]}, ...]}. Fails with kInvalidArgument
/// naming file, pair and node.
Result<std::vector<RotationPair>> read_rotation_pairs(const std::string& path, const ir::Graph& graph) {
  QQ_TRY(const std::vector<config::RotationEntry> entries, config::load_rotation_config(path));
  NodesByName nodes;
  for (const ir::NodeId id : graph.order()) nodes.emplace(graph.node(id).name, id);
  std::vector<RotationPair> pairs;
  for (const config::RotationEntry& entry : entries) {
    QQ_TRY(RotationPair pair, find_pair(entry, nodes).context(entry.label));
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

/// A layer's matrix with its numbers: [in, out], or [out, in] when `is_transposed`.
struct LayerMatrix {
  ir::ValueId value;
  int64_t in = 0, out = 0;
  bool is_transposed = false;
  std::vector<float> numbers;

  float& at(int64_t i, int64_t o) { return numbers[static_cast<size_t>(is_transposed ? o * in + i : i * out + o)]; }
};

class Rotator {
 public:
  Rotator(ir::Graph& graph, const Rotation& rotation) : graph_(graph), edit_(graph), rotation_(rotation) {}

  Status rotate(const RotationPair& pair) {
    if (pair.norm.valid()) QQ_RETURN_IF_ERROR(absorb_norm(pair));
    for (const ir::NodeId id : pair.previous) QQ_RETURN_IF_ERROR(rotate_outputs(id));
    for (const ir::NodeId id : pair.next) QQ_RETURN_IF_ERROR(rotate_inputs(id));
    return Status();
  }

 private:
  /// Input `index` of the node, which must be stored floats; copied first when something else reads them.
  Result<ir::ValueId> own_floats(ir::NodeId id, size_t index) {
    const ir::ValueId shared = graph_.node(id).input(index);
    const ir::Tensor* stored = ir::stored_floats(graph_, shared);
    if (stored == nullptr)
      return invalid_argument(graph_.label(id), ": input ", index, " is not a stored float tensor");
    if (graph_.use_count(shared) == 1) return shared;
    const ir::ValueId copy = edit_.add_initializer(graph_.value(shared).name + "_rotated", ir::Tensor(*stored));
    edit_.set_input(id, index, copy);
    return copy;
  }

  void store(ir::ValueId value, const std::vector<float>& numbers) {
    const ir::Tensor& old = *graph_.value(value).constant;
    edit_.set_constant(value, ir::store_floats(numbers, old.type(), old.dims()));
  }

  Result<LayerMatrix> matrix_of(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (!node.is("MatMul") && !node.is("Gemm")) {
      return invalid_argument(graph_.label(id), ": only MatMul and Gemm can be rotated (and Gather in prev_nodes)");
    }
    if (node.int_or("transA", 0) != 0) return invalid_argument(graph_.label(id), ": transA is not supported");
    LayerMatrix matrix;
    matrix.is_transposed = node.is("Gemm") && node.int_or("transB", 0) != 0;
    QQ_TRY(matrix.value, own_floats(id, 1));
    const ir::Tensor& stored = *graph_.value(matrix.value).constant;
    if (stored.rank() != 2)
      return invalid_argument(graph_.label(id), ": the weight has rank ", stored.rank(), ", not 2");
    matrix.in = stored.dims()[matrix.is_transposed ? 1 : 0];
    matrix.out = stored.dims()[matrix.is_transposed ? 0 : 1];
    QQ_TRY(matrix.numbers, ir::float_values(stored));
    return matrix;
  }

  Status check_size(ir::NodeId id, const char* what, int64_t found) const {
    if (found == rotation_.size()) return Status();
    return invalid_argument(graph_.label(id), ": ", what, " ", found, ", RMatrixDim is ", rotation_.size());
  }

  Status rotate_outputs(ir::NodeId id) {
    if (graph_.node(id).is("Gather")) return rotate_rows(id);
    QQ_TRY(LayerMatrix matrix, matrix_of(id));
    QQ_RETURN_IF_ERROR(check_size(id, "output channels", matrix.out));
    rotate_axis(rotation_, matrix.numbers, matrix.is_transposed ? matrix.in : 1);
    store(matrix.value, matrix.numbers);
    if (graph_.node(id).is("Gemm")) return graph_.node(id).input(2).valid() ? rotate_bias(id, 2) : Status();
    // The bias of a MatMul is a node of its own.
    const std::optional<ir::Use> use = graph_.sole_use(graph_.node(id).output(0));
    if (!use || !graph_.node(use->node).is("Add")) return Status();
    const auto other = static_cast<size_t>(1 - use->input);
    const ir::Tensor* bias = ir::stored_floats(graph_, graph_.node(use->node).input(other));
    return bias != nullptr && bias->rank() <= 1 ? rotate_bias(use->node, other) : Status();
  }

  /// An embedding table [vocabulary, channels].
  Status rotate_rows(ir::NodeId id) {
    QQ_TRY(const ir::ValueId table, own_floats(id, 0));
    const ir::Tensor& stored = *graph_.value(table).constant;
    if (stored.rank() != 2 || graph_.node(id).int_or("axis", 0) != 0) {
      return invalid_argument(graph_.label(id), ": only rows of a matrix can be rotated");
    }
    QQ_RETURN_IF_ERROR(check_size(id, "row size", stored.dims()[1]));
    QQ_TRY(std::vector<float> numbers, ir::float_values(stored));
    rotate_axis(rotation_, numbers, 1);
    store(table, numbers);
    return Status();
  }

  Status rotate_bias(ir::NodeId id, size_t index) {
    QQ_TRY(const ir::ValueId bias, own_floats(id, index));
    QQ_TRY(std::vector<float> numbers, bias_numbers(id, bias, rotation_.size()));
    rotate_axis(rotation_, numbers, 1);
    edit_.set_constant(bias, ir::store_floats(numbers, graph_.value(bias).type.element, {rotation_.size()}));
    return Status();
  }

  /// A bias as one number per channel; one number stands for all.
  Result<std::vector<float>> bias_numbers(ir::NodeId id, ir::ValueId bias, int64_t channels) {
    QQ_TRY(std::vector<float> numbers, ir::float_values(*graph_.value(bias).constant));
    if (numbers.size() == 1) numbers.resize(static_cast<size_t>(channels), numbers[0]);
    if (static_cast<int64_t>(numbers.size()) == channels) return numbers;
    return invalid_argument(graph_.label(id), ": its bias has ", numbers.size(), " values for ", channels, " channels");
  }

  Status rotate_inputs(ir::NodeId id) {
    QQ_TRY(LayerMatrix matrix, matrix_of(id));
    QQ_RETURN_IF_ERROR(check_size(id, "input channels", matrix.in));
    rotate_axis(rotation_, matrix.numbers, matrix.is_transposed ? 1 : matrix.out);
    store(matrix.value, matrix.numbers);
    return Status();
  }

  /// The first stored input whose name holds `part`, else `fallback` if that is stored.
  std::optional<size_t> find_input(ir::NodeId id, const char* part, std::optional<size_t> fallback) const {
    const ir::Node& node = graph_.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (ir::stored_floats(graph_, node.inputs[i]) == nullptr) continue;
      if (graph_.value(node.inputs[i]).name.find(part) != std::string::npos) return i;
    }
    return fallback && ir::stored_floats(graph_, node.input(*fallback)) != nullptr ? fallback : std::nullopt;
  }

  std::optional<size_t> weight_input(ir::NodeId norm) const {
    const ir::Node& node = graph_.node(norm);
    const bool is_first = node.is("Mul") && ir::stored_floats(graph_, node.input(0)) != nullptr;
    return find_input(norm, "weight", size_t{is_first ? 0U : 1U});
  }

  std::optional<size_t> bias_input(ir::NodeId norm) const {
    const bool is_standard = graph_.node(norm).is("LayerNormalization");
    return find_input(norm, "bias", is_standard ? std::optional<size_t>(2) : std::nullopt);
  }

  /// Weight and bias of the norm go into the layers after it.
  Status absorb_norm(const RotationPair& pair) {
    const std::optional<size_t> weight_at = weight_input(pair.norm), bias_at = bias_input(pair.norm);
    if (!weight_at) return invalid_argument(graph_.label(pair.norm), ": it has no stored weight");
    QQ_TRY(const ir::ValueId weight, own_floats(pair.norm, *weight_at));
    QQ_TRY(std::vector<float> gamma, bias_numbers(pair.norm, weight, rotation_.size()));
    std::vector<float> beta;
    if (bias_at) {
      QQ_TRY(const ir::ValueId bias, own_floats(pair.norm, *bias_at));
      QQ_TRY(beta, bias_numbers(pair.norm, bias, rotation_.size()));
      remove_bias(pair.norm, *bias_at, bias);
    }
    for (const ir::NodeId id : pair.next) QQ_RETURN_IF_ERROR(scale_inputs(id, gamma, beta));
    const auto count = static_cast<size_t>(graph_.value(weight).constant->size());
    store(weight, std::vector<float>(count, 1.0f));
    return Status();
  }

  void remove_bias(ir::NodeId norm, size_t index, ir::ValueId bias) {
    if (!graph_.node(norm).is("LayerNormalization")) {
      store(bias, std::vector<float>(static_cast<size_t>(graph_.value(bias).constant->size()), 0.0f));
      return;
    }
    edit_.set_input(norm, index, {});
    edit_.node(norm).inputs.resize(index);
    edit_.remove_value(bias);
  }

  /// diag(gamma) W, and beta W as a bias. (The reference takes the scaled W for that, which is wrong.)
  Status scale_inputs(ir::NodeId id, const std::vector<float>& gamma, const std::vector<float>& beta) {
    QQ_TRY(LayerMatrix matrix, matrix_of(id));
    QQ_RETURN_IF_ERROR(check_size(id, "input channels", matrix.in));
    std::vector<double> sums(static_cast<size_t>(matrix.out), 0.0);
    for (int64_t i = 0; i < matrix.in; ++i) {
      const auto k = static_cast<size_t>(i);
      for (int64_t o = 0; o < matrix.out; ++o) {
        float& number = matrix.at(i, o);
        if (!beta.empty()) sums[static_cast<size_t>(o)] += double{beta[k]} * double{number};
        number = static_cast<float>(double{number} * double{gamma[k]});
      }
    }
    store(matrix.value, matrix.numbers);
    return beta.empty() ? Status() : add_bias(id, sums, graph_.value(matrix.value).type.element);
  }

  Status add_bias(ir::NodeId id, const std::vector<double>& sums, ElementType type) {
    std::vector<float> bias(sums.begin(), sums.end());
    const auto channels = static_cast<int64_t>(sums.size());
    const ir::Shape dims = {channels};
    const std::string name = graph_.node(id).name + ".bias";
    if (graph_.node(id).is("MatMul")) {
      const ir::ValueId stored = edit_.add_initializer(name, ir::store_floats(bias, type, dims));
      add_to_product(id, stored);
      return Status();
    }
    const float alpha = graph_.node(id).float_or("alpha", 1.0f), beta = graph_.node(id).float_or("beta", 1.0f);
    if (!graph_.node(id).input(2).valid() || beta == 0.0f) {
      for (float& value : bias) value *= alpha;
      const ir::ValueId stored = edit_.add_initializer(name, ir::store_floats(bias, type, dims));
      edit_.node(id).set("beta", 1.0f);
      if (graph_.node(id).inputs.size() < 3) {
        edit_.append_input(id, stored);
      } else {
        edit_.set_input(id, 2, stored);
      }
      return Status();
    }
    QQ_TRY(const ir::ValueId old, own_floats(id, 2));
    QQ_TRY(const std::vector<float> numbers, bias_numbers(id, old, channels));
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = numbers[i] + bias[i] * alpha / beta;
    edit_.set_constant(old, ir::store_floats(bias, type, dims));
    return Status();
  }

  /// A MatMul of two matrices becomes a Gemm, as in the reference; others, which Gemm does not take, get an Add.
  void add_to_product(ir::NodeId id, ir::ValueId bias) {
    const ir::ValueType& input = graph_.value(graph_.node(id).input(0)).type;
    if (input.has_shape && input.dims.size() == 2) {
      edit_.node(id).op = "Gemm";
      for (const char* factor : {"alpha", "beta"}) edit_.node(id).set(factor, 1.0f);
      for (const char* flag : {"transA", "transB"}) edit_.node(id).set(flag, int64_t{0});
      edit_.append_input(id, bias);
      return;
    }
    const ir::ValueId sum = graph_.node(id).output(0);
    const ir::ValueId product = edit_.add_value(graph_.value(sum).name + "_product", graph_.value(sum).type);
    edit_.set_output(id, 0, product);
    const ir::Node& node = graph_.node(id);
    edit_.add_node({"Add", "", node.name + "_bias_add", {product, bias}, {sum}, {}, node.origins});
  }

  ir::Graph& graph_;
  ir::GraphEdit edit_;
  const Rotation& rotation_;
};

}  // namespace

Result<Changed> rotate_weights(pass::FloatContext& context) {
  const config::Settings& settings = context.settings;
  if (!settings.algorithms.r_config_path)
    return invalid_argument("RConfigPath: QuaRot needs the file that names its layers");
  QQ_TRY(const std::vector<RotationPair> pairs,
         read_rotation_pairs(*settings.algorithms.r_config_path, context.graph()));
  if (pairs.empty()) return Changed::kNo;
  QQ_TRY(const Rotation rotation, Rotation::make(settings.algorithms.r_matrix_dim, settings.algorithms.use_random_had));
  ir::Graph rotated = context.graph();  // changed completely or not at all
  Rotator rotator(rotated, rotation);
  for (const RotationPair& pair : pairs) {
    QQ_RETURN_IF_ERROR(rotator.rotate(pair).context(pair.label));
    if (pair.norm.valid() && rotated.node(pair.norm).is("LayerNormalization")) {
      context.diagnostics.add("rotation-not-exact", rotated.node(pair.norm).name,
                              "the mean that LayerNormalization subtracts does not rotate with its input");
    }
  }
  context.graph() = std::move(rotated);
  return Changed::kYes;
}

}  // namespace quarkq::rewrite
