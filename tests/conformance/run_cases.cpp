// SPDX-License-Identifier: MIT
// Runs ONNX backend test cases: run_cases CASE... where CASE is a folder with model.onnx and
// test_data_set_N/{input,output}_K.pb, or a model file with <name>_output_0.pb beside it.
// Prints "start NAME" and then "pass NAME" or "miss NAME: why" for each; run.py reads that and knows who crashed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/strings.h"
#include "exec/environment.h"
#include "exec/session.h"
#include "numeric/element_type.h"
#include "onnx_io/load.h"
#include "onnx_io/operand_file.h"

namespace quarkq {
namespace {

constexpr double kRelative = 1e-3, kAbsolute = 1e-7;  // what the onnx backend tests allow

Status compare_real(const ir::Tensor& found, const ir::Tensor& wanted) {
  QQ_TRY(const std::vector<double> a, ir::to_double(found));
  QQ_TRY(const std::vector<double> b, ir::to_double(wanted));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::abs(a[i] - b[i]) <= kAbsolute + kRelative * std::abs(b[i])) continue;
    return bad_data("element ", i, " is ", a[i], ", expected ", b[i]);
  }
  return Status();
}

Status compare_tensor(const ir::Tensor& found, const ir::Tensor& wanted) {
  if (found.type() != wanted.type()) return bad_data("is ", name(found.type()), ", expected ", name(wanted.type()));
  if (found.dims() != wanted.dims()) {
    return bad_data("has shape ", shape_text(found.dims()), ", expected ", shape_text(wanted.dims()));
  }
  switch (found.type()) {
    case ElementType::kFloat:
    case ElementType::kDouble:
    case ElementType::kFloat16:
    case ElementType::kBFloat16: return compare_real(found, wanted);
    default: return found.same_as(wanted) ? Status() : bad_data("other ", name(found.type()), " elements");
  }
}

Status compare(const ir::Operand& found, const ir::Operand& wanted) {
  if (found.kind != wanted.kind) return bad_data("is another kind of value than expected");
  if (found.is_tensor()) return compare_tensor(found.tensor, wanted.tensor);
  if (found.sequence.size() != wanted.sequence.size()) {
    return bad_data("has ", found.sequence.size(), " elements, expected ", wanted.sequence.size());
  }
  for (size_t i = 0; i < found.sequence.size(); ++i) {
    QQ_RETURN_IF_ERROR(compare_tensor(found.sequence[i], wanted.sequence[i]).context(cat("element ", i)));
  }
  return Status();
}

Result<std::vector<ir::Operand>> load_all(const std::string& prefix, const ir::Graph& graph,
                                          const std::vector<ir::ValueId>& values) {
  std::vector<ir::Operand> operands;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string path = cat(prefix, i, ".pb");
    QQ_TRY(ir::Operand operand, onnx_io::load_operand(path, graph.value(values[i]).type));
    operands.push_back(std::move(operand));
  }
  return operands;
}

Status run_data_set(exec::Session& session, const ir::Model& model, const std::string& folder) {
  QQ_TRY(const auto inputs, load_all(folder + "/input_", model.graph, model.graph.required_inputs()));
  QQ_TRY(const auto wanted, load_all(folder + "/output_", model.graph, model.graph.outputs()));
  QQ_TRY(const std::vector<ir::Operand>* found, session.run_operands(inputs));
  for (size_t i = 0; i < wanted.size(); ++i) {
    QQ_RETURN_IF_ERROR(compare((*found)[i], wanted[i]).context(cat("output ", i)));
  }
  return Status();
}

/// What the onnx tests feed to the models of the folder "light": 0, 1/n, 2/n, ...
ir::Operand ramp_input(const ir::ValueType& type) {
  ir::Shape dims;
  for (const ir::Dim& dim : type.dims) dims.push_back(dim.known() ? dim.size : 1);
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::kFloat, std::move(dims));
  double i = 0;
  for (float& value : tensor.mutable_data<float>())
    value = static_cast<float>(i++ / static_cast<double>(tensor.size()));
  return tensor;
}

/// A model file with "<name>_output_0.pb" beside it.
Status run_light_model(const std::string& path) {
  QQ_TRY(const ir::Model model, onnx_io::load(path));
  std::vector<ir::Operand> inputs;
  for (const ir::ValueId input : model.graph.required_inputs())
    inputs.push_back(ramp_input(model.graph.value(input).type));
  const std::string stem = path.substr(0, path.size() - std::string(".onnx").size());
  QQ_TRY(const auto wanted, load_all(stem + "_output_", model.graph, model.graph.outputs()));
  exec::Session session(model, {}, {});
  QQ_TRY(const std::vector<ir::Operand>* found, session.run_operands(inputs));
  return compare((*found)[0], wanted[0]);
}

Status run_case(const std::string& folder) {
  if (folder.ends_with(".onnx")) return run_light_model(folder);
  QQ_TRY(const ir::Model model, onnx_io::load(folder + "/model.onnx"));
  exec::Session session(model, {}, {});
  for (int i = 0; std::filesystem::exists(cat(folder, "/test_data_set_", i)); ++i) {
    QQ_RETURN_IF_ERROR(run_data_set(session, model, cat(folder, "/test_data_set_", i)).context(cat("data set ", i)));
  }
  return Status();
}

}  // namespace
}  // namespace quarkq

int main(int argc, char** argv) {
  quarkq::exec::set_threads(2);
  for (int i = 1; i < argc; ++i) {
    const std::string folder = argv[i];
    const std::string name = std::filesystem::path(folder).filename();
    std::printf("start %s\n", name.c_str());
    std::fflush(stdout);
    const quarkq::Status status = quarkq::run_case(folder);
    if (status.ok())
      std::printf("pass %s\n", name.c_str());
    else
      std::printf("miss %s: %s\n", name.c_str(), status.message().c_str());
  }
  return 0;
}
