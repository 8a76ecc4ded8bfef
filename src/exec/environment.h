// SPDX-License-Identifier: MIT
// Environment: the runtimes, threads and memory ceiling with which one run computes its models. They belong to the run,
// so runs in one process do not affect each other.
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
  /// Returns name, version and execution provider: "onnxruntime 1.23.0 (CPUExecutionProvider)".
  virtual std::string name() const = 0;
  /// `wanted` are values of the main graph, whether they are outputs or not. `model` may be destroyed before the
  /// session.
  virtual Result<std::unique_ptr<BackendSession>> open(const ir::Model& model,
                                                       const std::vector<ir::ValueId>& wanted) const = 0;
};

// Operators that neither quarkq nor ONNX defines: a library of the user computes them in another runtime.

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
  /// `types` describe the inputs, with known rank and dimensions; undefined for omitted inputs. Fails with kUnsupported
  /// if the runtime does not have the operator either.
  virtual Result<std::unique_ptr<ForeignNode>> prepare(const ir::Node& node,
                                                       const std::map<std::string, int64_t>& opsets,
                                                       const std::vector<ir::ValueType>& types) const = 0;
};

/// Returns advice for an operator of `domain` without a kernel: ONNX Runtime has the operators of ONNX and its own;
/// other operators are in a library of the user.
const char* advice_without_kernel(const std::string& domain);

/// The number of threads of kernels, and the reason if it is less than the number of cores.
struct ThreadChoice {
  int threads = 0;
  /// Number of threads for independent parts of work, such as concurrent samples. At least `threads`. Includes cores
  /// that `threads` does not use because others are busy.
  int independent = 0;
  std::string why;  ///< Empty if every core has a thread, or if a number was requested.
  int caller = 0;   ///< System id of the thread that called set_threads().
};

/// Sets the number of threads of the kernels that the calling thread starts. 0 uses the currently free cores: no more
/// than a container grants (cgroup quota, cpuset), and fewer if a thread would share its core with another process and
/// delay every parallel region (ADR 0003). Results do not depend on the number.
ThreadChoice set_threads(int threads);

/// A plain value. The job of a run owns it and passes it to everything that compiles programs. Copies share the other
/// runtimes, which several threads may use at once.
struct Environment {
  std::shared_ptr<const Backend> backend = {};                     ///< Runs float models; null: quarkq runs them.
  std::shared_ptr<const ForeignOperators> foreign_operators = {};  ///< User operators; null if there are none.
  /// Upper bound on the resident memory of the process. Models are divided into segments that fit into the remaining
  /// memory (ADR 0016). 0: no bound.
  int64_t memory_ceiling = 0;
  ThreadChoice threads = {};

  /// Begins a run on the calling thread, and calls set_threads() for that thread.
  static Environment begin(int threads, int64_t memory_ceiling) {
    return {{}, {}, memory_ceiling, set_threads(threads)};
  }

  bool has_memory_ceiling() const { return memory_ceiling > 0; }
  /// Returns the remaining memory under the ceiling, minus a reserve for uncounted memory; at least 0. Returns 0
  /// without a ceiling.
  int64_t memory_left() const;
  /// Returns ThreadChoice::independent on the thread that began the run. On a thread that computes a part of the run,
  /// returns the number of threads of kernels.
  int independent_threads() const;
};

// Rejection of runs that cannot fit into memory: models are untrusted, and a shape can claim any size.

/// Returns the bytes that a run may use: `max_memory`, or if that is 0 the memory of the machine, or of the container
/// if that is less.
int64_t allowed_memory(int64_t max_memory);

/// Fails if the outputs and the temporary memory declared by `prepare` need more than `allowed` bytes. The message
/// names the node and its size.
Status check_memory(const Prepare& prepare, int64_t allowed);

}  // namespace quarkq::exec
