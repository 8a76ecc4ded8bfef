// SPDX-License-Identifier: MIT
#include "exec/value_table.h"

#include <algorithm>

#include "exec/layout.h"
#include "exec/transpose.h"

namespace quarkq::exec {
namespace {

/// Returns the dimensions with ones added in front until the rank is `rank`.
ir::Shape padded(const ir::Shape& dims, int64_t rank) {
  ir::Shape out(static_cast<size_t>(std::max<int64_t>(rank - static_cast<int64_t>(dims.size()), 0)), 1);
  out.insert(out.end(), dims.begin(), dims.end());
  return out;
}

int64_t spatial_size(const ir::Shape& dims) {
  int64_t size = 1;
  for (size_t i = 2; i < dims.size(); ++i) size *= dims[i];
  return size;
}

/// Returns true if both layouts have the same bytes for this shape.
bool same_bytes(const ir::Shape& dims) { return dims.size() < 3 || dims[1] == 1 || spatial_size(dims) == 1; }

/// Returns the rows and columns of the matrices that the conversion transposes, per batch entry.
struct Swap {
  int64_t batch, rows, columns;
};

Swap swap_of(const ir::Shape& dims, Layout to) {
  if (to == Layout::kChannelsLast) return {dims[0], dims[1], spatial_size(dims)};
  return {dims[0], spatial_size(dims), dims[1]};
}

}  // namespace

void ValueTable::set_constant(ir::ValueId value, const ir::Tensor& tensor) {
  at(value) = {
      .when = When::kNow, .type = tensor.type(), .dims = tensor.dims(), .native = Layout::kPlain, .constant = &tensor};
}

const ir::Tensor& ValueTable::own_constant(ir::ValueId value, ir::Tensor tensor) {
  owned_.push_back(std::make_unique<ir::Tensor>(std::move(tensor)));
  set_constant(value, *owned_.back());
  return *owned_.back();
}

int ValueTable::add_slot(int64_t bytes) {
  slots_.push_back({bytes});
  return static_cast<int>(slots_.size()) - 1;
}

int ValueTable::add_feed_slot(int64_t bytes) {
  const int slot = add_slot(bytes);
  slots_.back().is_feed = true;
  return slot;
}

int ValueTable::constant_slot(const ir::Tensor& tensor) {
  const int slot = add_slot(tensor.bytes());
  slots_.back().constant = tensor;
  return slot;
}

int ValueTable::native_slot(ir::ValueId value) {
  Entry& entry = at(value);
  if (entry.slot >= 0) return entry.slot;
  if (entry.constant != nullptr) return entry.slot = constant_slot(*entry.constant);
  const int64_t count = ir::checked_count(entry.dims);
  return entry.slot = add_conversion(entry.codes, storage_bytes(entry.type, count),
                                     cat("to-floats ", graph_.value(value).name), values_kernel(entry.params, count));
}

int ValueTable::add_conversion(int from, int64_t bytes, std::string label, Kernel kernel) {
  const int to = add_slot(bytes);
  steps_.push_back({std::move(kernel), {from}, {to}, std::move(label)});
  return to;
}

int ValueTable::codes_in(ir::ValueId value, Layout layout, const PairParams& params) {
  const Entry& source = at(value);
  if (source.codes >= 0 && (layout == source.native || same_bytes(source.dims))) return source.codes;
  const auto [place, is_new] = codes_.try_emplace({value.index, static_cast<int>(layout)}, -1);
  if (!is_new) return place->second;
  const int64_t count = ir::checked_count(source.dims);
  const int floats = slot_in(value, layout, static_cast<int64_t>(source.dims.size()));
  return place->second = add_conversion(floats, count, cat("to-codes ", graph_.value(value).name),
                                        codes_kernel(params, /*saturate=*/true, count));
}

Layout ValueTable::choose_layout(const ir::Node& node, LayoutRule rule) const {
  if (rule == LayoutRule::kPlain || node.inputs.empty() || !node.inputs[0].valid()) return Layout::kPlain;
  // Elements of less than a byte are always stored in ONNX order: no conversion moves them one by one.
  for (const ir::ValueId input : node.inputs) {
    if (input.valid() && bits(at(input).type) < 8) return Layout::kPlain;
  }
  if (rule == LayoutRule::kImage) {
    const size_t rank = at(node.inputs[0]).dims.size();
    return rank >= 3 && rank <= 5 ? Layout::kChannelsLast : Layout::kPlain;
  }
  if (rule == LayoutRule::kFollow) return at(node.inputs[0]).native;
  size_t rank = 0;
  for (const ir::ValueId input : node.inputs) {
    if (input.valid()) rank = std::max(rank, at(input).dims.size());
  }
  for (const ir::ValueId input : node.inputs) {
    if (input.valid() && at(input).dims.size() == rank && at(input).native == Layout::kChannelsLast) {
      return Layout::kChannelsLast;
    }
  }
  return Layout::kPlain;
}

std::vector<Bound> ValueTable::bind_inputs(const ir::Node& node, LayoutRule rule, Layout layout,
                                           const PairParams* source) {
  size_t rank = 0;
  for (const ir::ValueId input : node.inputs) {
    if (input.valid()) rank = std::max(rank, at(input).dims.size());
  }
  std::vector<Bound> inputs(node.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::ValueId input = node.inputs[i];
    if (!input.valid()) continue;
    const size_t own_rank = at(input).dims.size();
    Layout wanted = Layout::kPlain;
    size_t wanted_rank = own_rank;
    if (layout == Layout::kChannelsLast) {
      if (rule == LayoutRule::kBroadcast) {
        wanted = layout;
        wanted_rank = rank;
      } else if (i == 0 || (rule == LayoutRule::kFollow && own_rank == at(node.inputs[0]).dims.size())) {
        wanted = layout;
      }
    }
    if (i == 0 && source != nullptr)
      inputs[i] = {{at(input).type, stored_dims(at(input).dims, wanted), wanted, nullptr},
                   codes_in(input, wanted, *source)};
    else
      inputs[i] = bind(input, wanted, static_cast<int64_t>(wanted_rank));
  }
  return inputs;
}

Bound ValueTable::bind(ir::ValueId value, Layout layout, int64_t rank) {
  const Entry& source = at(value);
  Bound bound;
  bound.spec = {source.type, stored_dims(padded(source.dims, rank), layout), layout, nullptr};
  if (source.constant != nullptr) bound.spec.constant = &constant_in(value, layout, rank);
  bound.slot = slot_in(value, layout, rank);
  return bound;
}

const ir::Tensor& ValueTable::constant_in(ir::ValueId value, Layout layout, int64_t rank) {
  const ir::Tensor& plain = *at(value).constant;
  if (layout == Layout::kPlain || plain.type() == ElementType::kString) return plain;
  const auto key = Form(value.index, static_cast<int>(layout), static_cast<int>(rank));
  const auto found = converted_constants_.find(key);
  if (found != converted_constants_.end()) return found->second;
  ir::Tensor converted = in_layout(plain.reshaped(padded(plain.dims(), rank)), layout);
  return converted_constants_.emplace(key, std::move(converted)).first->second;
}

int ValueTable::slot_in(ir::ValueId value, Layout layout, int64_t rank) {
  const Entry& source = at(value);
  if (source.constant == nullptr && layout == source.native && rank == static_cast<int64_t>(source.dims.size())) {
    return native_slot(value);
  }
  const auto key = Form(value.index, static_cast<int>(layout), static_cast<int>(rank));
  const auto found = converted_.find(key);
  if (found != converted_.end()) return found->second;
  int slot = -1;
  const ir::Shape dims = padded(source.dims, rank);
  if (source.constant != nullptr) {
    slot = constant_slot(constant_in(value, layout, rank));
  } else if (layout == source.native || same_bytes(dims)) {
    slot = native_slot(value);
  } else {
    const int from = native_slot(value);
    const Swap swap = swap_of(dims, layout);
    const int size = bits(source.type) / 8;
    const char* const direction = layout == Layout::kPlain ? "to-plain " : "to-channels-last ";
    slot =
        add_conversion(from, slots_[static_cast<size_t>(from)].bytes, cat(direction, graph_.value(value).name),
                       [swap, size](const Run& run) {
                         transpose_matrices(run.inputs[0], run.outputs[0], {swap.batch, swap.rows, swap.columns, size});
                         return Status();
                       });
  }
  converted_[key] = slot;
  return slot;
}

void append_reads(const ir::Node& node, std::vector<ir::ValueId>& reads) {
  for (const ir::ValueId input : node.inputs) {
    if (input.valid()) reads.push_back(input);
  }
  for (const ir::Capture& capture : node.captures) reads.push_back(capture.outer);
}

}  // namespace quarkq::exec
