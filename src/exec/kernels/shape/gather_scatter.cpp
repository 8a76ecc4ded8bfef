// SPDX-License-Identifier: MIT
// Operators that move elements to or from places named by index tensors. Indices are checked before anything is moved.
#include "exec/kernels/shape/gather_scatter.h"

#include "base/index.h"
#include "exec/op_def.h"
#include "ir/quantizing_ops.h"

namespace quarkq::exec {
namespace {

// ---- Gather ---------------------------------------------------------------------------------------------------------

Result<Kernel> prepare_gather(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(require_indices(p, 1));
  const Spec& x = p.in(0);
  const Spec& indices = p.in(1);
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", 0), x.rank()));
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  const AxisView view = axis_view(x.dims, axis);
  ir::Shape dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  p.out(0, x.type, std::move(dims));
  const int64_t count = product(indices.dims), unit = view.inner * bytes;
  return Kernel([=, label = p.label(), wide = is_wide(p, 1)](const Run& run) {
    const IndexReader index{run.inputs[1], wide};
    QQ_RETURN_IF_ERROR(check_indices(label, index, count, view.count));
    for_rows(view.outer * count, unit / 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = i / count * view.count + from_front(index[i % count], view.count);
        std::memcpy(run.outputs[0] + i * unit, run.inputs[0] + from * unit, as_index(unit));
      }
    });
    return Status();
  });
}

// ---- GatherElements, ScatterElements --------------------------------------------------------------------------------

/// Walks all places of an index tensor and, alongside, the place in a data tensor that differs only along `axis`.
struct ElementWalk {
  ir::Shape dims;                ///< of the indices
  std::vector<int64_t> strides;  ///< of the data
  size_t axis = 0;

  /// Elements of data between neighbouring columns.
  int64_t column_step() const { return dims.empty() || axis + 1 == dims.size() ? 0 : strides.back(); }
  /// Data position of the first index of row `row` (counted over all dimensions but the last), without the axis' share.
  int64_t row_base(int64_t row) const {
    int64_t base = 0;
    for (size_t d = dims.empty() ? 0 : dims.size() - 1; d-- > 0; row /= dims[d]) {
      if (d != axis) base += row % dims[d] * strides[d];
    }
    return base;
  }
  /// Calls visit(index position, data position without the axis' share).
  template <typename Visit>
  void each(const Visit& visit) const {
    const int64_t count = product(dims);
    ir::Shape place(dims.size());
    int64_t base = 0;
    for (int64_t i = 0; i < count; ++i) {
      visit(i, base);
      for (size_t d = dims.size(); d-- > 0;) {
        const int64_t step = d == axis ? 0 : strides[d];
        base += step;
        if (++place[d] < dims[d]) break;
        base -= place[d] * step;
        place[d] = 0;
      }
    }
  }
};

/// One row of an index tensor.
struct IndexRow {
  IndexReader index;
  int64_t first, columns;  ///< indices [first, first + columns)
  int64_t length, step;    ///< of the gathered axis
  int64_t column_step;     ///< elements of data that the next column lies apart
};

/// to[c] = from[c * column_step + index[c] * step]
template <typename Unit, typename Index>
void gather_row_as(const IndexRow& row, const Index* index, const std::byte* from, std::byte* to) {
  const auto* x = reinterpret_cast<const Unit*>(from);
  auto* y = reinterpret_cast<Unit*>(to);
  const int64_t length = row.length, step = row.step, column_step = row.column_step;
  for (int64_t c = 0; c < row.columns; ++c) {
    const int64_t place = index[c];
    y[c] = x[c * column_step + (place < 0 ? place + length : place) * step];
  }
}

template <typename Unit>
void gather_row(const IndexRow& row, const std::byte* from, std::byte* to) {
  if (row.index.wide) {
    return gather_row_as<Unit>(row, reinterpret_cast<const int64_t*>(row.index.data) + row.first, from, to);
  }
  gather_row_as<Unit>(row, reinterpret_cast<const int32_t*>(row.index.data) + row.first, from, to);
}

