// SPDX-License-Identifier: MIT
// QdqWriter: converts slots of the plan to nodes and initializers, in the reference's order (ref:writing#pairs).
// lower.cpp drives it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "ir/edit.h"
#include "plan/lowering/lower.h"

namespace quarkq::plan {

class QdqWriter {
 public:
  /// `graph` is a copy of the plan's graph. Both must outlive the writer.
  QdqWriter(ir::Graph& graph, const QuantPlan& plan, QdqForm form)
      : plan_(plan), graph_(graph), edit_(graph), form_(form) {
    for (const ExtraStage& extra : plan_.extras) extra_names_[extra.value] = name_of(extra.value);
  }

  void replace_constants();
  /// Writes activations with their own parameters, and constants, in marking order.
  void write_tensors();
  /// Writes tensors marked to share parameters.
  void write_sharing();
  void write_biases();
  /// Writes second stages between a stage and one node, after all other stages. Fails if a range is missing.
  Status write_extras();
  /// Removes the pairs of the plan's raw reads. Call it after sorting, because the pairs take part in the node order.
  void remove_raw_pairs();

 private:
  /// The initializers of one parameter id.
  struct Parameters {
    ir::ValueId scale, zero_point;
    bool zeros_only = false;  ///< Every zero point is 0.
  };

  const std::string& name_of(ir::ValueId value) const { return graph_.value(value).name; }
  /// Returns the parameters of a slot. A plan that is not calibrated yet uses placeholders, scale 1 and floats for
  /// codes: names and order are already final.
  const ParamList& params_of(const QuantSlot& slot) const;
  ir::Tensor codes_of(const QuantSlot& slot) const {
    return slot.codes ? *slot.codes : *graph_.value(slot.value).constant;
  }
  ir::Tensor scale_tensor(const QuantSlot& slot, const ir::Shape& dims) const;
  ir::Tensor zero_point_tensor(const QuantSlot& slot, const ir::Shape& dims) const;
  ir::Shape parameter_dims(const QuantSlot& slot) const;
  bool has_parameters(const QuantSlot& slot) const;

  void write_activation_parameters(const QuantSlot& slot);
  void write_constant_parameters(const QuantSlot& slot);
  void write_activation(const QuantSlot& slot);
  void write_constant(const QuantSlot& slot);
  void write_bias(const QuantSlot& slot);

  /// Writes the node or nodes of the slot's stage. `output` is the value for its readers.
  void write_stage(const QuantSlot& slot, const QdqNames& names, ir::ValueId input, ir::ValueId output);
  void write_block(const Stage& stage, const std::string& node_name, ir::ValueId input, ir::ValueId output);
  void write_dequantize(const std::string& node_name, ir::ValueId codes, const Parameters& parameters,
                        ir::ValueId output, const QuantSlot& slot);

  Result<Parameters> extra_parameters(const ExtraStage& extra);
  /// Inserts a new stage on `input` and returns the value for its reader. `target` names the node before which it is
  /// inserted.
  Result<ir::ValueId> write_extra(const ExtraStage& extra, ir::ValueId input, const std::string& target);
  /// Readers in nested graphs continue to read the float value.
  void move_node_uses(ir::ValueId from, ir::ValueId to);
  /// Restores the readers that must read `from` itself.
  void keep_float_readers(ir::ValueId from, ir::ValueId to);
  /// Redirects a reader with its own pair.
  void rewire(const ir::Use& reader, ir::ValueId from, ir::ValueId to);
  ir::ValueId add_output(const std::string& name, ir::ValueId like);

  /// Writes one quantization step of a tensor: a pair of nodes, or one FakeQuantize node.
  void write_pair(const Stage& stage, const QdqNames& names, const Parameters& parameters, ir::ValueId input,
                  ir::ValueId output);
  bool zeros_only(const QuantSlot& slot) const;

  const QuantPlan& plan_;
  const ir::Graph& graph_;
  ir::GraphEdit edit_;
  QdqForm form_;
  std::map<ParamId, Parameters> parameters_;
  std::map<std::pair<ir::ValueId, ElementType>, Parameters> extra_parameters_;
  std::map<ir::ValueId, std::string> extra_names_;  ///< Names before graph outputs are renamed.
};

}  // namespace quarkq::plan
