// SPDX-License-Identifier: MIT
// Free factors of channels. A layer can multiply the channels that it writes by any positive factor if the layers that
// read them divide by it, as long as what is between them passes factors on.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "ir/graph.h"

namespace quarkq::rewrite {

/// Groups of channels (of axis 1) that must have the same factor: operands and result of a sum, input and output of a
/// pool, a part of a Concat and the same part of its input.
class ChannelScales {
 public:
  /// Index of a group.
  using Group = size_t;

  /// Gates connect a layer to its readers like a nonlinear layer: their inputs have factors of their own, and so have
  /// their outputs. `graph` must have inferred shapes.
  ChannelScales(const ir::Graph& graph, const std::set<ir::NodeId>& gates);

  /// Returns the number of channels of `value`, or 0 if it has no known ones.
  size_t channels(ir::ValueId value) const;
  /// REQUIRES: channel < channels(value).
  Group group(ir::ValueId value, size_t channel) const;
  /// Returns whether the channels of the group may have a factor other than 1.
  bool is_free(Group group) const { return !pinned_[group]; }

 private:
  void add_node(const ir::Graph& graph, const ir::Node& node, const std::set<ir::NodeId>& gates);
  void tie(ir::ValueId from, size_t from_channel, ir::ValueId to, size_t to_channel, size_t count);
  void tie_all(ir::ValueId from, ir::ValueId to);
  void tie_operands(const ir::Graph& graph, const ir::Node& node);
  void tie_concat(const ir::Graph& graph, const ir::Node& node);
  void tie_parts(const ir::Graph& graph, const ir::Node& node);
  void pin(ir::ValueId value);
  size_t find(size_t element) const;

  std::vector<size_t> first_, count_;   ///< Keyed by value: its first element, and its number of channels.
  mutable std::vector<size_t> parent_;  ///< Keyed by element.
  std::vector<bool> pinned_;            ///< Keyed by element; meaningful for roots after construction.
};

/// Factors of the channels of values; absent values have the factor 1.
using ChannelFactors = std::map<ir::ValueId, std::vector<double>>;

/// Returns whether rescale_layers() supports `node`: a Conv, ConvTranspose or Gemm with stored weight and bias.
bool is_scalable_layer(const ir::Graph& graph, const ir::Node& node);

/// Multiplies weights and biases of all layers so that they write the values of `factors` multiplied by their factors
/// and read them so. Weights with several readers are copied. `shifts` are added to biases after that; a layer of
/// `shifts` must have a bias.
void rescale_layers(ir::Graph& graph, const ChannelFactors& factors, const ChannelFactors& shifts);

}  // namespace quarkq::rewrite
