// SPDX-License-Identifier: MIT
// The end of a compilation: results, the buffer table, memory.
#include <algorithm>
#include <new>

#include "exec/compiler.h"
#include "exec/environment.h"

namespace quarkq::exec {

/// What the program hands out: the fetches it reaches and the values that nodes after it read.
Status Compiler::choose_fetches() {
  for (const ir::ValueId value : request_.fetches) {
    if (values_.at(value).when == When::kUnset && !compiled_.is_cut) {
      return corrupt_model("output ", graph_.value(value).name, " is never computed");
    }
    if (values_.at(value).when == When::kNow) compiled_.fetched.push_back(value);
  }
  std::vector<bool> seen(graph_.value_count());  // feeds in ONNX order are at hand outside of the program, too
  for (const Feed& feed : request_.feeds) seen[static_cast<size_t>(feed.value.index)] = feed.layout == Layout::kPlain;
  std::vector<ir::ValueId> wanted = compiled_.reads;
  for (const Deferred& deferred : compiled_.deferred) append_reads(*deferred.node, wanted);
  for (const ir::ValueId value : wanted) {
    const ValueTable::Entry& source = values_.at(value);
    if (source.when != When::kNow || seen[static_cast<size_t>(value.index)]) continue;
    seen[static_cast<size_t>(value.index)] = true;
    if (source.constant != nullptr) {
      compiled_.constants.push_back({value, *source.constant});
    } else {
      compiled_.fetched.push_back(value);
    }
  }
  return Status();
}

void Compiler::bind_fetches() {
  for (const ir::ValueId value : compiled_.fetched) {
    const ValueTable::Entry& source = values_.at(value);
    if (source.constant != nullptr) {
      bind_result(source, Layout::kPlain, -1);
      program_.results_.back() = *source.constant;
      continue;
    }
    bind_result(source, Layout::kPlain,
                values_.slot_in(value, Layout::kPlain, static_cast<int64_t>(source.dims.size())));
  }
  for (const Carried& carried : compiled_.carried) {
    const ValueTable::Entry& source = values_.at(carried.value);
    bind_result(source, carried.layout, values_.native_slot(carried.value));
  }
}

/// One more result of the program, which lies in `layout` in this slot; -1: it is known already.
void Compiler::bind_result(const ValueTable::Entry& source, Layout layout, int slot) {
  program_.fetch_slots_.push_back(slot);
  program_.results_.emplace_back();
  result_specs_.push_back({source.type, stored_dims(source.dims, layout), layout, nullptr});
  if (slot >= 0) result_bytes_ += storage_bytes(source.type, ir::checked_count(source.dims));
}

BufferPlan Compiler::plan() const {
  BufferRequest request{values_.slots(), program_.steps_, program_.taps_, program_.fetch_slots_, {}, in_place_, {}};
  for (const Spec& spec : result_specs_)
    request.result_bytes.push_back(storage_bytes(spec.type, ir::checked_count(spec.dims)));
  request.limit = request_.values;
  if (request.limit.bytes > 0) {
    const int64_t beside = segmenter_.weights() + result_bytes_ + static_cast<int64_t>(scratch_bytes_);
    request.limit.bytes = std::max<int64_t>(1, request.limit.bytes - beside);
  }
  return plan_buffers(request);
}

void Compiler::allocate(const BufferPlan& plan) {
  for (size_t i = 0; i < result_specs_.size(); ++i) {
    const Spec& spec = result_specs_[i];
    if (program_.fetch_slots_[i] >= 0) program_.results_[i] = ir::Tensor::allocate(spec.type, spec.dims);
  }
  constexpr std::align_val_t kAlignment{64};
  // Throws instead of returning a Status: that would be a limit, which a caller may go around.
  auto* arena = static_cast<std::byte*>(::operator new(std::max<size_t>(program_.arena_bytes_, 64), kAlignment));
  program_.arena_ = {arena, [](std::byte* p) { ::operator delete(p, kAlignment); }};
  program_.scratch_ = arena + plan.memory.total;
  const std::vector<Slot>& slots = values_.slots();
  program_.buffers_.resize(slots.size());
  for (size_t s = 0; s < slots.size(); ++s) {
    if (slots[s].constant.is_defined())
      program_.buffers_[s] = const_cast<std::byte*>(slots[s].constant.raw());  // no step writes to it
  }
  for (size_t i = 0; i < plan.result_slots.size(); ++i) {
    for (const int slot : plan.result_slots[i])
      program_.buffers_[static_cast<size_t>(slot)] = program_.results_[i].fresh_raw();
  }
  program_.result_slots_ = plan.result_slots;
  place(plan, arena);
}

/// Points the slots to the arena, and plans what moves there between two pieces of one buffer.
void Compiler::place(const BufferPlan& plan, std::byte* memory) {
  for (size_t i = 0; i < plan.pieces.size(); ++i) {
    const Piece& piece = plan.pieces[i];
    const std::vector<int>& slots = plan.piece_slots[piece.buffer];
    std::byte* const there = memory + plan.memory.offsets[i];
    if (i == 0 || plan.pieces[i - 1].buffer != piece.buffer) {
      for (const int slot : slots) program_.buffers_[static_cast<size_t>(slot)] = there;
      continue;
    }
    Spill spill;
    spill.after = plan.pieces[i - 1].lifetime.last;
    spill.before = piece.lifetime.first;
    spill.bytes = piece.lifetime.bytes;
    spill.from = memory + plan.memory.offsets[i - 1];
    spill.to = there;
    spill.slots = slots;
    program_.spills_.add(std::move(spill));
  }
  program_.spills_.plan_file();
}

/// By slot: a step, a tap or a result reads it.
std::vector<bool> Compiler::slots_in_use() const {
  std::vector<bool> used(values_.slots().size());
  const auto use = [&](int slot) {
    if (slot >= 0) used[static_cast<size_t>(slot)] = true;
  };
  for (const Step& step : program_.steps_) std::ranges::for_each(step.inputs, use);
  for (const Tap& tap : program_.taps_) use(tap.slot);
  std::ranges::for_each(program_.fetch_slots_, use);
  return used;
}

/// Those that a run reads; the others, such as weights that a kernel has packed, are released.
void Compiler::own_constants(const std::vector<bool>& used) {
  const std::vector<Slot>& slots = values_.slots();
  for (size_t s = 0; s < slots.size(); ++s) {
    if (used[s] && slots[s].constant.is_defined()) program_.owned_.push_back(slots[s].constant);
  }
}

/// A segment is not given what it hands on alone: that may lie on disk.
void Compiler::leave_out_feeds(const std::vector<bool>& used) {
  compiled_.reads_feed.assign(request_.feeds.size(), true);
  if (request_.segment_bytes == 0) return;
  size_t kept = 0;
  for (size_t i = 0; i < request_.feeds.size(); ++i) {
    compiled_.reads_feed[i] = used[static_cast<size_t>(program_.feed_slots_[i])];
    if (!compiled_.reads_feed[i]) continue;
    program_.feed_slots_[kept] = program_.feed_slots_[i];
    program_.feeds_[kept] = program_.feeds_[i];
    program_.feed_names_[kept++] = program_.feed_names_[i];
  }
  program_.feed_slots_.resize(kept);
  program_.feeds_.resize(kept);
  program_.feed_names_.resize(kept);
}

Result<Compiled> Compiler::finish() {
  QQ_RETURN_IF_ERROR(choose_fetches());
  bind_fetches();
  for (const ir::ValueId value : request_.taps) {
    const When when = values_.at(value).when;
    if (when == When::kLater || (when == When::kUnset && compiled_.is_cut)) compiled_.unheard.push_back(value);
  }
  const BufferPlan buffers = plan();
  program_.arena_bytes_ = buffers.memory.total + (scratch_bytes_ + 63) / 64 * 64;
  const double needed = static_cast<double>(program_.arena_bytes_) + static_cast<double>(result_bytes_);
  const auto allowed = static_cast<double>(allowed_memory(request_.max_memory));
  if (needed > allowed) {
    return resource_error("running the model needs ", bytes_text(needed),
                          " for intermediate values and results, allowed are ", bytes_text(allowed));
  }
  allocate(buffers);
  const std::vector<bool> used = slots_in_use();
  own_constants(used);
  leave_out_feeds(used);
  std::stable_sort(program_.taps_.begin(), program_.taps_.end(),
                   [](const Tap& a, const Tap& b) { return a.after_step < b.after_step; });
  return std::move(compiled_);
}

}  // namespace quarkq::exec
