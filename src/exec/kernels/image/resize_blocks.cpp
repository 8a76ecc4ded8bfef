// SPDX-License-Identifier: MIT
// DepthToSpace and SpaceToDepth: both are a view with more dimensions, transposed. Letters name the dimensions of that
// view: N, C channels of the image with blocks spread out, H W of the small image, a b rows and columns of a block.
#include <string>

#include "exec/kernels/image/resize_prepare.h"
#include "exec/kernels/shared/strided_copy.h"

namespace quarkq::exec {
namespace {

struct Blocks {
  int64_t n = 0, c = 0, h = 0, w = 0, size = 1;  ///< h, w: of the small image
};

Result<Blocks> read_resize_blocks(const Prepare& p, bool to_space) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  if (x.rank() != 4) return p.corrupt("input 0 has rank ", x.rank(), ", allowed: 4");
  const ir::Shape dims = logical_dims(x.dims, x.layout);
  Blocks blocks{dims[0], dims[1], dims[2], dims[3], p.node().int_or("blocksize", 0)};
  const int64_t size = blocks.size;
  if (size < 1 || size > 65536) return p.corrupt("blocksize is ", size, ", allowed: 1 to 65536");
  const bool fits = to_space ? dims[1] % (size * size) == 0 : dims[2] % size == 0 && dims[3] % size == 0;
  if (!fits) return p.corrupt("blocksize ", size, " does not divide ", shape_text(dims));
  if (to_space) blocks.c /= size * size;
  if (!to_space) blocks.h /= size;
  if (!to_space) blocks.w /= size;
  return blocks;
}

/// Copies from dimensions named by `from` to the order `to`, for example "NabCHW" to "NCHaWb".
Kernel rearrange(const Blocks& b, const std::string& from, const std::string& to, int64_t element) {
  ir::Shape dims;
  for (const char letter : from) {
    dims.push_back(letter == 'N' ? b.n : letter == 'C' ? b.c : letter == 'H' ? b.h : letter == 'W' ? b.w : b.size);
  }
  std::vector<int64_t> order;
  for (const char letter : to) order.push_back(static_cast<int64_t>(from.find(letter)));
  return [plan = plan_transpose(dims, order, element)](const Run& run) {
    run_copy(plan, run.inputs[0], run.outputs[0]);
    return Status();
  };
}

}  // namespace

Result<Kernel> prepare_depth_to_space(Prepare& p) {
  QQ_TRY(const Blocks b, read_resize_blocks(p, /*to_space=*/true));
  const std::string mode = p.node().string_or("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return p.corrupt("mode is '", mode, "', allowed: DCR, CRD");
  QQ_TRY(const int64_t element, element_bytes(p, p.in(0).type));
  p.out(0, p.in(0).type, stored_dims({b.n, b.c, b.h * b.size, b.w * b.size}, p.layout()));
  const std::string depth = mode == "DCR" ? "abC" : "Cab";
  if (p.layout() == Layout::kPlain) return rearrange(b, cat("N", depth, "HW"), "NCHaWb", element);
  return rearrange(b, cat("NHW", depth), "NHaWbC", element);
}

Result<Kernel> prepare_space_to_depth(Prepare& p) {
  QQ_TRY(const Blocks b, read_resize_blocks(p, /*to_space=*/false));
  QQ_TRY(const int64_t element, element_bytes(p, p.in(0).type));
  p.out(0, p.in(0).type, stored_dims({b.n, b.c * b.size * b.size, b.h, b.w}, p.layout()));
  if (p.layout() == Layout::kPlain) return rearrange(b, "NCHaWb", "NabCHW", element);
  return rearrange(b, "NHaWbC", "NHWabC", element);
}

}  // namespace quarkq::exec
