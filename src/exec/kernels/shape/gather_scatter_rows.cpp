// SPDX-License-Identifier: MIT
// Operators that move whole rows to places that depend on the batch entry: ReverseSequence, TensorScatter.
#include "base/index.h"
#include "exec/kernels/shape/gather_scatter.h"
#include "exec/kernels/shared/type_bridges.h"

namespace quarkq::exec {

Result<Kernel> prepare_reverse_sequence(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(require_indices(p, 1));
  const Spec& x = p.in(0);
  if (x.rank() < 2) return p.corrupt("input 0 has rank ", x.rank(), ", allowed: 2 and more");
  const int64_t batch_axis = p.node().int_or("batch_axis", 1), time_axis = p.node().int_or("time_axis", 0);
  const bool batch_first = batch_axis == 0 && time_axis == 1, time_first = batch_axis == 1 && time_axis == 0;
  if (!batch_first && !time_first) {
    return p.corrupt("batch_axis is ", batch_axis, " and time_axis ", time_axis, ", allowed: 0 and 1");
  }
  const int64_t batch = x.dims[as_index(batch_axis)], time = x.dims[as_index(time_axis)];
  if (p.in(1).dims != ir::Shape{batch}) {
    return p.corrupt("sequence_lens is ", shape_text(p.in(1).dims), ", must be [", batch, "]");
  }
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  const int64_t unit = product(x.dims, 2, x.rank()) * bytes;
  p.out(0, x.type, x.dims);
  return Kernel([=, label = p.label(), wide = is_wide(p, 1)](const Run& run) {
    const IndexReader lengths{run.inputs[1], wide};
    for (int64_t b = 0; b < batch; ++b) {
      if (lengths[b] >= 0 && lengths[b] <= time) continue;
      return bad_data(label, ": sequence length ", lengths[b], " is outside of [0,", time, "]");
    }
    for_rows(batch * time, unit / 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = batch_axis == 0 ? i / time : i % batch, t = batch_axis == 0 ? i % time : i / batch;
        const int64_t source = t < lengths[b] ? lengths[b] - 1 - t : t;
        const int64_t from = batch_axis == 0 ? b * time + source : source * batch + b;
        std::memcpy(run.outputs[0] + i * unit, run.inputs[0] + from * unit, as_index(unit));
      }
    });
    return Status();
  });
}

namespace {

/// Fails unless input 1 has the dims of input 0, but for a shorter `axis`.
Status check_update(const Prepare& p, int64_t axis) {
  QQ_RETURN_IF_ERROR(p.require_input(1, {p.in(0).type}));
  const ir::Shape &cache = p.in(0).dims, &update = p.in(1).dims;
  bool fits = cache.size() == update.size();
  for (size_t d = 0; fits && d < cache.size(); ++d) {
    fits = d == as_index(axis) ? update[d] <= cache[d] : update[d] == cache[d];
  }
  if (fits) return Status();
  return p.corrupt("update ", shape_text(update), " does not fit inside ", shape_text(cache), " along axis ", axis);
}

}  // namespace

/// Inputs: past_cache, update, write_indices (one for each batch entry, zero without them).
Result<Kernel> prepare_tensor_scatter(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", -2), x.rank()));
  if (axis == 0) return p.corrupt("axis is 0, which is the batch");
  QQ_RETURN_IF_ERROR(check_update(p, axis));
  const std::string mode = p.node().string_or("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    return p.corrupt("mode is '", mode, "', allowed: linear, circular");
  }
  const int64_t batch = x.dims[0];
  if (p.has(2)) {
    QQ_RETURN_IF_ERROR(require_indices(p, 2));
    if (p.in(2).dims != ir::Shape{batch}) {
      return p.corrupt("write_indices is ", shape_text(p.in(2).dims), ", must be [", batch, "]");
    }
  }
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  const AxisView v = axis_view(x.dims, axis);
  const int64_t rows = p.in(1).dims[as_index(axis)], unit = v.inner * bytes,
                prefixes = batch == 0 ? 0 : v.outer / batch;
  p.out(0, x.type, x.dims);
  return Kernel([=, label = p.label(), circular = mode == "circular",
                 wide = p.has(2) && is_wide(p, 2)](const Run& run) {
    for (int64_t b = 0; has_input(run, 2) && b < batch; ++b) {
      const int64_t first = IndexReader{run.inputs[2], wide}[b];
      if (first >= 0 && (circular ? first < std::max<int64_t>(v.count, 1) : first <= v.count - rows)) continue;
      return bad_data(label, ": write index ", first, " does not fit ", rows, " rows into ", v.count);
    }
    std::memcpy(run.outputs[0], run.inputs[0], as_index(v.outer * v.count * unit));
    for (int64_t o = 0; o < v.outer; ++o) {
      const int64_t first = has_input(run, 2) ? IndexReader{run.inputs[2], wide}[o / prefixes] : 0;
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t to = (first + i) % v.count;
        std::memcpy(run.outputs[0] + (o * v.count + to) * unit, run.inputs[1] + (o * rows + i) * unit, as_index(unit));
      }
    }
    return Status();
  });
}

// com.microsoft GatherBlockQuantized (ref:writing#embedding-tables): rows of a table of 2, 4 or 8 bits in blocks along
// its last axis, as floats. Only the rows that are asked for are expanded.

