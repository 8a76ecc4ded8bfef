// SPDX-License-Identifier: MIT
#include "support/pass_bench.h"

#include <algorithm>
#include <cstdio>
#include <regex>
#include <set>

#include "plan/stage.h"

namespace quarkq::test {
namespace {

const pass::PassInfo* find_pass(const std::string& name) {
  const auto& all = pipeline::all_passes();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const pass::PassInfo& pass) { return pass.name == name; });
  EXPECT_NE(found, all.end()) << "no pass is called " << name;
  return found == all.end() ? nullptr : &*found;
}

/// Sums of floats differ by instruction set in their last digits, and with them hashes of contents.
std::string rounded(const std::string& text) {
  static const std::regex kNumber(R"(-?\d+\.\d+(e[-+]?\d+)?|-?\d+e[-+]?\d+)"), kHash(R"( #[0-9a-f]+)");
  const std::string plain = std::regex_replace(text, kHash, "");
  std::string out;
  auto at = plain.begin();
  for (std::sregex_iterator match(plain.begin(), plain.end(), kNumber), none; match != none; ++match) {
    char number[32];
    std::snprintf(number, sizeof number, "%.5g", std::stod(match->str()));
    out.append(at, match->prefix().second).append(number);
    at = match->suffix().first;
  }
  return out.append(at, plain.end());
}

bool has_random_inputs(const ir::Graph& graph) {
  const std::vector<ir::ValueId> inputs = graph.required_inputs();
  return std::all_of(inputs.begin(), inputs.end(), [&](ir::ValueId id) {
    const ir::ValueType& type = graph.value(id).type;
    const bool is_static =
        std::all_of(type.dims.begin(), type.dims.end(), [](const ir::Dim& dim) { return dim.known(); });
    return type.element == ElementType::kFloat && type.has_shape && is_static;
  });
}

std::string plan_text(const pipeline::RunState& context) {
  const ir::Graph& graph = context.model.graph;
  std::string out = plan::text(context.plan, graph);
  for (const plan::QuantSlot& slot : context.plan.slots()) {
    const std::string& name = graph.value(slot.value).name;
    if (slot.codes) out += cat("codes of ", name, ": ", ir::tensor_text(*slot.codes), "\n");
    if (slot.range) out += cat("range of ", name, ": ", slot.range->min, " to ", slot.range->max, "\n");
    if (slot.always_measured) out += cat("measured in any case: ", name, "\n");
    if (slot.stage.block) out += cat("blocks of ", name, " along axis ", slot.stage.block->axis(), "\n");
  }
  for (const ir::NodeId id : context.plan.folded) out += cat("to fold: ", graph.label(id), "\n");
  for (const plan::ExtraStage& extra : context.plan.extras)
    out += cat("extra stage ", extra.is_after ? "after" : "before", " ", graph.label(extra.node), " ", extra.index,
               ": ", std::string(name(extra.stage.spec.type)), "\n");
  for (const ir::Use& read : context.plan.raw_reads)
    out += cat("read without its pair: ", graph.label(read.node), " ", read.input, "\n");
  for (const ir::NodeId id : context.selection.left_float) out += cat("left float: ", graph.label(id), "\n");
  for (const auto& [value, made] : context.selection.overrides) {
    out += cat("with settings of its own: ", graph.value(value).name);
    if (made.type) out += cat(", type ", std::string(name(plan::element_type(*made.type))));
    for (const config::OverrideValues& values : made.values) {
      if (values.min && values.max) out += cat(", range ", *values.min, " to ", *values.max);
    }
    out += "\n";
  }
  std::set<std::string> types;
  for (const ir::NodeId id : graph.order())
    if (context.selection.op_types.contains(graph.node(id).op)) types.insert(graph.node(id).op);
  return out + "in the op set: " + join(std::vector<std::string>(types.begin(), types.end()), " ") + "\n";
}

}  // namespace

PassStage::PassStage(ir::Model model, config::Settings settings) : bench_(std::move(model), std::move(settings)) {
  ir::GraphEdit(bench_.model.graph).remove_dead();
  if (!has_random_inputs(bench_.graph())) return;
  data_ = std::make_unique<RandomSamples>(bench_.graph(), 3);
  bench_.context.source.data = data_.get();
}

void PassStage::run_before(const std::string& pass) {
  for (const std::string& earlier : pass_names()) {
    if (earlier == pass) return;
    const pass::PassInfo* info = find_pass(earlier);
    if (info->phase == pass::Phase::kCalibrate && !bench_.context.calibrated)
      bench_.context.calibrated = std::make_shared<const ir::Model>(bench_.model);
    if (info->enabled(bench_.settings)) bench_.run(info->run);
  }
}

bool PassStage::run(const std::string& pass) {
  const pass::PassInfo* info = find_pass(pass);
  return info != nullptr && bench_.run(info->run);
}

std::string PassStage::text(bool plan) const {
  return rounded(plan ? plan_text(bench_.context) : ir::dump(bench_.model));
}

std::string PassStage::exact_text() const { return ir::dump(bench_.model) + plan_text(bench_.context); }

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const pass::PassInfo& pass : pipeline::all_passes()) names.emplace_back(pass.name);
  return names;
}

}  // namespace quarkq::test
