// SPDX-License-Identifier: MIT
// GPTQ (ref:tuning#gptq): rounds a weight row by row. The rows not rounded yet compensate each error on typical inputs.
// Pure functions on matrices.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "config/low_bit_weights.h"
#include "pass/context.h"

namespace quarkq::pass {

/// Scale and zero point of the weights that share them, in float64 as the reference computes them: ties depend on it.
struct GptqGrid {
  double scale = 1, zero = 0;
};
/// Returns the grid of `weights`, whose inputs have the second moments `importance`.
using FitGrid = std::function<GptqGrid(std::span<const float> weights, std::span<const float> importance)>;

struct GptqOptions : config::GptqSettings {
  int bits = 8;
  bool propagate = true;  ///< False: plain rounding, which is the reference's result.
  /// Rows keep their groups when they are processed by importance. Grids are then found before any row is rounded.
  bool has_static_groups = false;
  FitGrid fit = nullptr;  ///< If set, computes the grids instead of the range or the search.
};

/// A row-major matrix.
template <typename T>
struct Dense {
  int64_t rows = 0, columns = 0;
  std::vector<T> data;

  Dense() = default;
  Dense(int64_t r, int64_t c) : rows(r), columns(c), data(static_cast<size_t>(r * c)) {}
  T& operator()(int64_t row, int64_t column) { return data[static_cast<size_t>(row * columns + column)]; }
  const T& operator()(int64_t row, int64_t column) const { return data[static_cast<size_t>(row * columns + column)]; }
};

/// The sum of outer products of all inputs so far, weighted as in GPTQ.
class Hessian {
 public:
  explicit Hessian(int64_t depth) : matrix_(depth, depth) {}
  /// Adds inputs [rows, depth] of `batch` samples.
  void add(const float* inputs, int64_t rows, int64_t batch);
  const Dense<double>& matrix() const { return matrix_; }

 private:
  Dense<double> matrix_;
  double samples_ = 0;
};

struct GptqResult {
  Dense<float> values;        ///< [depth, columns], rounded.
  Dense<int> codes;           ///< [depth, columns], the rounded values as integers.
  Dense<double> scale, zero;  ///< [groups, columns]
};

/// Rounds `weight` [depth, columns]. Fails with kBadData if the Hessian has no Cholesky factor (NaN inputs).
Result<GptqResult> gptq(const Dense<float>& weight, const Dense<double>& hessian, const GptqOptions& options);

// Inputs of GPTQ from a run: its options, and the Hessians of the matrices' inputs.

/// Reads GPTQParams. `bits` is the width of the stored codes; `defaults` holds for keys that are not given. Fails for
/// invalid values.
Result<GptqOptions> gptq_options(const config::Settings& settings, int bits, const config::GptqSettings& defaults = {});

/// A stored matrix of MatMul nodes in a float graph.
struct GptqTarget {
  std::vector<ir::ValueId> inputs;  ///< The other operand, one per MatMul that reads the matrix.
  ir::ValueId weight;
};
/// Returns the stored matrices of MatMul nodes that `takes` accepts, in node order. A matrix may be shared.
template <typename Takes>
std::vector<GptqTarget> gptq_targets(const ir::Graph& graph, const Takes& takes) {
  std::vector<GptqTarget> targets;
  std::vector<size_t> place(graph.value_count(), 0);  // 1 + index of the target.
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!node.is("MatMul") || !takes(node)) continue;
    size_t& at = place[static_cast<size_t>(node.input(1).index)];
    if (at == 0) {
      targets.push_back({{}, node.input(1)});
      at = targets.size();
    }
    targets[at - 1].inputs.push_back(node.input(0));
  }
  return targets;
}

/// Returns a stored float matrix.
Dense<float> dense_of(const ir::Tensor& matrix);

/// The samples for computing Hessians.
struct GptqSamples {
  const calib::DataReader& data;
  const exec::Environment& environment;  ///< Environment of the session in which they run.
  size_t count = 0;                      ///< Number of samples, from the first.
  Progress progress = {};
};
/// Returns all samples. The reference stops after one (quirk UseAllGptqSamples).
GptqSamples gptq_samples(const config::Settings& settings, const calib::DataReader& data,
                         const exec::Environment& environment, Progress progress);

/// Receives an input of a target, whose last dimension is the depth of the target's matrix: its values and first
/// dimension.
using ObserveInput = std::function<Status(size_t target, const std::vector<float>& values, int64_t first_dimension)>;
/// Runs the samples in order and passes on the inputs of all targets. `purpose` begins the messages of failures.
Status observe_inputs(const GptqSamples& samples, const ir::Model& model, std::span<const GptqTarget> targets,
                      const char* purpose, const ObserveInput& observe);

/// Typical inputs of each target, drawn evenly from every sample.
struct KeptInputs {
  int64_t most = 0;                      ///< Upper bound on the rows of a target.
  std::vector<std::vector<float>> rows;  ///< [rows, depth] each; empty if an earlier target reads the same value.
};
/// Returns the mean squares of the inputs of each target's rows over the samples, [depth] each, and runs every sample
/// once. Also fills `kept` unless it is null.
Result<std::vector<std::vector<float>>> input_moments(const GptqSamples& samples, const ir::Model& model,
                                                      const std::vector<GptqTarget>& targets,
                                                      KeptInputs* kept = nullptr);

using UseHessian = std::function<Status(const GptqTarget&, const Dense<double>&)>;
/// Calls `use` with each target and the Hessian of its inputs over the samples. Processes as many targets at a time as
/// fit into memory.
Status for_each_hessian(const GptqSamples& samples, const ir::Model& model, const std::vector<GptqTarget>& targets,
                        const UseHessian& use);

}  // namespace quarkq::pass
