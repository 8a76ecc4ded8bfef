// SPDX-License-Identifier: MIT
// AttributeProto there and back: every kind, what old and odd writers leave out, and values that change their kind.
#include <cmath>

#include "onnx_io/export_model.h"
#include "onnx_io/import_graph.h"
#include "unit/onnx_io/io_test_support.h"

namespace quarkq::onnx_io {
namespace {

using Kind = onnx::AttributeProto;

Result<ir::Attribute> taken_attribute(Kind proto) {
  ExternalFiles external("");
  const AttributeContext context{external, [](onnx::GraphProto& graph) -> Result<ir::GraphPtr> {
                                   if (graph.name() == "bad") return corrupt_model("no such graph");
                                   auto made = std::make_shared<ir::Graph>();
                                   made->name = graph.name();
                                   return ir::GraphPtr(std::move(made));
                                 }};
  return take_attribute(proto, context);
}

std::string put_back(const ir::Attribute& attribute) {
  const ir::Graph graph;
  const ir::Node node;
  const ValueNames names(graph);
  Kind proto;
  put_attribute(attribute, {node, names, Rests::kKeep}, proto);
  std::string bytes;
  EXPECT_TRUE(proto.SerializePartialToString(&bytes));
  return bytes;
}

onnx::TensorProto small_tensor(float value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(1);
  tensor.set_raw_data(std::string(reinterpret_cast<const char*>(&value), 4));
  return tensor;
}

/// One attribute of each kind, named "a".
std::vector<Kind> every_kind() {
  std::vector<Kind> all(12);
  all[0].set_type(Kind::FLOAT), all[0].set_f(-0.0f);
  all[1].set_type(Kind::INT), all[1].set_i(INT64_MIN);
  all[2].set_type(Kind::STRING), all[2].set_s(std::string("\0\xFF", 2));
  all[3].set_type(Kind::FLOATS), all[3].add_floats(1), all[3].add_floats(2);
  all[4].set_type(Kind::INTS), all[4].add_ints(-1), all[4].add_ints(INT64_MAX);
  all[5].set_type(Kind::STRINGS), all[5].add_strings(""), all[5].add_strings("b");
  all[6].set_type(Kind::TENSOR), *all[6].mutable_t() = small_tensor(3);
  all[7].set_type(Kind::TENSORS), *all[7].add_tensors() = small_tensor(4), *all[7].add_tensors() = small_tensor(5);
  all[8].set_type(Kind::INTS);  // empty lists keep their kind
  all[9].set_type(Kind::SPARSE_TENSOR), *all[9].mutable_sparse_tensor()->mutable_values() = small_tensor(6);
  all[10].set_type(Kind::TYPE_PROTO), all[10].mutable_tp()->mutable_tensor_type()->set_elem_type(1);
  all[11].set_ref_attr_name("outer"), all[11].set_type(Kind::FLOAT);
  for (Kind& proto : all) proto.set_name("a");
  return all;
}

TEST(AttributeProtoTest, EveryKindComesBackAsItWas) {
  for (const Kind& proto : every_kind()) {
    Kind documented = proto;
    documented.set_doc_string("what it is for");
    for (const Kind& one : {proto, documented}) {
      const Result<ir::Attribute> attribute = taken_attribute(one);
      ASSERT_TRUE(attribute.ok()) << one.ShortDebugString() << ": " << attribute.status().message();
      EXPECT_EQ(attribute.value().name, "a");
      EXPECT_EQ(put_back(attribute.value()), one.SerializeAsString()) << one.ShortDebugString();
    }
  }
}

TEST(AttributeProtoTest, TypedValuesAreOfTheirKind) {
  const std::vector<Kind> all = every_kind();
  EXPECT_TRUE(std::signbit(std::get<float>(taken_attribute(all[0]).value().value)));
  EXPECT_EQ(std::get<int64_t>(taken_attribute(all[1]).value().value), INT64_MIN);
  EXPECT_EQ(std::get<std::string>(taken_attribute(all[2]).value().value), std::string("\0\xFF", 2));
  EXPECT_EQ(std::get<std::vector<int64_t>>(taken_attribute(all[4]).value().value),
            (std::vector<int64_t>{-1, INT64_MAX}));
  EXPECT_EQ(std::get<ir::Tensor>(taken_attribute(all[6]).value().value).data<float>()[0], 3.0f);
  EXPECT_EQ(std::get<std::vector<ir::Tensor>>(taken_attribute(all[7]).value().value)[1].data<float>()[0], 5.0f);
  EXPECT_TRUE(std::get<std::vector<int64_t>>(taken_attribute(all[8]).value().value).empty());
  for (const size_t i : {size_t{9}, size_t{10}, size_t{11}}) {
    EXPECT_TRUE(std::holds_alternative<ir::OpaqueAttribute>(taken_attribute(all[i]).value().value)) << i;
  }
  EXPECT_EQ(taken_attribute(all[11]).value().reference, "outer");
}

/// Files of before the field `type` existed.
TEST(AttributeProtoTest, WithoutATypeTheFieldThatIsSetTells) {
  for (const Kind& proto : every_kind()) {
    if (proto.type() == Kind::SPARSE_TENSOR || proto.type() == Kind::TYPE_PROTO || !proto.ref_attr_name().empty())
      continue;
    Kind old = proto;
    old.clear_type();
    const Result<ir::Attribute> found = taken_attribute(old), wanted = taken_attribute(proto);
    ASSERT_TRUE(found.ok()) << found.status().message();
    const bool is_empty_list = proto.type() == Kind::INTS && proto.ints_size() == 0;
    if (is_empty_list) {
      EXPECT_TRUE(std::holds_alternative<ir::OpaqueAttribute>(found.value().value)) << "nothing says what it is";
    } else {
      EXPECT_EQ(found.value().value.index(), wanted.value().value.index()) << proto.ShortDebugString();
    }
  }
  Kind graph;
  graph.set_name("a");
  graph.mutable_g()->set_name("body");
  EXPECT_EQ(std::get<ir::GraphPtr>(taken_attribute(graph).value().value)->name, "body");
  Kind graphs;
  graphs.set_name("a");
  graphs.add_graphs()->set_name("first");
  graphs.add_graphs()->set_name("second");
  EXPECT_EQ(std::get<std::vector<ir::GraphPtr>>(taken_attribute(graphs).value().value)[1]->name, "second");
}

TEST(AttributeProtoTest, RefusalsNameTheAttribute) {
  Kind nameless;
  nameless.set_type(Kind::INT);
  EXPECT_EQ(taken_attribute(nameless).status().message(), "an attribute has no name");
  Kind spoiled = every_kind()[6];
  spoiled.mutable_t()->add_dims(2);
  EXPECT_EQ(taken_attribute(spoiled).status().message(),
            "attribute a: tensor '': holds 4 bytes of raw data, its shape and type FLOAT need 8");
  Kind list = every_kind()[7];
  list.mutable_tensors(1)->set_data_type(0);
  EXPECT_EQ(taken_attribute(list).status().message(), "attribute a: tensor '': element type is undefined");
  Kind nested;
  nested.set_name("a");
  nested.set_type(Kind::GRAPH);
  nested.mutable_g()->set_name("bad");
  EXPECT_EQ(taken_attribute(nested).status().message(), "attribute a: no such graph");
  nested.set_type(Kind::GRAPHS);
  *nested.add_graphs() = nested.g();
  EXPECT_EQ(taken_attribute(nested).status().code(), Code::kCorruptModel);
}

/// A pass that replaces a value leaves what the file said beside it, but nothing of the old value.
TEST(AttributeProtoTest, AValueThatBecameAnotherKindIsWrittenAsThat) {
  Kind source = every_kind()[6];
  source.mutable_t()->set_doc_string("of the tensor");
  source.set_doc_string("of the attribute");
  const ir::Attribute tensor = taken_attribute(source).value();
  const std::vector<ir::AttributeValue> others = {int64_t{7},
                                                  2.5f,
                                                  std::string("s"),
                                                  std::vector<int64_t>{1},
                                                  std::vector<float>{1},
                                                  std::vector<std::string>{"x"},
                                                  std::vector<ir::Tensor>{ir::Tensor::scalar(1.0f)}};
  for (const ir::AttributeValue& value : others) {
    ir::Attribute changed = tensor;
    changed.value = value;
    Kind written;
    ASSERT_TRUE(parse_proto(put_back(changed).data(), put_back(changed).size(), written));
    EXPECT_FALSE(written.has_t()) << written.ShortDebugString();
    EXPECT_EQ(written.doc_string(), "of the attribute");
    EXPECT_EQ(taken_attribute(written).value().value.index(), value.index());
  }
}

/// Fields of two kinds in one attribute: the declared kind is read, and the rest is no second value.
TEST(AttributeProtoTest, ATensorBesideTheDeclaredValueIsDropped) {
  Kind both = every_kind()[1];
  *both.mutable_t() = small_tensor(3);
  *both.add_tensors() = small_tensor(4);
  const ir::Attribute attribute = taken_attribute(both).value();
  EXPECT_EQ(std::get<int64_t>(attribute.value), INT64_MIN);
  EXPECT_EQ(put_back(attribute), every_kind()[1].SerializeAsString());
}

TEST(AttributeProtoTest, ConstantsOfEveryFormAreTensors) {
  const auto unified = [](const std::string& name, ir::AttributeValue value) {
    ir::Attribute attribute{name, std::move(value), {}, {}};
    unify_constant_value(attribute);
    return attribute;
  };
  const ir::Attribute floats = unified("value_floats", std::vector<float>{1, 2});
  EXPECT_EQ(floats.name, "value");
  EXPECT_EQ(std::get<ir::Tensor>(floats.value).dims(), ir::Shape{2});
  EXPECT_EQ(std::get<ir::Tensor>(unified("value_int", int64_t{5}).value).rank(), 0);
  EXPECT_EQ(std::get<ir::Tensor>(unified("value_ints", std::vector<int64_t>{}).value).dims(), ir::Shape{0});
  EXPECT_EQ(std::get<ir::Tensor>(unified("value_strings", std::vector<std::string>{"a"}).value).strings()[0], "a");
  // A form with a value of another kind is left to whoever reads it.
  EXPECT_EQ(unified("value_int", 1.0f).name, "value_int");
  EXPECT_EQ(unified("value_floats", std::vector<int64_t>{1}).name, "value_floats");
  EXPECT_EQ(unified("other", int64_t{1}).name, "other");
}

}  // namespace
}  // namespace quarkq::onnx_io
