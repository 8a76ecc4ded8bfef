// SPDX-License-Identifier: MIT
#include "qdq/write/nbits_writer.h"

#include <utility>

#include "ir/constants.h"
#include "ir/quantizing_ops.h"
#include "plan/constant_codes.h"

namespace quarkq::qdq {
namespace {

std::vector<uint8_t> integers(const std::vector<float>& values) { return {values.begin(), values.end()}; }

/// Element types of stored integers. Symmetric ones are signed and need no zero points.
ElementType type_of_codes(const PackedMatrix& packed) {
  if (packed.shape.stored_bits() == 8) return packed.has_zeros ? ElementType::kUInt8 : ElementType::kInt8;
  return packed.has_zeros ? ElementType::kUInt4 : ElementType::kInt4;
}

/// Codes [depth, columns] of 4 or 8 bits; signed ones count from the middle code.
std::vector<int32_t> codes_in_rows(const PackedMatrix& packed) {
  const NBitsShape& shape = packed.shape;
  const int bits = shape.stored_bits(), middle = packed.has_zeros ? 0 : 1 << (bits - 1);
  const int64_t column_bytes = shape.blocks() * shape.block_bytes();
  std::vector<int32_t> codes(static_cast<size_t>(shape.depth * shape.columns));
  for (int64_t c = 0; c < shape.columns; ++c) {
    const uint8_t* const column = packed.weight.codes.data() + c * column_bytes;
    for (int64_t k = 0; k < shape.depth; ++k) {
      const int32_t code = bits == 8 ? column[k] : (column[k / 2] >> (k % 2 * 4)) & 15;
      codes[static_cast<size_t>(k * shape.columns + c)] = code - middle;
    }
  }
  return codes;
}

/// [columns, blocks] as [blocks, columns].
template <typename T>
std::vector<T> in_rows(const std::vector<float>& values, const NBitsShape& shape) {
  std::vector<T> made(values.size());
  for (int64_t c = 0; c < shape.columns; ++c) {
    for (int64_t b = 0; b < shape.blocks(); ++b)
      made[static_cast<size_t>(b * shape.columns + c)] =
          static_cast<T>(values[static_cast<size_t>(c * shape.blocks() + b)]);
  }
  return made;
}

std::string named(const std::string& name, const std::string& suffix) { return name.empty() ? "" : name + suffix; }

}  // namespace

std::string nbits_suffix(const NBitsShape& shape) { return cat("_Q", shape.stored_bits()); }

std::vector<ir::ValueId> NBitsWriter::store(ir::ValueId weight, const PackedMatrix& packed) {
  const std::string name = graph_.value(weight).name;
  const ElementType type = graph_.value(weight).constant->type();
  const NBitsShape& shape = packed.shape;
  const int64_t blocks = shape.blocks();
  std::vector<ir::ValueId> stored = {edit_.add_initializer(
      name + nbits_suffix(shape),
      ir::Tensor::from<uint8_t>({shape.columns, blocks, shape.block_bytes()}, packed.weight.codes))};
  const ir::Shape dims =
      packed.scales_are_matrix ? ir::Shape{shape.columns, blocks} : ir::Shape{shape.columns * blocks};
  stored.push_back(edit_.add_initializer(name + "_scales", ir::store_floats(packed.weight.scales, type, dims)));
  if (!packed.has_zeros) return stored;
  ir::Tensor zeros;
  if (packed.zeros_are_real) {
    zeros = ir::store_floats(packed.weight.zeros, type, dims);
  } else {
    const int bits = shape.stored_bits();
    const int64_t bytes = (blocks * bits + 7) / 8;
    zeros = ir::Tensor::from<uint8_t>(
        packed.scales_are_matrix ? ir::Shape{shape.columns, bytes} : ir::Shape{shape.columns * bytes},
        pack_rows(integers(packed.weight.zeros), blocks, bits, static_cast<uint8_t>(1 << (bits - 1))));
  }
  stored.push_back(edit_.add_initializer(name + "_zero_points", std::move(zeros)));
  return stored;
}

void NBitsWriter::write_products(const std::vector<ir::ValueId>& stored, const NBitsShape& shape,
                                 const std::vector<ir::NodeId>& nodes) {
  for (const ir::NodeId id : nodes) {
    const ir::Node node = graph_.node(id);
    ir::NodeSpec spec{"MatMulNBits", ir::kMicrosoftDomain, named(node.name, nbits_suffix(shape)), {node.input(0)}, {}};
    spec.inputs.insert(spec.inputs.end(), stored.begin(), stored.end());
    const auto attribute = [&](const char* name, int64_t value) { spec.attributes.push_back({name, value, {}, {}}); };
    attribute("K", shape.depth);
    attribute("N", shape.columns);
    if (options_.writes_accuracy_level) attribute("accuracy_level", options_.accuracy_level);
    attribute("bits", shape.stored_bits());
    attribute("block_size", shape.block);
    spec.origins = node.origins;
    const ir::NodeId made = edit_.add_node(std::move(spec), id);
    edit_.remove_node(id);
    edit_.set_output(made, 0, node.output(0));
  }
}

void NBitsWriter::write_qdq(ir::ValueId weight, const PackedMatrix& packed, const std::vector<ir::NodeId>& nodes) {
  const ir::Value value = graph_.value(weight);  // a copy: added values move those of the graph
  const std::string& name = value.name;
  const ElementType type = value.constant->type();
  const NBitsShape& shape = packed.shape;
  const ElementType codes = type_of_codes(packed);
  const ir::Shape dims = {shape.depth, shape.columns}, grid = {shape.blocks(), shape.columns};
  std::vector<ir::ValueId> inputs = {
      edit_.add_initializer(name + nbits_suffix(shape), plan::store_codes(codes_in_rows(packed), codes, dims)),
      edit_.add_initializer(name + "_scales",
                            ir::store_floats(in_rows<float>(packed.weight.scales, shape), type, grid))};
  if (packed.has_zeros) {
    inputs.push_back(edit_.add_initializer(
        name + "_zero_points", plan::store_codes(in_rows<int32_t>(packed.weight.zeros, shape), codes, grid)));
  }
  ir::NodeSpec spec{"DequantizeLinear", "", name + "_DequantizeLinear", std::move(inputs), {}};
  spec.attributes.push_back({"axis", int64_t{0}, {}, {}});
  spec.attributes.push_back({"block_size", shape.block, {}, {}});
  spec.origins = graph_.node(nodes.front()).origins;
  const ir::ValueId real = edit_.add_value(name + "_dequantized", value.type);
  const ir::NodeId made = edit_.add_node(std::move(spec), nodes.front());
  edit_.set_output(made, 0, real);
  for (const ir::NodeId id : nodes) edit_.set_input(id, 1, real);
}

void NBitsWriter::write(ir::ValueId weight, const PackedMatrix& packed, const std::vector<ir::NodeId>& nodes) {
  if (options_.form == config::NBitsForm::kQdq) return write_qdq(weight, packed, nodes);
  write_products(store(weight, packed), packed.shape, nodes);
}

}  // namespace quarkq::qdq
