// SPDX-License-Identifier: MIT
// QdqWriter: slots of the plan become nodes and initializers, in the reference's order (ref:writing#pairs). lower.cpp
// drives it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "ir/edit.h"
#include "plan/lowering/lower.h"

namespace quarkq::plan {

class QdqWriter {
 public:
  /// `graph`: a copy of the plan's graph. Both must outlive the writer.
  QdqWriter(ir::Graph& graph, const QuantPlan& plan, QdqForm form)
      : plan_(plan), graph_(graph), edit_(graph), form_(form) {
    for (const ExtraStage& extra : plan_.extras) extra_names_[extra.value] = name_of(extra.value);
  }

  void replace_constants();
  /// Activations with parameters of their own and constants, in marking order.
  void write_tensors();
  /// Tensors that were marked to share parameters.
  void write_sharing();
  void write_biases();
  /// Second stages between a stage and one node; all others are written. Fails when a range is missing.
  Status write_extras();
  /// Removes the pairs of the plan's raw reads. Comes after sorting: the pairs take part in the node order.
  void remove_raw_pairs();

 private:
  /// The initializers of one parameter id.
  struct Parameters {
    ir::ValueId scale, zero_point;
    bool zeros_only = false;  ///< every zero point is 0
  };

  const std::string& name_of(ir::ValueId value) const { return graph_.value(value).name; }
  /// A plan that is not calibrated yet lowers with stand-ins, scale 1 and floats for codes: names and order are final.
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

  /// The node or nodes of the slot's stage; `output` is what its readers get.
  void write_stage(const QuantSlot& slot, const QdqNames& names, ir::ValueId input, ir::ValueId output);
  void write_block(const Stage& stage, const std::string& node_name, ir::ValueId input, ir::ValueId output);
  void write_dequantize(const std::string& node_name, ir::ValueId codes, const Parameters& parameters,
                        ir::ValueId output, const QuantSlot& slot);

  Result<Parameters> extra_parameters(const ExtraStage& extra);
  /// What its reader gets after a new stage on `input`; `target` names the node in front of which it stands.
  Result<ir::ValueId> write_extra(const ExtraStage& extra, ir::ValueId input, const std::string& target);
  /// Readers in nested graphs go on reading the float value.
  void move_node_uses(ir::ValueId from, ir::ValueId to);
  /// Undoes the move of readers that get `from` itself.
  void keep_float_readers(ir::ValueId from, ir::ValueId to);
  /// A reader with a pair of its own.
  void rewire(const ir::Use& reader, ir::ValueId from, ir::ValueId to);
  ir::ValueId add_output(const std::string& name, ir::ValueId like);

  /// One step of quantization per tensor: a pair of nodes, or one FakeQuantize node.
  void write_pair(const Stage& stage, const QdqNames& names, const Parameters& parameters, ir::ValueId input,
                  ir::ValueId output);
  bool zeros_only(const QuantSlot& slot) const;

  const QuantPlan& plan_;
  const ir::Graph& graph_;
  ir::GraphEdit edit_;
  QdqForm form_;
  std::map<ParamId, Parameters> parameters_;
  std::map<std::pair<ir::ValueId, ElementType>, Parameters> extra_parameters_;
  std::map<ir::ValueId, std::string> extra_names_;  ///< before graph outputs are renamed
};

}  // namespace quarkq::plan
