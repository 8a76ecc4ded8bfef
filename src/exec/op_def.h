// SPDX-License-Identifier: MIT
// The contract between the executor and its operators. An operator is one OpDef row. Its `prepare` reads types, shapes
// and constants, checks everything that can be checked, decides, and returns the kernel; the kernel only computes. A
// kernel fails only for faults that no earlier step could detect (an index out of range in the data).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "exec/layout.h"
#include "ir/node.h"

namespace quarkq::exec {

/// An input or output as known while a node is prepared. `dims` are in memory order of `layout`.
struct Spec {
  ElementType type = ElementType::kUndefined;
  ir::Shape dims;
  Layout layout = Layout::kPlain;
  const ir::Tensor* constant = nullptr;  ///< Set if the value is already known; also in memory order.
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
};

/// Buffers of one call. Omitted inputs are null. Pointers are 64-byte aligned unless they are user inputs.
struct Run {
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;
  std::byte* scratch = nullptr;

  template <typename T>
  const T* in(size_t i) const {
    return reinterpret_cast<const T*>(inputs[i]);
  }
  template <typename T>
  T* out(size_t i) const {
    return reinterpret_cast<T*>(outputs[i]);
  }
};

/// Computes the outputs of one node. Called many times, never concurrently.
using Kernel = std::function<Status(const Run&)>;

/// Memory layouts that an operator supports.
enum class LayoutRule : uint8_t {
  kPlain,      ///< needs all inputs in ONNX order (the executor converts)
  kFollow,     ///< computes in the memory order of input 0: inputs of its rank arrive in its layout, all others plain;
               ///< outputs keep the layout; axes go through Prepare::axis()
  kBroadcast,  ///< Elementwise over several inputs: if one is channels-last, all are, with dims padded in front with
               ///< ones to the full rank first. Outputs keep the layout.
  kImage,      ///< needs input 0 channels-last when its rank is 3 to 5, all others plain; sets output layouts itself
};

/// An operator fused after the one being prepared, in order. Fuser::find() decides which operators occur.
struct PostOp {
  enum class Kind : uint8_t { kClip, kLeakyRelu, kAdd } kind = Kind::kClip;
  float low = 0, high = 0;  ///< kClip: y = min(max(x, low), high), infinite where absent
  float slope = 0;          ///< kLeakyRelu: y = x < 0 ? slope * x : x
  size_t input = 0;         ///< kAdd: counts the values added; value k is input number node.inputs.size() + k
};

struct IntegerOperands;  // exec/integer_operands.h

/// One node as its operator sees it during compilation.
class Prepare {
 public:
  Prepare(const ir::Node& node, std::string label, int64_t opset, std::vector<Spec> inputs, std::vector<bool> present)
      : node_(node),
        label_(std::move(label)),
        opset_(opset),
        inputs_(std::move(inputs)),
        present_(std::move(present)),
        outputs_(node.outputs.size()) {}

  const ir::Node& node() const { return node_; }
  int64_t opset() const { return opset_; }  ///< version of the node's domain
  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return node_.outputs.size(); }
  bool has(size_t i) const { return i < inputs_.size() && present_[i]; }
  bool wants(size_t i) const { return i < node_.outputs.size() && node_.outputs[i].valid(); }
  /// REQUIRES: has(i).
  const Spec& in(size_t i) const { return inputs_[i]; }
  const ir::Tensor* constant(size_t i) const { return has(i) ? inputs_[i].constant : nullptr; }

  /// Declares output `i`; dims in memory order of `layout`. Without `layout`: the layout of input 0 for kFollow,
  /// otherwise plain.
  void out(size_t i, ElementType type, ir::Shape dims, std::optional<Layout> layout = {});
  /// Declares that output `i` is input `from` with the given dims: no copy, no kernel call. Plain layout only.
  void alias(size_t i, size_t from, ir::Shape dims);
  /// Allows the executor to use the memory of input `from` for output `i` if no node reads it afterwards (elementwise
  /// kernels).
  void in_place(size_t i, size_t from) { outputs_[i].in_place = static_cast<int>(from); }
  /// Declares that the kernel has copied what it needs of constant input `i` and never reads it in a run.
  void take(size_t i) { taken_ |= uint32_t{1} << i; }
  /// Requests temporary memory for one call, 64-byte aligned. Shared by all nodes of a program.
  void scratch(size_t bytes) { scratch_bytes_ = bytes; }

  /// Normalizes an axis, from an attribute or input, and maps it to memory order.
  Result<int64_t> axis(int64_t value, int64_t rank) const;
  Layout layout() const { return layout_; }  ///< Returns the layout of kFollow and kBroadcast inputs.

  std::span<const PostOp> post_ops() const { return post_ops_; }
  /// If not null, the buffer of input 0 has the codes of these operands, although its type is FLOAT.
  const IntegerOperands* integers() const { return integers_; }

  /// Return errors that name the node: "node conv_12 (Conv): ...".
  template <typename... Args>
  Status corrupt(const Args&... args) const {
    return corrupt_model(label_, ": ", args...);
  }
  template <typename... Args>
  Status cannot(const Args&... args) const {
    return unsupported(label_, ": ", args...);
  }
  /// Fails if input `i` is omitted or not one of `types`.
  Status require_input(size_t i, std::initializer_list<ElementType> types = {}) const;
  /// Returns the elements of input `i` as integers if they are known, or nullopt if they depend on the data (return
  /// defer() then).
  Result<std::optional<std::vector<int64_t>>> known_ints(size_t i) const;

  /// The result of `prepare` if an output shape depends on data. `prepare` is called again, at run time, with every
  /// input's `constant` set.
  static Kernel defer() { return nullptr; }

