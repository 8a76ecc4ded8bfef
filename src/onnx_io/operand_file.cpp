// SPDX-License-Identifier: MIT
#include "onnx_io/operand_file.h"

#include <climits>

#include "base/file_system.h"

#include "onnx_io/library_schemas.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {
namespace {

template <typename Proto>
Result<Proto> parse(std::string_view bytes) {
  Proto proto;
  if (!parse_proto(bytes.data(), bytes.size(), proto)) return bad_data("no serialized ", Proto().GetTypeName());
  return proto;
}

Result<ir::Operand> operand_of(onnx::TensorProto& proto) {
  ExternalFiles no_files("");
  QQ_TRY(ir::Tensor tensor, take_tensor(proto, no_files));
  return ir::Operand(std::move(tensor));
}

Result<ir::Operand> operand_of(onnx::SequenceProto& proto) {
  if (proto.elem_type() != onnx::SequenceProto::TENSOR && proto.elem_type() != onnx::SequenceProto::UNDEFINED) {
    return unsupported("a sequence of values other than tensors");
  }
  std::vector<ir::Tensor> elements;
  for (onnx::TensorProto& element : *proto.mutable_tensor_values()) {
    QQ_TRY(ir::Operand operand, operand_of(element));
    elements.push_back(std::move(operand.tensor));
  }
  return ir::Operand::of_sequence(std::move(elements));
}

Result<ir::Operand> operand_of(onnx::OptionalProto& proto) {
  switch (proto.elem_type()) {
    case onnx::OptionalProto::UNDEFINED: return ir::Operand();
    case onnx::OptionalProto::TENSOR: return operand_of(*proto.mutable_tensor_value());
    case onnx::OptionalProto::SEQUENCE: return operand_of(*proto.mutable_sequence_value());
    default: return unsupported("an optional of a value other than a tensor or a sequence of tensors");
  }
}

template <typename Proto>
Result<ir::Operand> load_as(std::string_view bytes) {
  QQ_TRY(Proto proto, parse<Proto>(bytes));
  return operand_of(proto);
}

Result<ir::Operand> load_typed(std::string_view bytes, const ir::ValueType& type) {
  if (type.other_type.empty()) return load_as<onnx::TensorProto>(bytes);
  onnx::TypeProto proto;
  merge_rest(type.other_type, proto);
  if (proto.has_sequence_type()) return load_as<onnx::SequenceProto>(bytes);
  if (proto.has_optional_type()) return load_as<onnx::OptionalProto>(bytes);
  return unsupported("a value that is neither a tensor, a sequence nor an optional");
}

}  // namespace

Result<ir::Operand> load_operand(const std::string& path, const ir::ValueType& type) {
  const auto file = MappedFile::open(path);
  if (!file.ok()) return invalid_argument(file.status().message());
  return parse_operand({file.value()->data(), file.value()->size()}, path, type);
}

Result<ir::Operand> parse_operand(std::span<const std::byte> bytes, const std::string& name,
                                  const ir::ValueType& type) {
  if (bytes.size() > static_cast<size_t>(INT_MAX)) return unsupported(name, ": more than ", INT_MAX, " bytes");
  return load_typed({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, type).context(name);
}

}  // namespace quarkq::onnx_io
