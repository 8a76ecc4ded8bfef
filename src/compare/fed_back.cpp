// SPDX-License-Identifier: MIT
#include "compare/fed_back.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

#include "exec/session.h"
#include "numeric/metrics.h"

namespace quarkq::compare {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool may_be_equal(const ir::ValueType& a, const ir::ValueType& b) {
  if (a.element != b.element || a.dims.size() != b.dims.size()) return false;
  for (size_t i = 0; i < a.dims.size(); ++i)
    if (a.dims[i].known() && b.dims[i].known() && a.dims[i].size != b.dims[i].size) return false;
  return true;
}

bool is_named_after(const std::string& output, const std::string& input) {
  return output != input && !input.empty() && (output.starts_with(input) || output.ends_with(input));
}

/// One model and its states between two frames.
class Stream {
 public:
  static Result<std::unique_ptr<Stream>> make(const ir::Model& model, Prepare prepare,
                                              const exec::Environment& environment) {
    auto stream = std::make_unique<Stream>(model);
    Diagnostics ignored;
    if (prepare != nullptr) QQ_RETURN_IF_ERROR(prepare(stream->model_, ignored));
    stream->session_ = std::make_unique<exec::Session>(stream->model_, environment, exec::SessionOptions{});
    return stream;
  }
  explicit Stream(const ir::Model& model) : model_(model) {}

  /// Replaces the states among `inputs` by the results of the frame before. Returns null if their dimensions changed.
  Result<const Tensors*> run(Tensors inputs, const std::vector<StatePair>& states) {
    for (size_t i = 0; i < fed_back_.size(); ++i) {
      ir::Tensor& input = inputs[states[i].input];
      if (input.dims() != fed_back_[i].dims()) return nullptr;
      input = fed_back_[i];
    }
    QQ_TRY(const Tensors* results, session_->run(inputs));
    results_ = *results;
    fed_back_.clear();
    for (const StatePair& state : states) fed_back_.push_back(results_[state.output]);
    return &results_;
  }

 private:
  ir::Model model_;
  std::unique_ptr<exec::Session> session_;
  Tensors results_, fed_back_;
};

}  // namespace

std::vector<StatePair> states_of(const ir::Graph& graph) {
  std::vector<StatePair> states;
  const std::vector<ir::ValueId> inputs = graph.required_inputs();
  for (size_t input = 0; input < inputs.size(); ++input) {
    const ir::Value& taken = graph.value(inputs[input]);
    std::vector<StatePair> found;
    for (size_t output = 0; output < graph.outputs().size(); ++output) {
      const ir::Value& given = graph.value(graph.outputs()[output]);
      if (may_be_equal(taken.type, given.type) && is_named_after(lower(given.name), lower(taken.name)))
        found.push_back({input, output});
    }
    if (found.size() == 1) states.push_back(found.front());
  }
  return states;
}

Result<std::map<std::string, Agreement>> compare_fed_back(const ir::Model& reference, const ir::Model& quantized,
                                                          Prepare prepare, const ChosenSamples& frames) {
  std::map<std::string, Agreement> agreements;
  const std::vector<StatePair> states = states_of(reference.graph);
  if (states.empty()) return agreements;
  QQ_TRY(const std::unique_ptr<Stream> first, Stream::make(reference, prepare, frames.environment));
  QQ_TRY(const std::unique_ptr<Stream> second, Stream::make(quantized, prepare, frames.environment));
  const std::vector<ir::ValueId>& outputs = reference.graph.outputs();
  std::map<size_t, numeric::PairSums> sums;
  for (const size_t number : frames.numbers) {
    QQ_TRY(const calib::Sample sample, frames.data.read(number));
    QQ_TRY(const Tensors* expected, first->run(sample.inputs, states));
    QQ_TRY(const Tensors* found, second->run(sample.inputs, states));
    if (expected == nullptr || found == nullptr) return agreements;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const bool is_state = std::ranges::any_of(states, [&](const StatePair& state) { return state.output == i; });
      if (is_state || !is_floating((*expected)[i].type()) || (*expected)[i].dims() != (*found)[i].dims()) continue;
      QQ_TRY(const std::vector<double> exact, ir::to_double((*expected)[i]));
      QQ_TRY(const std::vector<double> coarse, ir::to_double((*found)[i]));
      numeric::add(numeric::pair_sums(exact, coarse), sums[i]);
    }
  }
  for (const auto& [output, sum] : sums)
    agreements[reference.graph.value(outputs[output]).name] = {numeric::cosine(sum), numeric::sqnr_db(sum)};
  return agreements;
}

}  // namespace quarkq::compare
