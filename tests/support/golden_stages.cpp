// SPDX-License-Identifier: MIT
#include "support/golden_stages.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "onnx_io/infer.h"
#include "onnx_io/load.h"

namespace quarkq::test {
namespace {

using Json = nlohmann::ordered_json;

std::filesystem::path shared_folder() {
  const char* given = std::getenv("QUARKQ_SHARED");
  return given != nullptr ? given : QUARKQ_SHARED_DIR;
}

std::vector<std::string> strings_of(const Json& list) { return list.get<std::vector<std::string>>(); }

std::vector<GoldenNode> read_nodes(const Json& list) {
  std::vector<GoldenNode> nodes;
  for (const Json& node : list) {
    nodes.push_back({node[0], node[1], strings_of(node[2]), strings_of(node[3]), Json::object()});
    if (node.size() > 4) nodes.back().attributes = node[4];
  }
  return nodes;
}

/// `stage` is the one before, and becomes the recorded one.
void advance(const Json& record, GoldenStage& stage) {
  stage.name = record["name"];
  stage.failed = record.contains("failed");
  if (record.contains("io")) {
    stage.inputs = strings_of(record["io"]["inputs"]);
    stage.outputs = strings_of(record["io"]["outputs"]);
  }
  if (record.contains("nodes")) stage.nodes = read_nodes(record["nodes"]);
  if (record.contains("order")) {
    std::vector<GoldenNode> moved;
    for (const Json& index : record["order"]) moved.push_back(stage.nodes[index.get<size_t>()]);
    stage.nodes = std::move(moved);
  }
  if (!record.contains("initializers")) return;
  stage.initializers.clear();
  for (const auto& [name, description] : record["initializers"].items()) stage.initializers[name] = description;
}

/// Recorded numbers may be texts: "nan", "inf", "-inf".
double number_of(const Json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

/// [type, dims, min, max, sum]; empty tensors and types without numbers have type and dims only.
Json describe(const ir::Tensor& tensor) {
  Json result = {std::string(name(tensor.type())), tensor.dims()};
  const Result<std::vector<double>> values = ir::to_double(tensor);
  if (!values.ok() || values.value().empty()) return result;
  const auto [low, high] = std::minmax_element(values.value().begin(), values.value().end());
  long double sum = 0;
  for (const double value : values.value()) sum += value;
  for (const double number : {*low, *high, static_cast<double>(sum)}) result.push_back(number);
  return result;
}

bool same_tensor(const Json& recorded, const ir::Tensor& tensor, double tolerance) {
  const Json found = describe(tensor);
  if (recorded[0] != found[0] || recorded[1] != found[1]) return false;
  if (recorded.size() < 5 || found.size() < 5) return true;
  const double largest = std::max(std::abs(number_of(found[2])), std::abs(number_of(found[3])));
  for (size_t i = 2; i < 5; ++i) {
    const double a = number_of(recorded[i]), b = number_of(found[i]);
    const double count = i == 4 ? static_cast<double>(std::max<int64_t>(tensor.size(), 1)) : 1;
    if (a != b && !(std::isnan(a) && std::isnan(b)) && !(std::abs(a - b) <= tolerance * largest * count)) return false;
  }
  return true;
}

bool same_number(const Json& recorded, double value) {
  return recorded.is_number() && std::abs(recorded.get<double>() - value) <= 1e-6 * std::max(1.0, std::abs(value));
}

template <typename T>
bool same_numbers(const Json& recorded, const std::vector<T>& values) {
  if (!recorded.is_array() || recorded.size() != values.size()) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!same_number(recorded[i], static_cast<double>(values[i]))) return false;
  }
  return true;
}

bool same_attribute(const Json& recorded, const ir::AttributeValue& value, double tolerance) {
  if (const auto* number = std::get_if<int64_t>(&value)) return recorded == *number;
  if (const auto* number = std::get_if<float>(&value)) return same_number(recorded, *number);
  if (const auto* text = std::get_if<std::string>(&value)) return recorded == *text;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) return same_numbers(recorded, *list);
  if (const auto* list = std::get_if<std::vector<float>>(&value)) return same_numbers(recorded, *list);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return recorded == Json(*list);
  if (const auto* tensor = std::get_if<ir::Tensor>(&value)) return same_tensor(recorded, *tensor, tolerance);
  if (const auto* graph = std::get_if<ir::GraphPtr>(&value)) {
    return recorded == cat("graph of ", (*graph)->order().size(), " nodes");
  }
  return true;
}

