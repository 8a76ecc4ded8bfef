// SPDX-License-Identifier: MIT
// Runs a model over all samples once, in stretches. Between two stretches it keeps the values of each sample that are
// still needed, so that no node runs twice and the constants of later nodes may change.
#pragma once

#include <functional>
#include <vector>

#include "calib/data_reader.h"
#include "exec/session.h"
#include "ir/graph.h"
#include "ir/tensor_store.h"

namespace quarkq::calib {

/// A model, its environment, and the data of which the first `samples` samples run through it.
struct WalkedModel {
  const ir::Model& model;
  const exec::Environment& environment;
  const DataReader& data;
  size_t samples;
  const char* purpose = "finetuning";  ///< For errors: "PURPOSE, sample 3: ...".
};

class LayerWalk {
 public:
  /// `wanted` contains one list of values per advance(), ordered so that no list needs constants of a later one.
  /// The references in `walked` and `store` must outlive the walk.
  LayerWalk(const WalkedModel& walked, std::vector<std::vector<ir::ValueId>> wanted, ir::TensorStore& store);

  using Sink = std::function<Status(size_t sample, const std::vector<ir::Tensor>& values)>;
  /// Computes the next list for every sample, in order. With a null sink, values are only kept if they are needed
  /// later. REQUIRES: lists are left.
  Status advance(const Sink& sink);
  size_t position() const { return next_; }  ///< Returns the number of computed lists.
  /// Releases everything in the store and ends the walk. Do not call it after advance() failed.
  void end();

 private:
  struct Kept {
    ir::ValueId value;
    std::vector<int> numbers;  ///< Numbers in the store, by sample.
    bool is_last = false;      ///< The current stretch is the last one that needs it.
  };

  /// The nodes between two lists of values.
  struct Stretch {
    std::vector<const Kept*> fed;      ///< Values of the frontier that the stretch reads.
    std::vector<ir::ValueId> fetches;  ///< Values requested now or read by later nodes.
    std::vector<int> place;            ///< Index of the fetch, by value.
    std::vector<Kept> made;            ///< New values of the frontier.
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

  const WalkedModel walked_;
  const ir::Graph& graph_;
  std::vector<std::vector<ir::ValueId>> wanted_;
  ir::TensorStore& store_;
  size_t next_ = 0;
  std::vector<bool> needed_, done_;  ///< Indexed by node.
  std::vector<int> last_wanted_;     ///< Last list that contains the value, or -1; indexed by value.
  std::vector<Kept> kept_;           ///< The frontier.
};

}  // namespace quarkq::calib
