// SPDX-License-Identifier: MIT
// QdqWriter: slots of the plan become nodes and initializers, in the reference's order (spec 02 A.6).
#pragma once

#include <map>
#include <string>
#include <utility>

#include "ir/edit.h"
#include "passes/context.h"
#include "passes/insert/names.h"
#include "passes/insert/operators.h"

namespace quarkq::passes {

class QdqWriter {
 public:
  explicit QdqWriter(PassContext& context)
      : plan_(context.plan),
        graph_(context.model.graph),
        edit_(context.model.graph),
        operators_(context),
        pair_per_input_(context.settings.quirk(config::Quirk::kPairPerInput)) {
    for (const plan::ExtraStage& extra : plan_.extras) extra_names_[extra.value] = name_of(extra.value);
  }

  /// Activations with parameters of their own and constants, in marking order.
  void write_tensors();
  /// Tensors that were marked to share parameters.
  void write_sharing();
  void write_biases();
  /// Second stages between a stage and one node; all others are written. Fails when a range is missing.
  Status write_extras();

 private:
  /// The initializers of one parameter id.
  struct Parameters {
    ir::ValueId scale, zero_point;
  };

  const std::string& name_of(ir::ValueId value) const { return graph_.value(value).name; }
  const plan::ParamList& params_of(const plan::QuantSlot& slot) const { return plan_.params[slot.stages[0].params]; }
  ir::Tensor scale_tensor(const plan::QuantSlot& slot, const ir::Shape& dims) const;
  ir::Tensor zero_point_tensor(const plan::QuantSlot& slot, const ir::Shape& dims) const;
  ir::Shape parameter_dims(const plan::QuantSlot& slot) const;
  bool has_parameters(const plan::QuantSlot& slot) const;

  void write_activation_parameters(const plan::QuantSlot& slot);
  void write_constant_parameters(const plan::QuantSlot& slot);
  void write_activation(const plan::QuantSlot& slot);
  void write_constant(const plan::QuantSlot& slot);
  void write_bias(const plan::QuantSlot& slot);

  /// The node or nodes of the slot's stage; `output` is what its readers get.
  void write_stage(const plan::QuantSlot& slot, const QdqNames& names, ir::ValueId input, ir::ValueId output);
  void write_block(const plan::Stage& stage, const std::string& node_name, ir::ValueId input, ir::ValueId output);
  void write_dequantize(const std::string& node_name, ir::ValueId codes, const Parameters& parameters,
                        ir::ValueId output, const plan::QuantSlot& slot);

  Result<Parameters> extra_parameters(const plan::ExtraStage& extra);
  /// What its reader gets behind a new stage on `input`; `target` names the node in front of which it stands.
  Result<ir::ValueId> write_extra(const plan::ExtraStage& extra, ir::ValueId input, const std::string& target);
  /// Readers in nested graphs go on reading the float value.
  void move_node_uses(ir::ValueId from, ir::ValueId to);
  /// A reader with a pair of its own.
  void rewire(const ir::Use& reader, ir::ValueId from, ir::ValueId to);
  ir::ValueId add_output(const std::string& name, ir::ValueId like);

  const plan::QuantPlan& plan_;
  const ir::Graph& graph_;
  ir::GraphEdit edit_;
  QdqOperators operators_;
  bool pair_per_input_;
  std::map<plan::ParamId, Parameters> parameters_;
  std::map<std::pair<ir::ValueId, ElementType>, Parameters> extra_parameters_;
  std::map<ir::ValueId, std::string> extra_names_;  ///< before graph outputs are renamed
};

}  // namespace quarkq::passes