/// Compares one graph with one stage and collects what differs.
class Comparison {
 public:
  Comparison(const ir::Graph& graph, const GoldenStage& stage, const CompareStage& what)
      : graph_(graph), stage_(stage), what_(what) {}
  std::vector<std::string> run();

 private:
  void compare_nodes();
  void compare_node(const GoldenNode& golden, const ir::Node& node);
  void compare_input(const std::string& place, const std::string& golden, ir::ValueId found);
  void compare_attributes(const GoldenNode& golden, const ir::Node& node);
  void compare_order();
  std::string name_of(ir::ValueId id) const { return id.valid() ? graph_.value(id).name : std::string(); }
  std::vector<std::string> names_of(const std::vector<ir::ValueId>& ids) const;
  std::string first_output(const ir::Node& node) const { return name_of(node.output(0)); }

  const ir::Graph& graph_;
  const GoldenStage& stage_;
  const CompareStage& what_;
  std::vector<std::string> found_;
};

std::vector<std::string> Comparison::names_of(const std::vector<ir::ValueId>& ids) const {
  std::vector<std::string> names;
  for (const ir::ValueId id : ids) names.push_back(name_of(id));
  return names;
}

void Comparison::compare_input(const std::string& place, const std::string& golden, ir::ValueId found) {
  const auto stored = stage_.initializers.find(golden);
  const std::optional<ir::Tensor> none;
  const std::optional<ir::Tensor>& constant = found.valid() ? graph_.value(found).constant : none;
  const bool both_stored = stored != stage_.initializers.end() && constant.has_value();
  if (golden != name_of(found) && (what_.constant_names || !both_stored)) {
    found_.push_back(cat(place, ": '", name_of(found), "' instead of '", golden, "'"));
  }
  if (both_stored && !same_tensor(stored->second, *constant, what_.tolerance)) {
    found_.push_back(cat(place, ": stored ", describe(*constant).dump(), " instead of ", stored->second.dump()));
  }
}

void Comparison::compare_attributes(const GoldenNode& golden, const ir::Node& node) {
  for (const auto& [name, recorded] : golden.attributes.items()) {
    const ir::Attribute* attribute = node.find(name);
    if (attribute == nullptr) {
      found_.push_back(cat(golden.outputs[0], ": attribute ", name, " = ", recorded.dump(), " is missing"));
    } else if (!same_attribute(recorded, attribute->value, what_.tolerance)) {
      found_.push_back(cat(golden.outputs[0], ": attribute ", name, " is not ", recorded.dump()));
    }
  }
  for (const ir::Attribute& attribute : node.attributes) {
    if (!golden.attributes.contains(attribute.name))
      found_.push_back(cat(golden.outputs[0], ": attribute ", attribute.name, " is too much"));
  }
}

void Comparison::compare_node(const GoldenNode& golden, const ir::Node& node) {
  const std::string& key = golden.outputs[0];
  const std::string op = node.domain.empty() ? node.op : cat(node.domain, "::", node.op);
  if (op != golden.op) found_.push_back(cat(key, ": made by ", op, " instead of ", golden.op));
  if (what_.node_names && node.name != golden.name) {
    found_.push_back(cat(key, ": its node is called '", node.name, "' instead of '", golden.name, "'"));
  }
  if (names_of(node.outputs) != golden.outputs) {
    found_.push_back(
        cat(key, ": outputs ", join(names_of(node.outputs), ","), " instead of ", join(golden.outputs, ",")));
  }
  for (size_t i = 0; i < std::max(golden.inputs.size(), node.inputs.size()); ++i) {
    compare_input(cat(key, " input ", i), i < golden.inputs.size() ? golden.inputs[i] : "", node.input(i));
  }
  if (what_.attributes) compare_attributes(golden, node);
}

