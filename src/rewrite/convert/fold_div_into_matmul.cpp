// SPDX-License-Identifier: MIT
// Merges a division by a number around matrix products, as in attention (scores / sqrt(d)), into the weights of the
// preceding projection: MatMul, MatMul and Add, or Gemm. Only operators that change the shape may be in between. After
// a product of two activations, the weights of its first factor absorb the division; of a fused projection, the columns
// that compute that factor.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "ir/constants.h"
#include "ir/edit.h"
#include "numeric/real_numbers.h"
#include "rewrite/convert/conversions.h"

namespace quarkq::rewrite {
namespace {

constexpr std::array<std::string_view, 6> kShapeOps = {"Transpose", "Reshape", "Squeeze",
                                                       "Unsqueeze", "Flatten", "Identity"};
constexpr int kMostShapeOps = 16;

/// Columns of the weights, from `begin` on; `count` < 0: all.
struct Columns {
  int64_t begin = 0, count = -1;
};

/// The source of a tensor: weights of rank 2 and optionally a bias, with all of their values or some columns.
struct Projection {
  ir::NodeId product, sum;     ///< Nodes of the weights and of the bias: an Add, or the Gemm itself.
  std::optional<size_t> bias;  ///< which input of `sum` it is
  bool is_transposed = false;
  Columns columns;
};

class DivFolder {
 public:
  explicit DivFolder(ir::Graph& graph) : graph_(graph), edit_(graph) {}

  size_t run() {
    size_t folded = 0;
    for (const ir::NodeId id : std::vector<ir::NodeId>(graph_.order())) {
      if (graph_.is_alive(id) && graph_.node(id).is("Div") && fold(id)) ++folded;
    }
    if (folded > 0) edit_.remove_dead();
    return folded;
  }

 private:
  bool fold(ir::NodeId id) {
    const ir::Node div = graph_.node(id);
    const std::optional<float> divisor = divisor_of(div);
    if (!divisor || !is_read_once(div.input(0))) return false;
    const std::optional<Projection> found = is_read_by_product(div) ? projection_of(div.input(0)) : std::nullopt;
    const std::optional<Projection> projection = found ? found : query_of(div.input(0));
    if (!projection || !divide(*projection, *divisor)) return false;
    edit_.replace_value(div.output(0), div.input(0));
    edit_.remove_node(id);
    return true;
  }

  /// A number that is stored, does not change the shape, and divides without harm.
  std::optional<float> divisor_of(const ir::Node& div) const {
    const ir::Tensor* stored = div.input(1).valid() ? graph_.constant(div.input(1)) : nullptr;
    const bool is_number = stored != nullptr && stored->size() == 1 && !graph_.value(div.input(1)).is_input &&
                           (stored->type() == ElementType::kFloat || stored->type() == ElementType::kFloat16);
    if (!is_number) return std::nullopt;
    const ir::ValueType& type = graph_.value(div.input(0)).type;
    if (stored->rank() > 0 && !(type.has_shape && stored->rank() <= static_cast<int64_t>(type.dims.size())))
      return std::nullopt;
    const float value = ir::float_values(*stored).value()[0];
    const bool divides = std::isfinite(value) && value != 0 && value != 1;
    return divides ? std::optional(value) : std::nullopt;
  }

  bool is_read_once(ir::ValueId value) const { return graph_.sole_use(value).has_value(); }

  bool is_read_by_product(const ir::Node& div) const {
    for (const ir::Use& use : graph_.value(div.output(0)).uses) {
      const ir::Node& reader = graph_.node(use.node);
      if (reader.is("MatMul") || reader.is("Gemm")) return true;
    }
    return false;
  }

  bool is_stored(ir::ValueId value) const { return value.valid() && ir::stored_floats(graph_, value) != nullptr; }

  /// The first factor of a product of two activations.
  std::optional<Projection> query_of(ir::ValueId value) const {
    const ir::Node* product = graph_.producer(value);
    if (product == nullptr || !product->is("MatMul") || is_stored(product->input(0)) || is_stored(product->input(1)))
      return std::nullopt;
    return is_read_once(product->input(0)) ? projection_of(product->input(0)) : std::nullopt;
  }

  /// Through operators that only change the shape, and one Split right after the projection.
  std::optional<Projection> projection_of(ir::ValueId value) const {
    for (int i = 0; i < kMostShapeOps && is_read_once(value); ++i) {
      const ir::Node* node = graph_.producer(value);
      if (node == nullptr) return std::nullopt;
      if (node->is("Split")) return split_projection(*node, value);
      if (std::ranges::find(kShapeOps, node->op) == kShapeOps.end() || !node->domain.empty()) return made_by(*node);
      value = node->input(0);
    }
    return std::nullopt;
  }