void gather_row(const IndexRow& row, const std::byte* from, std::byte* to, int64_t bytes) {
  switch (bytes) {
    case 1: return gather_row<uint8_t>(row, from, to);
    case 2: return gather_row<uint16_t>(row, from, to);
    case 4: return gather_row<uint32_t>(row, from, to);
    case 8: return gather_row<uint64_t>(row, from, to);
    default: break;
  }
  for (int64_t c = 0; c < row.columns; ++c) {
    const int64_t place = c * row.column_step + from_front(row.index[row.first + c], row.length) * row.step;
    std::memcpy(to + c * bytes, from + place * bytes, as_index(bytes));
  }
}

/// Checks that input 1 indexes input 0 along the axis and stays inside of it elsewhere.
Result<ElementWalk> element_walk(const Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(require_indices(p, 1));
  const ir::Shape& data = p.in(0).dims;
  const ir::Shape& indices = p.in(1).dims;
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", 0), p.in(0).rank()));
  bool fits = data.size() == indices.size();
  for (size_t i = 0; fits && i < data.size(); ++i) fits = i == as_index(axis) || indices[i] <= data[i];
  if (!fits) return p.corrupt("indices ", shape_text(indices), " do not fit inside ", shape_text(data));
  return ElementWalk{indices, row_major_strides(data), as_index(axis)};
}

Result<Kernel> prepare_gather_elements(Prepare& p) {
  QQ_TRY(ElementWalk walk, element_walk(p));
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  const int64_t length = x.dims[walk.axis], step = walk.strides[walk.axis];
  p.out(0, x.type, p.in(1).dims);
  return Kernel([=, walk = std::move(walk), label = p.label(), wide = is_wide(p, 1)](const Run& run) {
    const IndexReader index{run.inputs[1], wide};
    QQ_RETURN_IF_ERROR(check_indices(label, index, product(walk.dims), length));
    const int64_t columns = walk.dims.empty() ? 1 : walk.dims.back();
    for_rows(columns == 0 ? 0 : product(walk.dims) / columns, 4 * columns, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t first = row * columns, base = walk.row_base(row);
        gather_row({index, first, columns, length, step, walk.column_step()}, run.inputs[0] + base * bytes,
                   run.outputs[0] + first * bytes, bytes);
      }
    });
    return Status();
  });
}

enum class Reduction { kNone, kAdd, kMul, kMin, kMax };

Result<Reduction> scatter_reduction(const Prepare& p) {
  const std::string asked = p.node().string_or("reduction", "none");
  if (asked == "none") return Reduction::kNone;
  if (asked == "add") return Reduction::kAdd;
  if (asked == "mul") return Reduction::kMul;
  if (asked == "min") return Reduction::kMin;
  if (asked == "max") return Reduction::kMax;
  return p.corrupt("reduction is '", asked, "', allowed: none, add, mul, min, max");
}

template <typename T>
T reduced(Reduction reduction, T old, T update) {
  using C = Compute<T>;
  const C a = C(old), b = C(update);
  if constexpr (std::is_integral_v<T>) {  // wraps
    const auto x = static_cast<uint64_t>(static_cast<int64_t>(a)), y = static_cast<uint64_t>(static_cast<int64_t>(b));
    if (reduction == Reduction::kAdd) return static_cast<T>(x + y);
    if (reduction == Reduction::kMul) return static_cast<T>(x * y);
  } else {
    if (reduction == Reduction::kAdd) return static_cast<T>(a + b);
    if (reduction == Reduction::kMul) return static_cast<T>(a * b);
  }
  if (reduction == Reduction::kMin) return b < a ? update : old;
  return b > a ? update : old;
}

/// Puts `count` elements of `updates` into `to`.
struct Put {
  void (*run)(Reduction, std::byte* to, const std::byte* updates, int64_t count) = nullptr;
};

