// SPDX-License-Identifier: MIT
// Runs a model over all samples once, in stretches: between two stretches each sample's values that are still needed
// are kept, so that no node runs twice and the constants of nodes to come may change.
#pragma once

#include <functional>
#include <vector>

#include "calib/data_reader.h"
#include "config/algorithms.h"
#include "exec/session.h"
#include "ir/graph.h"
#include "ir/tensor_store.h"

namespace quarkq::planning::finetune {

/// How much of the samples' values may stay in memory, so that the whole process stays within a budget.
class MemoryBudget {
 public:
  /// What the process has taken by now is counted to stay.
  explicit MemoryBudget(const config::FinetuneSettings& options);

  /// Called before the values of a unit with samples of this size are collected and trained with: the store leaves
  /// room for that, and for what a tape holds beside.
  Status make_room(int64_t sample_bytes, int64_t inner_bytes, ir::TensorStore& store);

  /// Between two layers: memory that is free goes back to the system once the process has half of the budget. Before,
  /// the next layer takes it over, which spares the system to clear it again.
  void give_back() const;

  int64_t bytes() const { return budget_; }
  /// The budget is less than what the work itself takes.
  bool is_too_small() const { return !keeps_on_disk_ && budget_ < taken_ + work_; }

 private:
  bool stays_in_memory_, keeps_on_disk_;
  int64_t budget_, taken_, work_ = 0;
};

/// A model, and the first `samples` of the data to run through it in this environment.
struct WalkedModel {
  const ir::Model& model;
  const exec::Environment& environment;
  const calib::DataReader& data;
  size_t samples;
};

class LayerWalk {
 public:
  /// `wanted`: one list of values per advance(), in an order in which none needs a later one's constants. What `walked`
  /// refers to and `store` must outlive the walk.
  LayerWalk(const WalkedModel& walked, std::vector<std::vector<ir::ValueId>> wanted, ir::TensorStore& store);

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

  const WalkedModel walked_;
  const ir::Graph& graph_;
  std::vector<std::vector<ir::ValueId>> wanted_;
  ir::TensorStore& store_;
  size_t next_ = 0;
  std::vector<bool> needed_, done_;  ///< by node
  std::vector<int> last_wanted_;     ///< by value: the last list that names it, or -1
  std::vector<Kept> kept_;           ///< the frontier
};

}  // namespace quarkq::planning::finetune