namespace {

constexpr size_t kTableCodes = 0, kTableIndices = 1, kTableScales = 2, kTableZeroPoints = 3;

struct BlockTable {
  int64_t bits = 4, block = 128;
  int64_t rows = 0, width = 0, blocks = 0;  ///< entries of the gathered axis; elements and blocks of one entry
  ElementType real = ElementType::kFloat;

  int64_t row_bytes() const { return width * bits / 8; }
  int64_t zero_bytes() const { return (blocks * bits + 7) / 8; }
  int64_t code(const std::byte* codes, int64_t i) const {
    const int64_t per_byte = 8 / bits, mask = (int64_t{1} << bits) - 1;
    return static_cast<int64_t>(codes[i / per_byte]) >> (i % per_byte * bits) & mask;
  }
};

Status read_block_sizes(const Prepare& p, BlockTable& table) {
  const int64_t rank = p.in(kTableCodes).rank();
  table.bits = p.node().int_or("bits", 4);
  table.block = p.node().int_or("block_size", 128);
  if (table.bits != 2 && table.bits != 4 && table.bits != 8)
    return p.cannot("bits is ", table.bits, ", allowed: 2, 4, 8");
  if (table.block < 16 || table.block > (1 << 20) || (table.block & (table.block - 1)) != 0)
    return p.corrupt("block_size is ", table.block, ", allowed: powers of two from 16 to ", 1 << 20);
  if (rank != 2) return p.cannot("the table is ", shape_text(p.in(kTableCodes).dims), ", allowed: two dimensions");
  QQ_TRY(const int64_t gathered, p.axis(p.node().int_or("gather_axis", 0), rank));
  QQ_TRY(const int64_t quantized, p.axis(p.node().int_or("quantize_axis", 1), rank));
  if (gathered != 0 || quantized != 1)
    return p.cannot("gather_axis is ", gathered, ", quantize_axis is ", quantized, ", allowed: 0 and 1");
  return Status();
}

Status read_block_table(const Prepare& p, BlockTable& table) {
  QQ_RETURN_IF_ERROR(p.require_input(kTableCodes, {ElementType::kUInt8}));
  QQ_RETURN_IF_ERROR(require_indices(p, kTableIndices));
  QQ_RETURN_IF_ERROR(require_real(p, kTableScales));
  QQ_RETURN_IF_ERROR(read_block_sizes(p, table));
  table.real = p.in(kTableScales).type;
  table.rows = p.in(kTableCodes).dims[0];
  table.width = p.in(kTableCodes).dims[1] * (8 / table.bits);
  table.blocks = (table.width + table.block - 1) / table.block;
  if (p.in(kTableScales).dims != ir::Shape{table.rows, table.blocks})
    return p.corrupt("scales (input 2) are ", shape_text(p.in(kTableScales).dims), ", needed are ", table.rows, "x",
                     table.blocks);
  if (!p.has(kTableZeroPoints)) return Status();
  QQ_RETURN_IF_ERROR(p.require_input(kTableZeroPoints, {ElementType::kUInt8}));
  if (p.in(kTableZeroPoints).dims != ir::Shape{table.rows, table.zero_bytes()})
    return p.corrupt("zero points (input 3) are ", shape_text(p.in(kTableZeroPoints).dims), ", needed are ", table.rows,
                     "x", table.zero_bytes());
  return Status();
}

/// Entry `row` of the table; `scales` has room for its blocks.
void expand_row(const BlockTable& table, const Run& run, int64_t row, std::vector<float>& scales, float* to) {
  const int64_t size = bits(table.real) / 8;
  real_to_floats(table.real, run.inputs[kTableScales] + row * table.blocks * size, scales.data(), 0, table.blocks);
  const std::byte* codes = run.inputs[kTableCodes] + row * table.row_bytes();
  const std::byte* zeros =
      has_input(run, kTableZeroPoints) ? run.inputs[kTableZeroPoints] + row * table.zero_bytes() : nullptr;
  for (int64_t block = 0; block < table.blocks; ++block) {
    const int64_t zero = zeros != nullptr ? table.code(zeros, block) : int64_t{1} << (table.bits - 1);
    const float scale = scales[static_cast<size_t>(block)];
    const int64_t end = std::min((block + 1) * table.block, table.width);
    for (int64_t i = block * table.block; i < end; ++i) to[i] = static_cast<float>(table.code(codes, i) - zero) * scale;
  }
}

}  // namespace

Result<Kernel> prepare_gather_block_quantized(Prepare& p) {
  BlockTable table;
  QQ_RETURN_IF_ERROR(read_block_table(p, table));
  ir::Shape dims = p.in(kTableIndices).dims;
  const int64_t count = product(dims);
  dims.push_back(table.width);
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  p.out(0, table.real, std::move(dims));
  return Kernel([=, label = p.label(), wide = is_wide(p, kTableIndices)](const Run& run) {
    const IndexReader index{run.inputs[kTableIndices], wide};
    QQ_RETURN_IF_ERROR(check_indices(label, index, count, table.rows));
    const int64_t row_bytes = table.width * bits(table.real) / 8;
    for_rows(count, table.width, [&](int64_t begin, int64_t end) {
      std::vector<float> scales(static_cast<size_t>(table.blocks)), values(static_cast<size_t>(table.width));
      for (int64_t i = begin; i < end; ++i) {
        expand_row(table, run, from_front(index[i], table.rows), scales, values.data());
        floats_to_real(table.real, values.data(), run.outputs[0] + i * row_bytes, 0, table.width);
      }
    });
    return Status();
  });
}

}  // namespace quarkq::exec
