// SPDX-License-Identifier: MIT
// Inference of every operator that the library knows, with few inputs, inputs of unknown or wrong types, and attributes
// at the edges of their range. A file may have any of them, and loading infers before the checker has seen the nodes.
#include <set>

#include "io_test_support.h"
#include "onnx_io/check_model.h"
#include "onnx_io/infer.h"
#include "onnx_io/library_schemas.h"
#include "onnx_io/load.h"
#include "onnx_io/opset_convert.h"

namespace quarkq::onnx_io {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;

/// What is known of each input.
struct InputForm {
  std::string_view name;
  std::function<void(onnx::TypeProto&)> describe;  ///< null: the input has no type
  std::function<void(TensorProto&)> store;         ///< null: the input is not stored in the model
  bool is_absent = false;
};

void set_tensor(onnx::TypeProto& type, const std::vector<int64_t>& dims, int element = TensorProto::FLOAT) {
  type.mutable_tensor_type()->set_elem_type(element);
  onnx::TensorShapeProto& shape = *type.mutable_tensor_type()->mutable_shape();
  for (const int64_t dim : dims) shape.add_dim()->set_dim_value(dim);
}

InputForm described(const char* name, const std::vector<int64_t>& dims, int element = TensorProto::FLOAT) {
  return {name, [=](onnx::TypeProto& type) { set_tensor(type, dims, element); }, nullptr};
}

InputForm stored(const char* name, const std::vector<int64_t>& numbers) {
  return {name, nullptr, [numbers](TensorProto& tensor) {
            tensor.set_data_type(TensorProto::INT64);
            tensor.add_dims(static_cast<int64_t>(numbers.size()));
            for (const int64_t number : numbers) tensor.add_int64_data(number);
          }};
}

const InputForm kForms[] = {
    {"untyped", nullptr, nullptr},
    {"empty type", [](onnx::TypeProto&) {}, nullptr},
    {"no shape", [](onnx::TypeProto& type) { type.mutable_tensor_type()->set_elem_type(TensorProto::FLOAT); }, nullptr},
    {"sequence", [](onnx::TypeProto& type) { set_tensor(*type.mutable_sequence_type()->mutable_elem_type(), {2}); },
     nullptr},
    described("scalar", {}),
    described("no elements", {0}),
    described("integers", {2}, TensorProto::INT64),
    described("strings", {2, 3}, TensorProto::STRING),
    described("matrix", {4, 6}),
    described("tokens", {2, 4, 6}),
    described("image", {1, 2, 4, 4}),
    described("volume without elements", {1, 0, 2, 2, 2}),
    stored("stored nothing", {}),
    stored("stored zero", {0}),
    stored("stored negative", {-1, -9}),
    stored("stored large", {int64_t{1} << 40, std::numeric_limits<int64_t>::min()}),
};

/// Values of `type` at the edges of what an attribute may be.
std::vector<AttributeProto> edge_values(AttributeProto::AttributeType type) {
  std::vector<AttributeProto> values;
  const auto add = [&]() -> AttributeProto& { return values.emplace_back(); };
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(), kHuge = int64_t{1} << 40;
  for (const int64_t number : {int64_t{1}, int64_t{0}, int64_t{-1}, int64_t{7}, kHuge, kLowest}) {
    if (type == AttributeProto::INT) add().set_i(number);
    if (type == AttributeProto::INTS) add().add_ints(number);
  }
  if (type == AttributeProto::INTS) {
    add();
    AttributeProto& many = add();
    for (int i = 0; i < 9; ++i) many.add_ints(i - 1);
  }
  if (type == AttributeProto::STRING) {
    for (const char* text : {"", "x", "bi,ij->,", "...", "b-i", "......", "i j\n->ij"}) add().set_s(text);
  }
  if (type == AttributeProto::GRAPH) add().mutable_g();
  if (type == AttributeProto::TENSOR) {
    add().mutable_t();
    add().mutable_t()->set_data_type(TensorProto::INT64);
    add().mutable_t()->add_dims(-1);
  }
  if (values.empty()) add();
  return values;
}

/// A model of one node of `schema` that has the attributes its schema requires. The inputs come out of a node that the
/// library does not know.
onnx::ModelProto model_of(const onnx::OpSchema& schema, const std::vector<const InputForm*>& inputs) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  for (const auto& [domain, version] :
       {std::pair<std::string, int>(schema.domain(), schema.SinceVersion()), {"of.somebody", 1}}) {
    onnx::OperatorSetIdProto& opset = *model.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  onnx::NodeProto source;
  source.set_op_type("Source");
  source.set_domain("of.somebody");
  onnx::NodeProto node;
  node.set_op_type(schema.Name());
  node.set_domain(schema.domain());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputForm& form = *inputs[i];
    node.add_input(form.is_absent ? "" : cat("i", i));
    if (form.is_absent) continue;
    if (form.store != nullptr) {
      TensorProto& tensor = *graph.add_initializer();
      form.store(tensor);
      tensor.set_name(node.input().Get(static_cast<int>(i)));
      continue;
    }
    source.add_output(cat("i", i));
    if (form.describe == nullptr) continue;
    onnx::ValueInfoProto& info = *graph.add_value_info();
    info.set_name(cat("i", i));
    form.describe(*info.mutable_type());
  }
  for (int i = 0; i < std::clamp(schema.max_output(), 1, 3); ++i) node.add_output(cat("o", i));
  if (source.output_size() > 0) *graph.add_node() = source;
  *graph.add_node() = node;
  return model;
}