Result<Put> choose_put(const Prepare& p, ElementType type, Reduction reduction) {
  Put put;
  visit_number(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    put.run = [](Reduction how, std::byte* to, const std::byte* updates, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        T* const y = reinterpret_cast<T*>(to) + i;
        const T update = reinterpret_cast<const T*>(updates)[i];
        *y = how == Reduction::kNone ? update : reduced(how, *y, update);
      }
    };
  });
  if (put.run == nullptr && type == ElementType::kBool && reduction == Reduction::kNone) {
    put.run = [](Reduction, std::byte* to, const std::byte* updates, int64_t count) {
      std::memcpy(to, updates, as_index(count));
    };
  }
  if (put.run == nullptr) return p.cannot("scatters ", name(type), ", allowed: numbers, BOOL without reduction");
  return put;
}

Result<Kernel> prepare_scatter_elements(Prepare& p) {
  QQ_TRY(ElementWalk walk, element_walk(p));
  const Spec& x = p.in(0);
  QQ_RETURN_IF_ERROR(p.require_input(2, {x.type}));
  if (p.in(2).dims != walk.dims) return p.corrupt("updates ", shape_text(p.in(2).dims), " for ", shape_text(walk.dims));
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  QQ_TRY(const Reduction reduction, scatter_reduction(p));
  QQ_TRY(const Put put, choose_put(p, x.type, reduction));
  const int64_t length = x.dims[walk.axis], step = walk.strides[walk.axis], count = product(x.dims);
  p.out(0, x.type, x.dims);
  return Kernel([=, walk = std::move(walk), label = p.label(), wide = is_wide(p, 1)](const Run& run) {
    const IndexReader index{run.inputs[1], wide};
    QQ_RETURN_IF_ERROR(check_indices(label, index, product(walk.dims), length));
    std::memcpy(run.outputs[0], run.inputs[0], as_index(count * bytes));
    walk.each([&](int64_t i, int64_t base) {
      const int64_t to = base + from_front(index[i], length) * step;
      put.run(reduction, run.outputs[0] + to * bytes, run.inputs[2] + i * bytes, 1);
    });
    return Status();
  });
}

// ---- GatherND, ScatterND --------------------------------------------------------------------------------------------

/// Index tuples [..., depth] that name slices of a data tensor.
struct TupleWalk {
  int64_t batches = 1;           ///< product of the leading dimensions that both tensors share
  int64_t tuples = 0;            ///< per batch
  int64_t batch_stride = 0;      ///< elements of data per batch
  int64_t slice = 1;             ///< elements that one tuple names
  ir::Shape lengths;             ///< of the indexed dimensions
  std::vector<int64_t> strides;  ///< of the indexed dimensions, elements

  /// Position of the slice that tuple `i` names, or an error.
  Result<int64_t> position(const std::string& label, const IndexReader& index, int64_t i) const {
    const auto depth = static_cast<int64_t>(lengths.size());
    int64_t place = i / tuples * batch_stride;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t value = index[i * depth + d], length = lengths[as_index(d)];
      if (value < -length || value >= length) {
        return bad_data(label, ": index ", value, " is outside of [", -length, ",", length - 1, "]");
      }
      place += from_front(value, length) * strides[as_index(d)];
    }
    return place;
  }
};

Result<TupleWalk> tuple_walk(const Prepare& p, int64_t batch_dims) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(require_indices(p, 1));
  const ir::Shape& data = p.in(0).dims;
  const ir::Shape& indices = p.in(1).dims;
  const auto rank = static_cast<int64_t>(data.size()), index_rank = static_cast<int64_t>(indices.size());
  if (rank < 1 || index_rank < 1 || batch_dims < 0 || batch_dims >= std::min(rank, index_rank)) {
    return p.corrupt("batch_dims ", batch_dims, " for data ", shape_text(data), " and indices ", shape_text(indices));
  }
  const int64_t depth = indices.back();
  const bool same_batch = std::equal(data.begin(), data.begin() + batch_dims, indices.begin());
  if (depth < 1 || depth > rank - batch_dims || !same_batch) {
    return p.corrupt("indices ", shape_text(indices), " do not index ", shape_text(data));
  }
  const std::vector<int64_t> strides = row_major_strides(data);
  TupleWalk walk;
  walk.batches = product(data, 0, batch_dims);
  walk.tuples = product(indices, batch_dims, index_rank - 1);
  walk.batch_stride = product(data, batch_dims, rank);
  walk.slice = product(data, batch_dims + depth, rank);
  walk.lengths.assign(data.begin() + batch_dims, data.begin() + batch_dims + depth);
  walk.strides.assign(strides.begin() + batch_dims, strides.begin() + batch_dims + depth);
  return walk;
}