  std::optional<Projection> split_projection(const ir::Node& split, ir::ValueId part) const {
    const ir::ValueType& type = graph_.value(split.input(0)).type;
    const int64_t axis = split.int_or("axis", 0);
    const bool is_last = axis == -1 || (type.has_shape && axis == static_cast<int64_t>(type.dims.size()) - 1);
    const ir::Node* node = graph_.producer(split.input(0));
    if (!is_last || node == nullptr || !is_read_once(split.input(0))) return std::nullopt;
    std::optional<Projection> projection = made_by(*node);
    if (!projection) return std::nullopt;
    Columns columns{0, 0};
    for (const ir::ValueId output : split.outputs) {
      const ir::ValueType& part_type = graph_.value(output).type;
      if (!part_type.has_shape || part_type.dims.empty() || !part_type.dims.back().known()) return std::nullopt;
      columns.count = part_type.dims.back().size;
      if (output == part) {
        projection->columns = columns;
        return projection;
      }
      columns.begin += columns.count;
    }
    return std::nullopt;
  }

  std::optional<Projection> made_by(const ir::Node& node) const {
    if (node.is("Gemm") && has_weights(node)) {
      const bool has_bias = node.input(2).valid();
      if (has_bias && !is_stored(node.input(2))) return std::nullopt;
      const std::optional<size_t> bias = has_bias ? std::optional<size_t>(2) : std::nullopt;
      return Projection{node.id, node.id, bias, node.int_or("transB", 0) != 0, {}};
    }
    if (node.is("MatMul") && has_weights(node)) return Projection{node.id, node.id, std::nullopt, false, {}};
    if (!node.is("Add")) return std::nullopt;
    for (const size_t bias : {size_t{0}, size_t{1}}) {
      const ir::ValueId other = node.input(1 - bias);
      const ir::Node* product = other.valid() ? graph_.producer(other) : nullptr;
      if (product == nullptr || !product->is("MatMul") || !has_weights(*product) || !is_stored(node.input(bias)) ||
          !is_read_once(other))
        continue;
      return Projection{product->id, node.id, bias, false, {}};
    }
    return std::nullopt;
  }

  bool has_weights(const ir::Node& product) const {
    return is_stored(product.input(1)) && graph_.constant(product.input(1))->rank() == 2;
  }

  /// A copy of stored values with the columns divided; nothing where the columns cannot be told apart, or a quotient is
  /// not finite.
  std::optional<ir::Tensor> divided(const ir::Tensor& old, float divisor, const Columns& columns, bool by_rows) const {
    std::vector<float> values = ir::float_values(old).value();
    const int64_t last = old.rank() == 0 ? 1 : old.dims().back();
    const bool is_part = columns.count >= 0;
    if (is_part && !by_rows && last == 1) return std::nullopt;
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i), column = by_rows ? at / last : at % last;
      const bool is_meant = !is_part || (column >= columns.begin && column < columns.begin + columns.count);
      if (is_meant) values[i] /= divisor;
    }
    ir::Tensor stored = ir::store_floats(values, old.type(), old.dims());
    if (!numeric::all_finite(ir::float_values(stored).value())) return std::nullopt;
    return stored;
  }

  bool divide(const Projection& projection, float divisor) {
    const ir::ValueId weight = graph_.node(projection.product).input(1);
    std::optional<ir::Tensor> weights =
        divided(*graph_.constant(weight), divisor, projection.columns, projection.is_transposed);
    if (!weights) return false;
    std::optional<ir::Tensor> biases;
    if (projection.bias) {
      const ir::ValueId bias = graph_.node(projection.sum).input(*projection.bias);
      biases = divided(*graph_.constant(bias), divisor, projection.columns, /*by_rows=*/false);
      if (!biases) return false;
      put(projection.sum, *projection.bias, std::move(*biases));
    }
    put(projection.product, 1, std::move(*weights));
    return true;
  }

  void put(ir::NodeId node, size_t input, ir::Tensor data) {
    const std::string name = graph_.value(graph_.node(node).input(input)).name + "_divfold";
    edit_.set_input(node, input, edit_.add_initializer(name, std::move(data)));
  }

  ir::Graph& graph_;
  ir::GraphEdit edit_;
};

}  // namespace

Result<size_t> fold_div_into_matmul(pass::ConvertContext& context) { return DivFolder(context.graph()).run(); }

}  // namespace quarkq::rewrite