void Comparison::compare_nodes() {
  std::map<std::string, ir::NodeId> mine;
  for (const ir::NodeId id : graph_.order()) mine[first_output(graph_.node(id))] = id;
  for (const GoldenNode& golden : stage_.nodes) {
    const auto match = mine.find(golden.outputs[0]);
    if (match == mine.end()) {
      found_.push_back(cat(golden.outputs[0], ": no ", golden.op, " (", golden.name, ")"));
      continue;
    }
    compare_node(golden, graph_.node(match->second));
    mine.erase(match);
  }
  for (const ir::NodeId id : graph_.order()) {
    const std::string output = first_output(graph_.node(id));
    if (mine.contains(output)) found_.push_back(cat(output, ": ", graph_.node(id).op, " is too much"));
  }
}

void Comparison::compare_order() {
  if (graph_.order().size() != stage_.nodes.size()) return;  // reported as missing and superfluous nodes
  for (size_t i = 0; i < stage_.nodes.size(); ++i) {
    const std::string output = first_output(graph_.node(graph_.order()[i]));
    if (output == stage_.nodes[i].outputs[0]) continue;
    found_.push_back(cat("order: number ", i, " makes ", output, " instead of ", stage_.nodes[i].outputs[0]));
    return;
  }
}

std::vector<std::string> Comparison::run() {
  compare_nodes();
  if (what_.order) compare_order();
  if (names_of(graph_.inputs()) != stage_.inputs)
    found_.push_back("graph inputs: " + join(names_of(graph_.inputs()), ","));
  if (names_of(graph_.outputs()) != stage_.outputs) {
    found_.push_back("graph outputs: " + join(names_of(graph_.outputs()), ","));
  }
  return std::move(found_);
}

}  // namespace

std::vector<GoldenStage> golden_stages(const std::string& model, const std::string& case_name) {
  std::ifstream in(shared_folder() / "golden" / model / cat("stages_", case_name, ".json"));
  std::vector<GoldenStage> stages;
  if (!in) return stages;
  GoldenStage stage;
  const Json file = Json::parse(in);
  for (const Json& record : file["stages"]) {
    advance(record, stage);
    stages.push_back(stage);
  }
  return stages;
}

bool has_stage(const std::vector<GoldenStage>& stages, const std::string& name) {
  return std::any_of(stages.begin(), stages.end(), [&](const GoldenStage& stage) { return stage.name == name; });
}

const GoldenStage& stage_named(const std::vector<GoldenStage>& stages, const std::string& name) {
  const auto found =
      std::find_if(stages.begin(), stages.end(), [&](const GoldenStage& stage) { return stage.name == name; });
  QQ_CHECK(found != stages.end());
  return *found;
}

std::vector<std::string> differences(const ir::Graph& graph, const GoldenStage& stage, const CompareStage& what) {
  return Comparison(graph, stage, what).run();
}

std::vector<std::string> models_with_stages(const std::string& case_name) {
  std::vector<std::string> names;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(shared_folder() / "golden", absent)) {
    if (std::filesystem::exists(entry.path() / cat("stages_", case_name, ".json")))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

ir::Model shared_model(const std::string& name) {
  Result<ir::Model> model = onnx_io::load((shared_folder() / "models" / (name + ".onnx")).string());
  QQ_CHECK(model.ok());
  Diagnostics ignored;
  QQ_CHECK(onnx_io::infer_types(model.value(), ignored).ok());
  return std::move(model).value();
}

}  // namespace quarkq::test