void set_attribute(onnx::ModelProto& model, const std::string& name, AttributeProto::AttributeType type,
                   const AttributeProto& value) {
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::NodeProto& node = *graph.mutable_node(graph.node_size() - 1);
  AttributeProto* attribute = nullptr;
  for (AttributeProto& given : *node.mutable_attribute()) {
    if (given.name() == name) attribute = &given;
  }
  if (attribute == nullptr) attribute = node.add_attribute();
  *attribute = value;
  attribute->set_name(name);
  attribute->set_type(type);
}

/// Models of one node of `schema`: without attributes, with those that it requires, and with all.
std::vector<onnx::ModelProto> usual_models(const onnx::OpSchema& schema, const std::vector<const InputForm*>& inputs) {
  std::vector<onnx::ModelProto> models(3, model_of(schema, inputs));
  for (const auto& [name, attribute] : schema.attributes()) {
    const AttributeProto usual = edge_values(attribute.type)[0];
    if (attribute.required) set_attribute(models[1], name, attribute.type, usual);
    set_attribute(models[2], name, attribute.type, usual);
  }
  return models;
}

/// These, and the latter two with each attribute in turn at its edges.
std::vector<onnx::ModelProto> models_of(const onnx::OpSchema& schema, const std::vector<const InputForm*>& inputs) {
  std::vector<onnx::ModelProto> models = usual_models(schema, inputs);
  const onnx::ModelProto required = models[1], all = models[2];
  for (const auto& [name, attribute] : schema.attributes()) {
    for (const AttributeProto& value : edge_values(attribute.type)) {
      set_attribute(models.emplace_back(required), name, attribute.type, value);
      set_attribute(models.emplace_back(all), name, attribute.type, value);
    }
  }
  return models;
}

/// What counts is that these return.
Result<ir::Model> load_one(const onnx::ModelProto& proto) { return load_bytes(proto.SerializeAsString(), "hostile"); }

void load_and_use(const onnx::ModelProto& proto) {
  Result<ir::Model> model = load_one(proto);
  if (!model.ok()) return;
  Diagnostics ignored;
  (void)infer_types(model.value(), ignored);
  if (check_model(model.value()).ok()) (void)convert_opset(model.value(), 21);
}

/// All schemas; with a sanitizer, which takes ten times as long, every fourth.
std::vector<onnx::OpSchema> tried_schemas() {
#if defined(__SANITIZE_ADDRESS__)
  constexpr size_t kEvery = 4;
#else
  constexpr size_t kEvery = 1;
#endif
  std::vector<onnx::OpSchema> tried;
  const std::vector<onnx::OpSchema> all = onnx::OpSchemaRegistry::get_all_schemas_with_history();
  for (size_t i = 0; i < all.size(); i += kEvery) tried.push_back(all[i]);
  return tried;
}

class InferAlikeTest : public ::testing::TestWithParam<InputForm> {};
INSTANTIATE_TEST_SUITE_P(Inputs, InferAlikeTest, ::testing::ValuesIn(kForms), [](const auto& info) {
  std::string name(info.param.name);
  std::ranges::replace(name, ' ', '_');
  return name;
});

TEST_P(InferAlikeTest, NoOperatorTakesItsInputsAndAttributesForGranted) {
  size_t count = 0;
  for (const onnx::OpSchema& schema : tried_schemas()) {
    const int least = schema.min_input(), most = std::min(schema.max_input(), least + 3);
    for (const int inputs : std::set<int>{least, most}) {
      const std::vector<const InputForm*> forms(static_cast<size_t>(inputs), &GetParam());
      for (const onnx::ModelProto& model : usual_models(schema, forms)) load_and_use(model);
      for (const onnx::ModelProto& model : models_of(schema, forms)) (void)load_one(model).ok(), ++count;
    }
  }
  EXPECT_GT(count, 1'000u);
}

class InferOneOtherTest : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Inputs, InferOneOtherTest, ::testing::Values("image", "tokens", "integers", "stored zero"));

TEST_P(InferOneOtherTest, NoOperatorTakesOneOfItsInputsForGranted) {
  const InputForm absent = {"absent", nullptr, nullptr, true};
  const auto named = [](std::string_view name) { return std::ranges::find(kForms, name, &InputForm::name); };
  const InputForm* const usual = named(GetParam());
  for (const onnx::OpSchema& schema : tried_schemas()) {
    const int most = std::min(schema.max_input(), schema.min_input() + 3);
    std::vector<const InputForm*> forms(static_cast<size_t>(most), usual);
    for (const InputForm*& one : forms) {
      for (const InputForm* other : {&absent, named("untyped"), named("scalar"), named("integers"), named("matrix")}) {
        one = other;
        for (const onnx::ModelProto& model : usual_models(schema, forms)) load_and_use(model);
      }
      one = usual;
    }
  }
}

}  // namespace
}  // namespace quarkq::onnx_io
