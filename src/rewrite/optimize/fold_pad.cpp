// SPDX-License-Identifier: MIT
// Pad goes into the padding of what reads it (spec 04 A.6.1).
#include <algorithm>
#include <limits>

#include "ir/axes.h"
#include "rewrite/optimize/local_rules.h"

namespace quarkq::rewrite::basic {
namespace {

/// Amounts of a constant Pad that adds only around an image, and the value it adds.
struct SpatialPad {
  std::vector<int64_t> pads;  ///< begins, then ends, of the spatial dimensions
  double value = 0;
};

std::optional<SpatialPad> read_pad(const Workspace& work, const ir::Node& pad) {
  if (pad.string_or("mode", "constant") != "constant" || pad.input(3).valid()) return std::nullopt;
  std::vector<int64_t> amounts = pad.ints_or("pads", {});
  SpatialPad found;
  found.value = pad.float_or("value", 0.0f);
  if (pad.input(1).valid()) {
    const ir::Tensor* given = work.constant(pad.input(1));
    if (given == nullptr || given->type() != ElementType::kInt64) return std::nullopt;
    amounts.assign(given->data<int64_t>().begin(), given->data<int64_t>().end());
  }
  if (pad.input(2).valid()) {
    const ir::Tensor* value = work.constant(pad.input(2));
    if (value == nullptr || value->size() != 1) return std::nullopt;
    const Result<std::vector<double>> number = ir::to_double(*value);
    if (!number.ok()) return std::nullopt;
    found.value = number.value()[0];
  }
  const size_t rank = amounts.size() / 2;
  if (amounts.size() % 2 != 0 || rank < 3) return std::nullopt;
  for (const size_t dim : {size_t{0}, size_t{1}, rank, rank + 1}) {
    if (amounts[dim] != 0) return std::nullopt;
  }
  for (size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i] < 0) return std::nullopt;
    if (i % rank >= 2) found.pads.push_back(amounts[i]);
  }
  return found;
}

/// MaxPool pads with the lowest value; zeros are as good when nothing is below them.
bool is_never_negative(const Workspace& work, ir::ValueId value) {
  const ir::Node* maker = work.graph().producer(value);
  if (maker == nullptr) return false;
  for (const char* op : {"Relu", "Sigmoid", "HardSigmoid", "Softmax", "Softplus", "Abs", "Exp", "Sqrt"}) {
    if (maker->is(op)) return true;
  }
  return false;
}

bool takes_pad(const Workspace& work, const ir::Node& reader, const ir::Node& pad, const SpatialPad& found) {
  if (reader.string_or("auto_pad", "NOTSET") != "NOTSET") return false;
  if (reader.is("Conv")) return found.value == 0;
  const std::vector<int64_t> own = reader.ints_or("pads", {});
  const bool has_own = std::any_of(own.begin(), own.end(), [](int64_t amount) { return amount != 0; });
  if (reader.is("AveragePool")) {
    return found.value == 0 && reader.int_or("ceil_mode", 0) == 0 &&
           (!has_own || reader.int_or("count_include_pad", 0) != 0);
  }
  if (!reader.is("MaxPool") || reader.outputs.size() > 1) return false;
  const bool is_lowest = found.value <= static_cast<double>(std::numeric_limits<float>::lowest());
  return is_lowest || (found.value == 0 && is_never_negative(work, pad.input(0)));
}

}  // namespace

bool fold_pad(Workspace& work, ir::NodeId id) {
  const ir::Node& pad = work.node(id);
  const ir::NodeId reader_id = work.only_consumer(pad.output(0));
  if (!pad.is("Pad") || !reader_id.valid()) return false;
  const ir::Node& reader = work.node(reader_id);
  if (reader.input(0) != pad.output(0) || reader.input(1) == pad.output(0)) return false;
  const std::optional<SpatialPad> found = read_pad(work, pad);
  if (!found || !takes_pad(work, reader, pad, *found)) return false;
  std::vector<int64_t> pads = reader.ints_or("pads", std::vector<int64_t>(found->pads.size(), 0));
  if (pads.size() != found->pads.size()) return false;
  for (size_t i = 0; i < pads.size(); ++i) {
    const std::optional<int64_t> sum = ir::checked_sum(pads[i], found->pads[i]);
    if (!sum) return false;
    pads[i] = *sum;
  }
  if (reader.is("AveragePool")) work.set_attribute(reader_id, "count_include_pad", int64_t{1});
  work.set_attribute(reader_id, "pads", pads);
  work.set_input(reader_id, 0, pad.input(0));
  work.add_origins(reader_id, id);
  work.remove_node(id);
  return true;
}

}  // namespace quarkq::rewrite::basic