  // Read by the compiler.
  struct Output {
    Spec spec;
    int alias_of = -1;
    int in_place = -1;
    bool declared = false;
  };
  const Output& output(size_t i) const { return outputs_[i]; }
  size_t scratch_bytes() const { return scratch_bytes_; }
  bool is_taken(size_t i) const { return i < 32 && (taken_ >> i & 1) != 0; }
  int64_t max_memory() const {
    return max_memory_;
  }  ///< Returns the bytes that an output may need; 0: the memory of
     ///< the machine.
  void set_max_memory(int64_t bytes) { max_memory_ = bytes; }
  void set_layout(Layout layout) { layout_ = layout; }
  void set_post_ops(std::vector<PostOp> post_ops) { post_ops_ = std::move(post_ops); }
  void set_integers(const IntegerOperands* integers) { integers_ = integers; }
  const std::string& label() const { return label_; }

 private:
  const ir::Node& node_;
  std::string label_;
  int64_t opset_;
  std::vector<Spec> inputs_;
  std::vector<bool> present_;
  std::vector<Output> outputs_;
  std::vector<PostOp> post_ops_;
  const IntegerOperands* integers_ = nullptr;
  Layout layout_ = Layout::kPlain;
  size_t scratch_bytes_ = 0;
  int64_t max_memory_ = 0;
  uint32_t taken_ = 0;
};

/// Runs a prepared node once with the constants it was prepared with. Returns outputs in ONNX order on the heap. Fails
/// with kResource if the outputs need more than `max_memory` bytes (0: more than the machine has). REQUIRES: every
/// input whose data the kernel reads is constant; outputs are plain.
Result<std::vector<ir::Tensor>> run_prepared(const Prepare& prepare, const Kernel& kernel, int64_t max_memory = 0);

class Evaluation;  // exec/evaluation.h

/// One operator. Families list their operators at the end of their file; exec/op_def.cpp joins the lists. Operators
/// over tensors have `prepare`. Operators that contain nested graphs, or read or write sequences and optionals, have
/// `evaluate`, which runs between two stages of a session (ADR 0004). Operators with both use it only for such inputs.
struct OpDef {
  std::string_view name;
  std::string_view domain;  ///< "" for ai.onnx
  int since;                ///< First opset that this row applies to; the row with the largest `since` <= opset is
                            ///< used.
  LayoutRule rule;
  Result<Kernel> (*prepare)(Prepare&);
  bool shapes_only = false;  ///< Reads the shapes of its inputs, never their data: known at compile time.
  Status (*evaluate)(Evaluation&) = nullptr;
};

/// Returns the version of `domain` that the model imports, or 1 if it does not import the domain.
int64_t opset_of(const std::map<std::string, int64_t>& opsets, const std::string& domain);

/// Fails if `node` has more or fewer inputs or outputs than its operator allows. `label` is its name in messages.
/// Operators without a schema are accepted; their rows check.
Status check_arity(const ir::Node& node, int64_t opset, const std::string& label);

/// Returns the row for an operator at an opset of its domain, or null.
const OpDef* find_op(std::string_view name, std::string_view domain, int64_t opset);
/// Returns all rows, in table order.
std::vector<const OpDef*> all_ops();

// The operator families. Each is one list at the end of its file; a new family adds a line here and in op_def.cpp.

std::span<const OpDef> activation_ops();      // Relu, Clip, Sigmoid, ...: one input, one output, elementwise
std::span<const OpDef> bitwise_ops();         // BitShift, BitwiseAnd, ...
std::span<const OpDef> conv_ops();            // Conv, ConvTranspose
std::span<const OpDef> control_flow_ops();    // If, Loop, Scan
std::span<const OpDef> detection_ops();       // NonMaxSuppression
std::span<const OpDef> einsum_ops();          // Einsum
std::span<const OpDef> elementwise_ops();     // Add, Mul, comparisons, Where, Cast: broadcasting
std::span<const OpDef> fused_ops();           // com.microsoft: BiasGelu, FastGelu, FusedMatMul
std::span<const OpDef> gather_scatter_ops();  // Gather, ...
std::span<const OpDef> image_ops();           // AffineGrid, GridSample, RoiAlign, DeformConv, Col2Im
std::span<const OpDef> linear_algebra_ops();  // Det
std::span<const OpDef> matmul_ops();          // MatMul, Gemm
std::span<const OpDef> norm_ops();            // BatchNormalization, Softmax, ...
std::span<const OpDef> pool_ops();            // MaxPool, AveragePool, Global...
std::span<const OpDef> random_ops();          // RandomNormal, RandomUniform, Multinomial, ...
std::span<const OpDef>
quant_dequant_ops();  // QuantizeLinear, DequantizeLinear, their com.microsoft and com.amd.quark forms
std::span<const OpDef> recurrent_ops();  // RNN, GRU, LSTM, ExtendedLSTM
std::span<const OpDef> quantized_ops();  // QLinearConv, MatMulInteger, MatMulNBits, BFP and MX formats, ...
std::span<const OpDef> reduce_ops();     // ReduceMean, ArgMax, ...
std::span<const OpDef> resize_ops();     // Resize, Upsample, DepthToSpace, SpaceToDepth
std::span<const OpDef> rotary_ops();     // RotaryEmbedding
std::span<const OpDef> sequence_ops();   // SequenceAt, ..., Optional...
std::span<const OpDef> shape_ops();      // Shape, Reshape, Transpose, Concat, Split, Slice, Pad, ...
std::span<const OpDef> signal_ops();     // DFT, STFT, MelWeightMatrix
std::span<const OpDef> tfidf_ops();      // TfIdfVectorizer

Status identity_of_value(Evaluation& e);  // Identity of a sequence or an optional

}  // namespace quarkq::exec
