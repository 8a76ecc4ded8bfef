// SPDX-License-Identifier: MIT
// Runs a model over all samples once, in stretches: between two stretches each sample's values that are still needed
// are kept, so that no node runs twice and the constants of nodes to come may change.
#pragma once

#include <functional>
#include <vector>

#include "calib/data_reader.h"
#include "exec/session.h"
#include "ir/graph.h"
#include "ir/tensor_store.h"

namespace quarkq::planning::finetune {

class LayerWalk {
 public:
  /// `wanted`: one list of values per advance(), in an order in which none needs a later one's constants. `model`,
  /// `data` and `store` must outlive the walk.
  LayerWalk(const ir::Model& model, const calib::DataReader& data, size_t samples,
            std::vector<std::vector<ir::ValueId>> wanted, ir::TensorStore& store);

  using Sink = std::function<Status(size_t sample, const std::vector<ir::Tensor>& values)>;
  /// Computes the next list for every sample, in order. REQUIRES: lists are left. A null sink: the values only come
  /// to be known, if they are needed later.
  Status advance(const Sink& sink);
  size_t position() const { return next_; }  ///< how many lists are computed
  /// Gives back what is kept in the store; the walk has ended. Not after advance() failed.
  void end();

 private:
  struct Kept {
    ir::ValueId value;
    std::vector<int> numbers;  ///< by sample, in the store
    bool is_last = false;      ///< the current stretch is the last that needs it
  };

  /// The nodes between two lists of values.
  struct Stretch {
    std::vector<const Kept*> fed;      ///< of the frontier
    std::vector<ir::ValueId> fetches;  ///< wanted now or read by later nodes
    std::vector<int> place;            ///< by value: which fetch it is
    std::vector<Kept> made;            ///< new in the frontier
  };

  Stretch plan_stretch(const std::vector<ir::ValueId>& wanted);
  Status run_sample(size_t sample, const std::vector<ir::ValueId>& wanted, Stretch& stretch, exec::Session& session,
                    const Sink& sink);
  void move_frontier(std::vector<Kept> made);
  void mark_needed();
  std::vector<ir::NodeId> nodes_before(const std::vector<ir::ValueId>& values);
  bool is_needed_later(ir::ValueId value) const;
  const Kept* find(ir::ValueId value) const;
  Status keep_inputs();

  const ir::Model& model_;
  const ir::Graph& graph_;
  const calib::DataReader& data_;
  size_t samples_;
  std::vector<std::vector<ir::ValueId>> wanted_;
  ir::TensorStore& store_;
  size_t next_ = 0;
  std::vector<bool> needed_, done_;  ///< by node
  std::vector<int> last_wanted_;     ///< by value: the last list that names it, or -1
  std::vector<Kept> kept_;           ///< the frontier
};

}  // namespace quarkq::planning::finetune
