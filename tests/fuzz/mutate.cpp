// SPDX-License-Identifier: MIT
// Spoils models where it hurts: byte flips mostly end in the parser, so the message is changed as a message.
#include <onnx/onnx_pb.h>

#include <random>

#include "fuzz/fuzz_run.h"

namespace quarkq::fuzz {
namespace {

constexpr int64_t kNumbers[] = {
    0,   1,   -1,   2,     3,       -2,        5,         7,         8,         16,        64,        127,
    255, 256, 1000, -1000, 1 << 20, 1LL << 31, 1LL << 33, 1LL << 47, 1LL << 62, INT64_MAX, INT64_MIN, -(1LL << 33)};
constexpr float kFloats[] = {0.0f, 1.0f, -1.0f, 0.5f, 1e30f, -1e30f, 1e-40f, __builtin_inff(), __builtin_nanf("")};
constexpr const char* kWords[] = {"",
                                  "NOTSET",
                                  "SAME_UPPER",
                                  "SAME_LOWER",
                                  "VALID",
                                  "linear",
                                  "nearest",
                                  "cubic",
                                  "reverse",
                                  "bidirectional",
                                  "forward",
                                  "Relu",
                                  "Tanh",
                                  "wrap",
                                  "reflect",
                                  "edge",
                                  "constant",
                                  "sum",
                                  "mean",
                                  "none",
                                  "align_corners",
                                  "tf_crop_and_resize",
                                  "max"};

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}
  void spoil(onnx::ModelProto& model) {
    const int changes = 1 + below(3);
    for (int i = 0; i < changes; ++i) {
      if (below(12) == 0 && model.opset_import_size() > 0) {
        model.mutable_opset_import(below(model.opset_import_size()))->set_version(1 + below(24));
      } else {
        spoil(*model.mutable_graph());
      }
    }
  }
  int below(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }

 private:
  int64_t number() { return below(3) == 0 ? below(12) - 4 : kNumbers[below(std::size(kNumbers))]; }
  float real() { return kFloats[below(std::size(kFloats))]; }

  void spoil(onnx::GraphProto& graph) {
    switch (below(5)) {
      case 0:
        if (graph.initializer_size() > 0) return spoil(*graph.mutable_initializer(below(graph.initializer_size())));
        [[fallthrough]];
      case 1:
        if (graph.input_size() > 0) return spoil(*graph.mutable_input(below(graph.input_size())));
        [[fallthrough]];
      default:
        if (graph.node_size() > 0) spoil(*graph.mutable_node(below(graph.node_size())), graph);
    }
  }

  void spoil(onnx::ValueInfoProto& info) {
    auto& type = *info.mutable_type()->mutable_tensor_type();
    if (below(3) == 0) return type.set_elem_type(1 + below(24));
    auto& shape = *type.mutable_shape();
    if (below(4) == 0)
      shape.add_dim()->set_dim_value(1 + below(4));
    else if (below(4) == 0 && shape.dim_size() > 0)
      shape.mutable_dim()->RemoveLast();
    else if (shape.dim_size() > 0)
      shape.mutable_dim(below(shape.dim_size()))->set_dim_value(below(10));
  }

  void spoil(onnx::TensorProto& tensor) {
    if (tensor.data_type() == onnx::TensorProto::INT64 && below(2) == 0) {
      const int64_t value = number();
      if (tensor.int64_data_size() > 0) return tensor.set_int64_data(below(tensor.int64_data_size()), value);
      if (tensor.raw_data().size() >= 8) {
        const size_t at = static_cast<size_t>(below(static_cast<int>(tensor.raw_data().size() / 8))) * 8;
        tensor.mutable_raw_data()->replace(at, 8, reinterpret_cast<const char*>(&value), 8);
        return;
      }
    }
    if (below(3) == 0 && !tensor.raw_data().empty()) {
      (*tensor.mutable_raw_data())[static_cast<size_t>(below(static_cast<int>(tensor.raw_data().size())))] =
          static_cast<char>(below(256));
    } else if (below(3) == 0) {
      tensor.set_data_type(1 + below(24));
    } else if (tensor.dims_size() > 0) {
      tensor.set_dims(below(tensor.dims_size()), number());
    } else {
      tensor.add_dims(1);
    }
  }

  void spoil(onnx::NodeProto& node, const onnx::GraphProto& graph) {
    switch (below(8)) {
      case 0:
        if (node.input_size() > 0) node.mutable_input(below(node.input_size()))->clear();
        return;
      case 1:
        if (node.input_size() > 1) node.mutable_input()->RemoveLast();
        return;
      case 2:
        if (node.input_size() > 0) node.set_input(below(node.input_size()), some_value(graph));
        return;
      case 3: return node.add_input(some_value(graph));
      case 4:
        if (node.attribute_size() > 0) node.mutable_attribute()->RemoveLast();
        return;
      default:
        if (node.attribute_size() > 0) spoil(*node.mutable_attribute(below(node.attribute_size())));
    }
  }

  std::string some_value(const onnx::GraphProto& graph) {
    if (graph.initializer_size() > 0 && below(2) == 0) return graph.initializer(below(graph.initializer_size())).name();
    if (graph.node_size() > 0 && below(3) == 0) {
      const auto& node = graph.node(below(graph.node_size()));
      if (node.output_size() > 0) return node.output(below(node.output_size()));
    }
    return graph.input_size() > 0 ? graph.input(below(graph.input_size())).name() : std::string();
  }

  void spoil(onnx::AttributeProto& attribute) {
    if (attribute.has_g()) return spoil(*attribute.mutable_g());
    if (attribute.has_t()) return spoil(*attribute.mutable_t());
    if (attribute.ints_size() > 0) {
      if (below(4) == 0) return attribute.add_ints(number());
      if (below(4) == 0) return attribute.mutable_ints()->RemoveLast();
      return attribute.set_ints(below(attribute.ints_size()), number());
    }
    if (attribute.floats_size() > 0) return attribute.set_floats(below(attribute.floats_size()), real());
    if (attribute.has_f()) return attribute.set_f(real());
    if (attribute.has_s()) return attribute.set_s(kWords[below(std::size(kWords))]);
    if (attribute.has_i()) attribute.set_i(number());
  }

  std::mt19937 random_;
};

}  // namespace

std::string mutate(const uint8_t* data, size_t size, uint32_t seed) {
  Mutator mutator(seed);
  onnx::ModelProto model;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (mutator.below(50) != 0 && model.ParseFromString(bytes)) {
    mutator.spoil(model);
    return model.SerializeAsString();
  }
  if (!bytes.empty()) {
    bytes[static_cast<size_t>(mutator.below(static_cast<int>(bytes.size())))] = static_cast<char>(mutator.below(256));
  }
  return bytes;
}

}  // namespace quarkq::fuzz