Result<Kernel> prepare_gather_nd(Prepare& p) {
  const int64_t batch_dims = p.node().int_or("batch_dims", 0);
  QQ_TRY(TupleWalk walk, tuple_walk(p, batch_dims));
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  ir::Shape dims(p.in(1).dims.begin(), p.in(1).dims.end() - 1);
  dims.insert(dims.end(), x.dims.begin() + batch_dims + p.in(1).dims.back(), x.dims.end());
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  p.out(0, x.type, std::move(dims));
  return Kernel([=, walk = std::move(walk), label = p.label(), wide = is_wide(p, 1)](const Run& run) {
    const IndexReader index{run.inputs[1], wide};
    const int64_t unit = walk.slice * bytes;
    for (int64_t i = 0; i < walk.batches * walk.tuples; ++i) {
      QQ_TRY(const int64_t from, walk.position(label, index, i));
      std::memcpy(run.outputs[0] + i * unit, run.inputs[0] + from * bytes, as_index(unit));
    }
    return Status();
  });
}

Result<Kernel> prepare_scatter_nd(Prepare& p) {
  QQ_TRY(TupleWalk walk, tuple_walk(p, 0));
  const Spec& x = p.in(0);
  QQ_RETURN_IF_ERROR(p.require_input(2, {x.type}));
  ir::Shape expected(p.in(1).dims.begin(), p.in(1).dims.end() - 1);
  expected.insert(expected.end(), x.dims.begin() + p.in(1).dims.back(), x.dims.end());
  if (p.in(2).dims != expected) {
    return p.corrupt("updates ", shape_text(p.in(2).dims), ", must be ", shape_text(expected));
  }
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  QQ_TRY(const Reduction reduction, scatter_reduction(p));
  QQ_TRY(const Put put, choose_put(p, x.type, reduction));
  const int64_t count = product(x.dims);
  p.out(0, x.type, x.dims);
  return Kernel([=, walk = std::move(walk), label = p.label(), wide = is_wide(p, 1)](const Run& run) {
    const IndexReader index{run.inputs[1], wide};
    std::memcpy(run.outputs[0], run.inputs[0], as_index(count * bytes));
    for (int64_t i = 0; i < walk.tuples; ++i) {
      QQ_TRY(const int64_t to, walk.position(label, index, i));
      put.run(reduction, run.outputs[0] + to * bytes, run.inputs[2] + i * walk.slice * bytes, walk.slice);
    }
    return Status();
  });
}

using enum LayoutRule;
constexpr OpDef kGatherScatterOps[] = {
    {"Compress", "", 9, kPlain, prepare_compress},
    {"CumProd", "", 26, kPlain, prepare_cum_prod},
    {"CumSum", "", 11, kPlain, prepare_cum_sum},
    {"Gather", "", 1, kPlain, prepare_gather},
    {"GatherBlockQuantized", ir::kMicrosoftDomain, 1, kPlain, prepare_gather_block_quantized},
    {"GatherElements", "", 11, kPlain, prepare_gather_elements},
    {"GatherND", "", 11, kPlain, prepare_gather_nd},
    {"NonZero", "", 9, kPlain, prepare_non_zero},
    {"OneHot", "", 9, kPlain, prepare_one_hot},
    {"ReverseSequence", "", 10, kPlain, prepare_reverse_sequence},
    {"Scatter", "", 9, kPlain, prepare_scatter_elements},
    {"ScatterElements", "", 11, kPlain, prepare_scatter_elements},
    {"ScatterND", "", 11, kPlain, prepare_scatter_nd},
    {"TensorScatter", "", 24, kPlain, prepare_tensor_scatter},
    {"TopK", "", 1, kPlain, prepare_top_k},
    {"Unique", "", 11, kPlain, prepare_unique},
};

}  // namespace

std::span<const OpDef> gather_scatter_ops() { return kGatherScatterOps; }

}  // namespace quarkq::exec
