// SPDX-License-Identifier: MIT
// Environment: what the models of one run are computed with. Other runtimes, threads and memory belong to the run, so
// runs in one process do not affect each other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace quarkq::exec {

class Prepare;

// Float models that another runtime computes as a whole. quarkq itself computes quantized models and models whose
// weights are being changed.

/// A model in the other runtime, ready to run.
class BackendSession {
 public:
  virtual ~BackendSession() = default;
  /// Runs one sample: a tensor per input that the graph requires, in order. Returns the requested values in order. They
  /// are valid until the next run. Fails if a value is not a tensor of numbers.
  virtual Result<const std::vector<ir::Tensor>*> run(std::span<const ir::Tensor> inputs) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// The name with version and execution provider: "onnxruntime 1.23.0 (CPUExecutionProvider)".
  virtual std::string name() const = 0;
  /// `wanted` are values of the main graph, whether they are outputs or not. `model` may be destroyed before the
  /// session.
  virtual Result<std::unique_ptr<BackendSession>> open(const ir::Model& model,
                                                       const std::vector<ir::ValueId>& wanted) const = 0;
};

// Operators that neither quarkq nor ONNX defines. A library of the user's computes them in another runtime.

/// One node, ready to run for inputs of certain types.
class ForeignNode {
 public:
  virtual ~ForeignNode() = default;
  /// Returns the outputs of the node in ONNX order. `inputs` has an entry per node input, null if it is omitted.
  /// Outputs that are not requested are undefined tensors.
  virtual Result<std::vector<ir::Tensor>> run(const std::vector<const ir::Tensor*>& inputs) = 0;
  /// Returns the types of the outputs, with the dimensions that the runtime can infer.
  virtual std::vector<ir::ValueType> output_types() const = 0;
};

class ForeignOperators {
 public:
  virtual ~ForeignOperators() = default;
  /// `types` are those of the inputs, with the rank and dimensions that are known; undefined if an input is omitted.
  /// Fails with kUnsupported if the runtime does not have the operator either.
  virtual Result<std::unique_ptr<ForeignNode>> prepare(const ir::Node& node,
                                                       const std::map<std::string, int64_t>& opsets,
                                                       const std::vector<ir::ValueType>& types) const = 0;
};

/// Returns advice for an operator of `domain` without a kernel: ONNX Runtime has the operators of ONNX and its own, a
/// library of the user's has others.
const char* advice_without_kernel(const std::string& domain);

/// How many threads kernels use, and why not one per core.
struct ThreadChoice {
  int threads = 0;
  /// Threads for work whose parts do not wait for one another, such as samples that run at once. At least `threads`.
  int independent = 0;
  std::string why;  ///< empty if every core has a thread, or if a number was requested
  int caller = 0;   ///< system id of the thread that set_threads() was called on
};

/// Makes kernels that the calling thread starts use `threads` threads. 0 uses one per core that is free now: no more
/// than a container grants (cgroup quota, cpuset), and fewer if a thread would share its core with another process and
/// delay every parallel region (ADR 0003). Results do not depend on the number.
ThreadChoice set_threads(int threads);

/// A value: the job of a run owns one and gives it to whatever compiles programs. Copies share the other runtimes,
/// which several threads may use at once.
struct Environment {
  std::shared_ptr<const Backend> backend = {};                     ///< computes float models; null: quarkq does
  std::shared_ptr<const ForeignOperators> foreign_operators = {};  ///< null: there are none
  /// A ceiling on the resident memory of the process. Under a ceiling models run in segments that fit into the memory
  /// that is left (ADR 0016). 0: no ceiling.
  int64_t memory_ceiling = 0;
  ThreadChoice threads = {};

  /// Begins a run on the calling thread, which set_threads() applies to.
  static Environment begin(int threads, int64_t memory_ceiling) {
    return {{}, {}, memory_ceiling, set_threads(threads)};
  }

  bool has_memory_ceiling() const { return memory_ceiling > 0; }
  /// Returns the bytes that the process may still allocate under the ceiling, minus a reserve for what is not counted.
  /// Returns 0 without a ceiling.
  int64_t memory_left() const;
  /// Returns ThreadChoice::independent on the thread that the run began on, and the number of threads that kernels use
  /// on a thread that computes a part of the run.
  int independent_threads() const;
};

// Runs that cannot fit into memory are refused: models are untrusted, and a shape can claim any size.

/// Returns the bytes that a run may use: `max_memory`, or if that is 0 the memory of the machine, or of the container
/// if it is smaller.
int64_t allowed_memory(int64_t max_memory);

/// Fails if the outputs and the temporary memory that `prepare` declares need more than `allowed` bytes. The message
/// names the node and what it needs.
Status check_memory(const Prepare& prepare, int64_t allowed);

}  // namespace quarkq::exec
