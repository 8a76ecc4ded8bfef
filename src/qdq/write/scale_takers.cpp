// SPDX-License-Identifier: MIT
#include <array>
#include <string_view>

#include "ir/constants.h"
#include "ir/quantizing_ops.h"
#include "qdq/write/nbits_learned.h"

namespace quarkq::qdq {
namespace {

using Takers = std::optional<std::vector<ScaleTaker>>;

/// A normalization and its inputs that scale the result.
struct NormInputs {
  std::string_view op, domain;
  size_t weight, bias;  ///< Equal if there is no bias.
};
constexpr std::array<NormInputs, 6> kNorms = {{{"LayerNormalization", "", 1, 2},
                                               {"RMSNormalization", "", 1, 1},
                                               {"SimplifiedLayerNormalization", "", 1, 1},
                                               {"SimplifiedLayerNormalization", ir::kMicrosoftDomain, 1, 1},
                                               {"SkipLayerNormalization", ir::kMicrosoftDomain, 2, 3},
                                               {"SkipSimplifiedLayerNormalization", ir::kMicrosoftDomain, 2, 2}}};

class Finder {
 public:
  Finder(const ir::Graph& graph, int64_t channels) : graph_(graph), channels_(channels) {}

  /// Returns the takers of a value that nothing else reads.
  Takers of(ir::ValueId value, int depth) const {
    constexpr int kLongestChain = 12;
    const ir::Node* const node = graph_.producer(value);
    if (node == nullptr || depth > kLongestChain) return std::nullopt;
    for (const NormInputs& norm : kNorms) {
      if (node->op == norm.op && node->domain == norm.domain) return of_norm(*node, norm, value);
    }
    if (node->is("MatMul")) return of_matrix(node->input(1));
    if (node->is("Mul")) return of_mul(*node, depth);
    if (node->is("Add")) return of_add(*node, depth);
    if (node->is("Reshape")) return find_head_takers(graph_, value, channels_);
    if (node->is("Identity") || node->is("Relu")) return only_reader(node->input(0), depth);
    return std::nullopt;
  }

 private:
  /// Continues with an operand if nothing else reads it.
  Takers only_reader(ir::ValueId value, int depth) const {
    return value.valid() && graph_.sole_use(value) ? of(value, depth + 1) : std::nullopt;
  }

  bool is_vector(ir::ValueId id) const {
    const ir::Tensor* const found = ir::stored_floats(graph_, id);
    return found != nullptr && found->rank() >= 1 && found->dims().back() == channels_ && found->size() == channels_ &&
           graph_.use_count(id) == 1;
  }

  Takers of_norm(const ir::Node& node, const NormInputs& norm, ir::ValueId value) const {
    const ir::ValueId weight = node.input(norm.weight), bias = node.input(norm.bias);
    const auto fits = [&](ir::ValueId id) { return is_vector(id) && graph_.constant(id)->rank() == 1; };
    if (node.output(0) != value || !weight.valid() || !fits(weight)) return std::nullopt;
    std::vector<ScaleTaker> found = {{weight}};
    if (norm.bias == norm.weight || !bias.valid()) return found;
    if (!fits(bias)) return std::nullopt;
    found.push_back({bias});
    return found;
  }

  Takers of_matrix(ir::ValueId weight) const {
    const ir::Tensor* const matrix = ir::stored_floats(graph_, weight);
    if (matrix == nullptr || matrix->rank() != 2 || matrix->dims()[1] != channels_ || graph_.use_count(weight) != 1)
      return std::nullopt;
    return std::vector<ScaleTaker>{{weight}};
  }

  Takers of_mul(const ir::Node& node, int depth) const {
    for (const size_t i : {1, 0}) {
      if (is_vector(node.input(i))) return std::vector<ScaleTaker>{{node.input(i)}};
    }
    if (node.input(0) == node.input(1)) return std::nullopt;
    for (const size_t i : {1, 0}) {
      Takers found = only_reader(node.input(i), depth);
      if (found) return found;
    }
    return std::nullopt;
  }

  Takers of_add(const ir::Node& node, int depth) const {
    for (const size_t i : {1, 0}) {
      if (!is_vector(node.input(i))) continue;
      Takers found = only_reader(node.input(1 - i), depth);
      if (found) found->push_back({node.input(i)});
      return found;
    }
    return std::nullopt;
  }

  const ir::Graph& graph_;
  int64_t channels_;
};

}  // namespace

std::optional<std::vector<ScaleTaker>> find_scale_takers(const ir::Graph& graph, ir::ValueId value, int64_t channels) {
  return Finder(graph, channels).of(value, 0);
}

}  // namespace quarkq::qdq
