// SPDX-License-Identifier: MIT
#include "compare/language_model.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/strings.h"

namespace quarkq::compare {
namespace {

bool is_id_type(ElementType type) { return type == ElementType::kInt64 || type == ElementType::kInt32; }

/// Returns the value that nodes without effect on single ids compute `value` from.
ir::ValueId source_of(const ir::Graph& graph, ir::ValueId value) {
  constexpr int kMostNodes = 16;
  for (int i = 0; i < kMostNodes; ++i) {
    const ir::Node* node = graph.producer(value);
    const bool keeps_ids = node != nullptr && (node->is("Cast") || node->is("Identity") || node->is("Reshape") ||
                                               node->is("Squeeze") || node->is("Unsqueeze"));
    if (!keeps_ids) break;
    value = node->input(0);
  }
  return value;
}

/// Returns the number of rows of the table that `node` reads, stored as floats or as codes; 0 if it reads none.
int64_t table_rows(const ir::Graph& graph, const ir::Node& node) {
  constexpr int kMostNodes = 4;
  const bool is_blocked = node.op == "GatherBlockQuantized" && node.domain == "com.microsoft";
  const bool reads_rows =
      (node.is("Gather") && node.int_or("axis", 0) == 0) || (is_blocked && node.int_or("gather_axis", 0) == 0);
  if (!reads_rows) return 0;
  ir::ValueId value = node.input(0);
  bool is_coded = is_blocked;
  for (int i = 0; i < kMostNodes && graph.constant(value) == nullptr; ++i) {
    const ir::Node* producer = graph.producer(value);
    const bool keeps_rows = producer != nullptr && (producer->op == "DequantizeLinear" || producer->is("Cast") ||
                                                    producer->is("Identity") || producer->is("Reshape"));
    if (!keeps_rows) return 0;
    is_coded |= producer->op == "DequantizeLinear";
    value = producer->input(0);
  }
  const ir::Tensor* table = graph.constant(value);
  if (table == nullptr || table->rank() < 2 || (!is_coded && !is_floating(table->type()))) return 0;
  return table->dims()[0];
}

std::optional<size_t> index_in(const std::vector<ir::ValueId>& values, ir::ValueId value) {
  const auto found = std::ranges::find(values, value);
  if (found == values.end()) return {};
  return static_cast<size_t>(found - values.begin());
}

bool are_logits(const ir::ValueType& type, int64_t vocabulary) {
  return type.is_tensor() && is_floating(type.element) && type.has_shape && type.dims.size() == 3 &&
         type.dims[2].size == vocabulary;
}

/// Returns the mask of an input for its last `length` columns, or nothing if it is not a mask of these rows.
Result<std::vector<bool>> mask_of(const ir::Tensor& tensor, int64_t rows, int64_t length) {
  std::vector<bool> mask;
  const bool may_mask = tensor.rank() == 2 && tensor.dims()[0] == rows && tensor.dims()[1] >= length &&
                        (is_id_type(tensor.type()) || tensor.type() == ElementType::kBool ||
                         tensor.type() == ElementType::kFloat || tensor.type() == ElementType::kFloat16);
  if (!may_mask) return mask;
  QQ_TRY(const std::vector<double> values, ir::to_double(tensor));
  const auto is_binary = [](double value) { return value == 0 || value == 1; };
  if (!std::ranges::all_of(values, is_binary)) return mask;
  const int64_t columns = tensor.dims()[1];
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = columns - length; i < columns; ++i)
      mask.push_back(values[static_cast<size_t>(row * columns + i)] == 1);
  // Types of tokens are zeros and ones, too: without ones they mask nothing.
  if (std::ranges::find(mask, true) == mask.end()) mask.clear();
  return mask;
}

/// The first run of ones of each row.
void narrow(const std::vector<bool>& mask, int64_t length, std::vector<TextSpan>& spans) {
  for (size_t row = 0; row < spans.size(); ++row) {
    const auto first = mask.begin() + static_cast<std::ptrdiff_t>(row) * length, last = first + length;
    const auto begin = std::find(first, last, true), end = std::find(begin, last, false);
    spans[row].begin = std::max(spans[row].begin, static_cast<int64_t>(begin - first));
    spans[row].end = std::max(spans[row].begin, std::min(spans[row].end, static_cast<int64_t>(end - first)));
  }
}

template <typename T>
ir::Tensor id_tensor(const ir::Shape& dims, const std::vector<int64_t>& ids) {
  ir::Tensor tensor = ir::Tensor::allocate(element_type_of<T>(), dims);
  std::ranges::transform(ids, tensor.mutable_data<T>().begin(), [](int64_t id) { return static_cast<T>(id); });
  return tensor;
}

/// Judges one row of logits; `id` is the id that follows.
template <typename T>
void judge_row(std::span<const T> logits, int64_t id, double& surprise, int64_t& likeliest) {
  size_t best = 0;
  bool has_nan = false;
  for (size_t i = 0; i < logits.size(); ++i) {
    has_nan |= std::isnan(logits[i]);
    if (logits[i] > logits[best]) best = i;
  }
  const double highest = static_cast<double>(logits[best]);
  if (has_nan || std::isinf(highest)) {
    surprise = NAN;
    likeliest = -1;
    return;
  }
  double sum = 0;
  for (const T logit : logits) sum += std::exp(static_cast<double>(logit) - highest);
  surprise = std::log(sum) - (static_cast<double>(logits[static_cast<size_t>(id)]) - highest);
  likeliest = static_cast<int64_t>(best);
}

template <typename T>
NextIds judge_rows(std::span<const T> logits, const Passage& passage, const std::vector<int64_t>& ids,
                   int64_t vocabulary) {
  NextIds found{std::vector<double>(ids.size()), std::vector<int64_t>(ids.size(), -1)};
  const auto length = static_cast<size_t>(passage.length), width = static_cast<size_t>(vocabulary);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i % length == 0) continue;
    judge_row(logits.subspan((i - 1) * width, width), ids[i], found.surprise[i], found.likeliest[i]);
  }
  return found;
}

}  // namespace

