// SPDX-License-Identifier: MIT
#include "onnx_io/proto.h"

#include <cstring>

#include "io_test_support.h"

namespace quarkq::onnx_io {
namespace {

ir::Tensor taken(onnx::TensorProto proto) {
  ExternalFiles external("");
  Result<ir::Tensor> tensor = take_tensor(proto, external);
  EXPECT_TRUE(tensor.ok()) << tensor.status().message();
  return tensor.ok() ? tensor.value() : ir::Tensor();
}

onnx::TensorProto proto_of(ElementType type, int64_t count) {
  onnx::TensorProto proto;
  proto.set_data_type(static_cast<int32_t>(type));
  proto.add_dims(count);
  return proto;
}

std::string hex(const ir::Tensor& tensor) {
  std::string text;
  for (int64_t i = 0; i < tensor.bytes(); ++i) {
    char pair[3];
    std::snprintf(pair, sizeof pair, "%02x", static_cast<unsigned>(tensor.raw()[i]));
    text += pair;
  }
  return text;
}

struct NarrowRow {
  ElementType type;
  int64_t count;
  std::vector<int32_t> entries;
  const char* bytes;
};

TEST(TensorProtoTest, PacksInt32DataOfSmallTypes) {
  const NarrowRow rows[] = {
      {ElementType::kInt32, 2, {-1, 2}, "ffffffff02000000"},
      {ElementType::kInt8, 2, {-128, 127}, "807f"},
      {ElementType::kUInt8, 2, {0, 255}, "00ff"},
      {ElementType::kInt16, 2, {-1, 258}, "ffff0201"},
      {ElementType::kUInt16, 1, {65535}, "ffff"},
      {ElementType::kBool, 3, {1, 0, 5}, "010001"},
      {ElementType::kFloat16, 1, {0x3C00}, "003c"},
      {ElementType::kBFloat16, 1, {0x3F80}, "803f"},
      {ElementType::kFloat8E4M3Fn, 2, {0x7F, 0x80}, "7f80"},
      {ElementType::kFloat8E8M0, 1, {127}, "7f"},
      {ElementType::kUInt4, 3, {0x21, 0x03}, "2103"},
      {ElementType::kInt4, 2, {0xF8}, "f8"},
      {ElementType::kFloat4E2M1, 1, {0x07}, "07"},
      {ElementType::kUInt2, 5, {0xE4, 0x01}, "e401"},
      {ElementType::kInt2, 2, {0x0E}, "0e"},
      {ElementType::kFloat6E2M3, 4, {0x01, 0x3F, 0x20, 0x15}, "c10f56"},
      {ElementType::kFloat6E3M2, 1, {0x1F}, "1f"},
  };
  for (const NarrowRow& row : rows) {
    onnx::TensorProto proto = proto_of(row.type, row.count);
    for (const int32_t entry : row.entries) proto.add_int32_data(entry);
    EXPECT_EQ(hex(taken(proto)), row.bytes) << name(row.type);
  }
}

TEST(TensorProtoTest, TakesTheWideFields) {
  onnx::TensorProto floats = proto_of(ElementType::kFloat, 1);
  floats.add_float_data(1.0f);
  EXPECT_EQ(hex(taken(floats)), "0000803f");
  onnx::TensorProto complex = proto_of(ElementType::kComplex64, 1);
  complex.add_float_data(1.0f);
  complex.add_float_data(0.0f);
  EXPECT_EQ(hex(taken(complex)), "0000803f00000000");
  onnx::TensorProto doubles = proto_of(ElementType::kDouble, 1);
  doubles.add_double_data(1.0);
  EXPECT_EQ(hex(taken(doubles)), "000000000000f03f");
  onnx::TensorProto longs = proto_of(ElementType::kInt64, 1);
  longs.add_int64_data(-1);
  EXPECT_EQ(hex(taken(longs)), "ffffffffffffffff");
  onnx::TensorProto words = proto_of(ElementType::kUInt32, 1);
  words.add_uint64_data(0xFFFFFFFFu);
  EXPECT_EQ(hex(taken(words)), "ffffffff");
  onnx::TensorProto strings = proto_of(ElementType::kString, 2);
  strings.add_string_data("a");
  strings.add_string_data("");
  EXPECT_EQ(taken(strings).strings(), (std::vector<std::string>{"a", ""}));
}

TEST(TensorProtoTest, RefusesAUint32ThatIsTooLarge) {
  onnx::TensorProto words = proto_of(ElementType::kUInt32, 1);
  words.add_uint64_data(uint64_t{1} << 32);
  ExternalFiles external("");
  EXPECT_FALSE(take_tensor(words, external).ok());
}

TEST(TensorProtoTest, TakesRawDataWithoutCopying) {
  onnx::TensorProto proto = proto_of(ElementType::kFloat, 100);
  proto.set_raw_data(std::string(400, 'x'));
  const void* before = proto.raw_data().data();
  ExternalFiles external("");
  const ir::Tensor tensor = take_tensor(proto, external).value();
  EXPECT_EQ(static_cast<const void*>(tensor.raw()), before);
  EXPECT_EQ(proto.ByteSizeLong(), 0u);
}

TEST(TensorProtoTest, TakesEmptyAndScalarTensors) {
  EXPECT_EQ(taken(proto_of(ElementType::kFloat, 0)).size(), 0);
  onnx::TensorProto scalar;
  scalar.set_data_type(static_cast<int32_t>(ElementType::kInt64));
  scalar.add_int64_data(5);
  EXPECT_EQ(taken(scalar).data<int64_t>()[0], 5);
  EXPECT_EQ(taken(scalar).rank(), 0);
}

TEST(TensorProtoTest, CopiesWhatIsNotAligned) {
  const auto owner = std::make_shared<std::string>(17, 'y');
  const auto* data = reinterpret_cast<const std::byte*>(owner->data());
  const auto* odd = data + (reinterpret_cast<uintptr_t>(data) % 8 == 0 ? 1 : 0);
  const ir::Tensor tensor = adopt_or_copy(ElementType::kDouble, {2}, owner, odd);
  EXPECT_NE(tensor.raw(), odd);
  EXPECT_EQ(std::memcmp(tensor.raw(), odd, 16), 0);
}

TEST(TensorProtoTest, WritesWhatItReads) {
  for (int32_t wire = 1; wire <= 24; ++wire) {
    const ElementType type = *element_type_from_wire(wire);
    if (type == ElementType::kString) continue;
    ir::Tensor tensor = ir::Tensor::zeros(type, {3});
    std::memset(tensor.mutable_raw(), 1, static_cast<size_t>(tensor.bytes()));
    onnx::TensorProto proto;
    put_tensor(tensor, proto);
    EXPECT_TRUE(taken(proto).same_as(tensor)) << name(type);
  }
}

TEST(TensorProtoTest, KeepsTypesAndTheirRests) {
  onnx::ValueInfoProto info;
  info.set_name("x");
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(1);
  tensor.mutable_shape()->add_dim()->set_dim_param("N");
  tensor.mutable_shape()->add_dim()->set_dim_value(3);
  tensor.mutable_shape()->add_dim();
  const std::string plain = info.SerializeAsString();
  const ir::ValueType type = take_type(info).value();
  EXPECT_EQ(ir::type_text(type), "FLOAT[N,3,?]");
  EXPECT_FALSE(info.has_type());
  put_type(type, info);
  EXPECT_EQ(info.SerializeAsString(), plain);

  info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_denotation("CHANNEL");
  info.mutable_type()->set_denotation("IMAGE");
  const std::string rich = info.SerializeAsString();
  ir::ValueType again = take_type(info).value();
  EXPECT_TRUE(info.has_type());
  put_type(again, info);
  EXPECT_EQ(info.SerializeAsString(), rich);
}

}  // namespace
}  // namespace quarkq::onnx_io
