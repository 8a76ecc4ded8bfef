// SPDX-License-Identifier: MIT
// RotaryEmbedding: rotates pairs of each head by angles that depend on the position.
#include "exec/kernels/shared/type_bridges.h"
#include "exec/op_def.h"

namespace quarkq::exec {
namespace {

struct Rotation {
  int64_t batch = 0, heads = 0, sequence = 0, head_size = 0;
  int64_t half = 0;          ///< pairs of a head that are rotated
  bool heads_first = false;  ///< [batch, heads, sequence, head size], else [batch, sequence, heads * head size]
  bool interleaved = false;  ///< pairs are neighbours, else half a rotation apart
  int64_t positions = 0;     ///< rows of the caches; 0: the caches hold a row for each position of the input
  int64_t rows() const { return batch * sequence * heads; }
};

void rotate(const Rotation& r, const float* x, const float* cosines, const float* sines, float* y) {
  const int64_t step = r.interleaved ? 2 : 1, apart = r.interleaved ? 1 : r.half;
  for (int64_t i = 0; i < r.half; ++i) {
    const float a = x[i * step], b = x[i * step + apart];
    y[i * step] = cosines[i] * a - sines[i] * b;
    y[i * step + apart] = sines[i] * a + cosines[i] * b;
  }
  std::copy(x + 2 * r.half, x + r.head_size, y + 2 * r.half);
}

/// Row of the caches for a position of the input.
int64_t cache_row(const Rotation& r, const Run& run, int64_t batch, int64_t position) {
  const int64_t place = batch * r.sequence + position;
  return r.positions == 0 ? place : run.in<int64_t>(3)[place];
}

Kernel rotation_kernel(const Rotation& r, const std::string& label) {
  return [r, label](const Run& run) {
    for (int64_t i = 0; r.positions != 0 && i < r.batch * r.sequence; ++i) {
      const int64_t position = run.in<int64_t>(3)[i];
      if (position < 0 || position >= r.positions) {
        return bad_data(label, ": position ", position, " is outside of [0,", r.positions - 1, "]");
      }
    }
    for_rows(r.rows(), 4 * r.head_size, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t position = r.heads_first ? i % r.sequence : i / r.heads % r.sequence;
        const int64_t row = cache_row(r, run, i / (r.heads * r.sequence), position);
        rotate(r, run.in<float>(0) + i * r.head_size, run.in<float>(1) + row * r.half, run.in<float>(2) + row * r.half,
               run.out<float>(0) + i * r.head_size);
      }
    });
    return Status();
  };
}

Status read_shape(const Prepare& p, Rotation& r) {
  const ir::Shape& x = p.in(0).dims;
  if (x.size() != 3 && x.size() != 4) return p.corrupt("input 0 has rank ", x.size(), ", allowed: 3, 4");
  r.heads_first = x.size() == 4;
  r.batch = x[0];
  r.sequence = r.heads_first ? x[2] : x[1];
  r.heads = r.heads_first ? x[1] : p.node().int_or("num_heads", 0);
  if (!r.heads_first && (r.heads < 1 || x[2] % r.heads != 0)) {
    return p.corrupt("num_heads is ", r.heads, ", must divide ", x[2]);
  }
  r.head_size = r.heads_first ? x[3] : x[2] / r.heads;
  const int64_t named = p.node().int_or("rotary_embedding_dim", 0), rotated = named == 0 ? r.head_size : named;
  if (rotated < 0 || rotated > r.head_size || rotated % 2 != 0) {
    return p.corrupt("rotates ", rotated, " of ", r.head_size, " elements of a head, allowed: an even number");
  }
  r.half = rotated / 2;
  r.interleaved = p.node().int_or("interleaved", 0) != 0;
  return Status();
}

Status check_caches(const Prepare& p, Rotation& r) {
  ir::Shape wanted = {r.batch, r.sequence, r.half};
  if (p.has(3)) {
    QQ_RETURN_IF_ERROR(p.require_input(3, {ElementType::kInt64}));
    const ir::Shape ids = {r.batch, r.sequence};
    if (p.in(3).dims != ids)
      return p.corrupt("position_ids is ", shape_text(p.in(3).dims), ", must be ", shape_text(ids));
    if (p.in(1).rank() != 2) return p.corrupt("cos_cache has rank ", p.in(1).rank(), ", must be 2 with position_ids");
    r.positions = p.in(1).dims[0];
    if (r.positions == 0 && r.batch * r.sequence > 0) return p.corrupt("cos_cache is empty");
    wanted = {r.positions, r.half};
  }
  for (size_t i = 1; i < 3; ++i) {
    QQ_RETURN_IF_ERROR(require_real(p, i));
    if (p.in(i).dims == wanted) continue;
    return p.corrupt("input ", i, " is ", shape_text(p.in(i).dims), ", must be ", shape_text(wanted));
  }
  return Status();
}

Result<Kernel> prepare_rotary_embedding(Prepare& p) {
  for (size_t i = 0; i < 3; ++i) QQ_RETURN_IF_ERROR(require_real(p, i));
  Rotation r;
  QQ_RETURN_IF_ERROR(read_shape(p, r));
  QQ_RETURN_IF_ERROR(check_caches(p, r));
  p.out(0, p.in(0).type, p.in(0).dims);
  return bridged(p, rotation_kernel(r, p.label()));
}

}  // namespace

std::span<const OpDef> rotary_ops() {
  static constexpr OpDef kOps[] = {{"RotaryEmbedding", "", 23, LayoutRule::kPlain, prepare_rotary_embedding}};
  return kOps;
}

}  // namespace quarkq::exec