std::optional<LanguageModel> find_language_model(const ir::Graph& graph) {
  const std::vector<ir::ValueId> inputs = graph.required_inputs();
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    const int64_t rows = table_rows(graph, node);
    if (rows == 0) continue;
    const std::optional<size_t> ids = index_in(inputs, source_of(graph, node.input(1)));
    if (!ids || !is_id_type(graph.value(inputs[*ids]).type.element)) continue;
    for (size_t output = 0; output < graph.outputs().size(); ++output) {
      if (rows > 1 && are_logits(graph.value(graph.outputs()[output]).type, rows))
        return LanguageModel{*ids, output, rows};
    }
  }
  return {};
}

Tensors with_ids(Tensors inputs, const LanguageModel& model, const std::vector<int64_t>& ids) {
  ir::Tensor& tensor = inputs[model.ids];
  tensor = tensor.type() == ElementType::kInt32 ? id_tensor<int32_t>(tensor.dims(), ids)
                                                : id_tensor<int64_t>(tensor.dims(), ids);
  return inputs;
}

Result<std::optional<Passage>> read_passage(const LanguageModel& model, const calib::Sample& sample) {
  if (model.ids >= sample.inputs.size()) return std::optional<Passage>();
  const ir::Tensor& ids = sample.inputs[model.ids];
  if (ids.rank() != 2 || ids.size() == 0 || !is_id_type(ids.type())) return std::optional<Passage>();
  Passage passage{.name = sample.name, .length = ids.dims()[1], .ids = {}, .spans = {}};
  QQ_TRY(passage.ids, ir::to_int64(ids));
  const auto is_known = [&](int64_t id) { return id >= 0 && id < model.vocabulary; };
  if (!std::ranges::all_of(passage.ids, is_known)) return std::optional<Passage>();
  passage.spans.assign(static_cast<size_t>(ids.dims()[0]), {0, passage.length});
  for (size_t input = 0; input < sample.inputs.size(); ++input) {
    if (input == model.ids) continue;
    QQ_TRY(const std::vector<bool> mask, mask_of(sample.inputs[input], ids.dims()[0], passage.length));
    if (!mask.empty()) narrow(mask, passage.length, passage.spans);
  }
  return std::optional<Passage>(std::move(passage));
}

Result<std::optional<NextIds>> next_ids(const ir::Tensor& logits, const Passage& passage,
                                        const std::vector<int64_t>& ids, int64_t vocabulary) {
  const ir::Shape expected = {static_cast<int64_t>(passage.spans.size()), passage.length, vocabulary};
  if (logits.dims() != expected) return std::optional<NextIds>();
  if (logits.type() == ElementType::kFloat)
    return std::optional<NextIds>(judge_rows(logits.data<float>(), passage, ids, vocabulary));
  QQ_TRY(const std::vector<double> values, ir::to_double(logits));
  return std::optional<NextIds>(judge_rows(std::span<const double>(values), passage, ids, vocabulary));
}

}  // namespace quarkq::compare
