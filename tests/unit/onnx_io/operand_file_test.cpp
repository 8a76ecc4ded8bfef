// SPDX-License-Identifier: MIT
// The .pb files of ONNX test data: tensors, sequences and optionals, by the type of the value they are for.
#include "onnx_io/operand_file.h"

#include "onnx_io/library_schemas.h"
#include "onnx_io/proto.h"
#include "unit/onnx_io/io_test_support.h"

namespace quarkq::onnx_io {
namespace {

onnx::TensorProto one_float(float value) {
  onnx::TensorProto proto;
  proto.set_data_type(1);
  proto.add_float_data(value);
  return proto;
}

ir::ValueType type_for(const onnx::TypeProto& proto) {
  ir::ValueType type;
  type.other_type = proto.SerializeAsString();
  return type;
}

ir::ValueType tensor_type() { return {ElementType::kFloat, false, {}, {}}; }
ir::ValueType sequence_type() {
  onnx::TypeProto proto;
  proto.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);
  return type_for(proto);
}
ir::ValueType optional_type() {
  onnx::TypeProto proto;
  proto.mutable_optional_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);
  return type_for(proto);
}

Result<ir::Operand> parsed_operand(const google::protobuf::MessageLite& proto, const ir::ValueType& type) {
  const std::string bytes = proto.SerializeAsString();
  return parse_operand({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "input_0.pb", type);
}

TEST(OperandFileTest, TensorsAreReadAsStored) {
  const ir::Operand operand = parsed_operand(one_float(2.5f), tensor_type()).value();
  ASSERT_TRUE(operand.is_tensor());
  EXPECT_EQ(operand.tensor.rank(), 0);
  EXPECT_EQ(operand.tensor.data<float>()[0], 2.5f);
}

TEST(OperandFileTest, SequencesKeepTheirOrder) {
  onnx::SequenceProto proto;
  EXPECT_TRUE(parsed_operand(proto, sequence_type()).value().sequence.empty());
  proto.set_elem_type(onnx::SequenceProto::TENSOR);
  for (const float value : {3.0f, 1.0f, 2.0f}) *proto.add_tensor_values() = one_float(value);
  const ir::Operand operand = parsed_operand(proto, sequence_type()).value();
  ASSERT_TRUE(operand.is_sequence());
  ASSERT_EQ(operand.sequence.size(), 3u);
  EXPECT_EQ(operand.sequence[0].data<float>()[0], 3.0f);
  EXPECT_EQ(operand.sequence[2].data<float>()[0], 2.0f);
}

TEST(OperandFileTest, OptionalsAreTheirValueOrNothing) {
  onnx::OptionalProto proto;
  EXPECT_EQ(parsed_operand(proto, optional_type()).value().kind, ir::Operand::Kind::kNone);
  proto.set_elem_type(onnx::OptionalProto::TENSOR);
  *proto.mutable_tensor_value() = one_float(4);
  EXPECT_EQ(parsed_operand(proto, optional_type()).value().tensor.data<float>()[0], 4.0f);
  proto.clear_tensor_value();
  proto.set_elem_type(onnx::OptionalProto::SEQUENCE);
  *proto.mutable_sequence_value()->add_tensor_values() = one_float(5);
  const ir::Operand sequence = parsed_operand(proto, optional_type()).value();
  ASSERT_TRUE(sequence.is_sequence());
  EXPECT_EQ(sequence.sequence[0].data<float>()[0], 5.0f);
}

TEST(OperandFileTest, WhatIsNoSuchValueIsRefusedWithItsName) {
  onnx::SequenceProto maps;
  maps.set_elem_type(onnx::SequenceProto::MAP);
  onnx::OptionalProto map;
  map.set_elem_type(onnx::OptionalProto::MAP);
  onnx::TypeProto map_type;
  map_type.mutable_map_type()->set_key_type(7);
  onnx::TensorProto cut = one_float(1);
  cut.add_dims(3);
  onnx::TensorProto outside = one_float(1);
  outside.set_data_location(onnx::TensorProto::EXTERNAL);
  struct Row {
    Result<ir::Operand> result;
    Code code;
    const char* message;
  };
  const Row rows[] = {
      {parsed_operand(maps, sequence_type()), Code::kUnsupported, "a sequence of values other than tensors"},
      {parsed_operand(map, optional_type()), Code::kUnsupported,
       "an optional of a value other than a tensor or a sequence of tensors"},
      {parsed_operand(one_float(1), type_for(map_type)), Code::kUnsupported,
       "a value that is neither a tensor, a sequence nor an optional"},
      {parsed_operand(cut, tensor_type()), Code::kCorruptModel, "tensor '': holds 1 data entries"},
      {parsed_operand(onnx::TensorProto(), tensor_type()), Code::kCorruptModel, "element type is undefined"},
      {parsed_operand(outside, tensor_type()), Code::kUnsupported, "external data"},
  };
  for (const Row& row : rows) {
    ASSERT_FALSE(row.result.ok()) << row.message;
    EXPECT_EQ(row.result.status().code(), row.code) << row.result.status().message();
    EXPECT_EQ(row.result.status().message().find("input_0.pb: "), 0u) << row.result.status().message();
    EXPECT_NE(row.result.status().message().find(row.message), std::string::npos) << row.result.status().message();
  }
}

using OperandFileScratchTest = ScratchTest;

TEST_F(OperandFileScratchTest, FilesAreReadAndDamageIsBadData) {
  const std::string good = one_float(6).SerializeAsString();
  EXPECT_EQ(load_operand(write("a.pb", good), tensor_type()).value().tensor.data<float>()[0], 6.0f);
  EXPECT_EQ(load_operand(at("none.pb"), tensor_type()).status().code(), Code::kInvalidArgument);
  const Result<ir::Operand> text = load_operand(write("b.pb", "this is text"), tensor_type());
  EXPECT_EQ(text.status().code(), Code::kBadData);
  EXPECT_EQ(text.status().message(), at("b.pb") + ": no serialized onnx.TensorProto");
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_FALSE(load_operand(write("c.pb", good.substr(0, size)), tensor_type()).ok()) << size;
  }
}

}  // namespace
}  // namespace quarkq::onnx_io
