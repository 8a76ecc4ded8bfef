// SPDX-License-Identifier: MIT
// Col2Im: adds the columns of unfolded blocks back into images of any number of dimensions. Also the row list of the
// image family.
#include "exec/kernels/image/image_ops.h"
#include "exec/op_def.h"

namespace quarkq::exec {
namespace {

/// One spatial axis: blocks of `block` elements, `blocks` of them, in an image of `image` elements.
struct FoldAxis {
  int64_t image = 1, block = 1, blocks = 1, stride = 1, dilation = 1, pad = 0;
};

constexpr int64_t kLongest = int64_t{1} << 31;

/// An optional attribute with `count` entries of at least `lowest`.
struct FoldAttribute {
  const char* name;
  size_t count;
  int64_t lowest;
};

Status read_entry(const Prepare& p, const FoldAttribute& list, size_t i, int64_t& value) {
  const auto* values = p.node().get<std::vector<int64_t>>(list.name);
  if (values == nullptr) return Status();
  if (values->size() != list.count) {
    return p.corrupt(list.name, " has ", values->size(), " entries, must be ", list.count);
  }
  value = (*values)[i];
  if (value >= list.lowest && value <= kLongest) return Status();
  return p.corrupt(list.name, " has an entry ", value, ", allowed: ", list.lowest, " to ", kLongest);
}

Result<std::vector<FoldAxis>> read_axes(const Prepare& p, const std::vector<int64_t>& image,
                                        const std::vector<int64_t>& block) {
  const size_t rank = image.size();
  if (rank == 0 || rank > 16 || block.size() != rank) {
    return p.corrupt("image_shape has ", rank, " entries, block_shape ", block.size(), ", allowed: 1 to 16, alike");
  }
  std::vector<FoldAxis> axes(rank);
  for (size_t i = 0; i < rank; ++i) {
    FoldAxis& axis = axes[i];
    axis.image = image[i];
    axis.block = block[i];
    if (image[i] < 1 || block[i] < 1 || image[i] > kLongest || block[i] > kLongest) {
      return p.corrupt("image ", shape_text(image), " or block ", shape_text(block), " has an entry outside of [1,",
                       kLongest, "]");
    }
    int64_t pad_end = 0;
    const FoldAttribute pads{"pads", 2 * rank, 0};
    QQ_RETURN_IF_ERROR(read_entry(p, {"strides", rank, 1}, i, axis.stride));
    QQ_RETURN_IF_ERROR(read_entry(p, {"dilations", rank, 1}, i, axis.dilation));
    QQ_RETURN_IF_ERROR(read_entry(p, pads, i, axis.pad));
    QQ_RETURN_IF_ERROR(read_entry(p, pads, i + rank, pad_end));
    const int64_t room = axis.image + axis.pad + pad_end - ((axis.block - 1) * axis.dilation + 1);
    if (room < 0) return p.corrupt("a block of ", axis.block, " does not fit an axis of ", axis.image);
    axis.blocks = room / axis.stride + 1;
  }
  return axes;
}

/// What is read and written while one image is folded.
struct Folding {
  const float* from;  ///< the next column
  float* image;
};

/// Adds the columns of one place in the blocks, from axis `d` on. `folding.from` moves on by the number of columns.
void add_columns(const std::vector<FoldAxis>& axes, const std::vector<int64_t>& place, size_t d, int64_t offset,
                 Folding& folding) {
  if (d == axes.size()) {
    if (offset >= 0) folding.image[offset] += *folding.from;
    ++folding.from;
    return;
  }
  const FoldAxis& a = axes[d];
  for (int64_t i = 0; i < a.blocks; ++i) {
    const int64_t at = i * a.stride - a.pad + place[d] * a.dilation;
    const bool inside = offset >= 0 && at >= 0 && at < a.image;
    add_columns(axes, place, d + 1, inside ? offset * a.image + at : -1, folding);
  }
}

void fold_image(const std::vector<FoldAxis>& axes, int64_t places, const float* columns, float* image) {
  std::vector<int64_t> place(axes.size());
  Folding folding{columns, image};
  for (int64_t i = 0; i < places; ++i) {
    add_columns(axes, place, 0, 0, folding);
    for (size_t d = axes.size(); d-- > 0;) {
      if (++place[d] < axes[d].block) break;
      place[d] = 0;
    }
  }
}

}  // namespace

Result<Kernel> prepare_col2im(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const Spec& x = p.in(0);
  if (x.rank() != 3) return p.corrupt("input 0 has rank ", x.rank(), ", allowed: 3");
  QQ_TRY(const IntList image, read_ints(p, "image_shape", 1, 1));
  QQ_TRY(const IntList block, read_ints(p, "block_shape", 2, 1));
  if (!image.known || !block.known) return Prepare::defer();
  QQ_TRY(const std::vector<FoldAxis> axes, read_axes(p, image.values, block.values));
  ir::Shape blocks;
  for (const FoldAxis& axis : axes) blocks.push_back(axis.blocks);
  QQ_TRY(const int64_t columns, ir::element_count(blocks).context(p.label()));
  QQ_TRY(const int64_t places, ir::element_count(block.values).context(p.label()));
  if (x.dims[1] % places != 0 || x.dims[2] != columns) {
    return p.corrupt("input ", shape_text(x.dims), " must be [N, C * ", places, ", ", columns, "]");
  }
  ir::Shape out = {x.dims[0], x.dims[1] / places};
  out.insert(out.end(), image.values.begin(), image.values.end());
  QQ_RETURN_IF_ERROR(check_dims(p, out));
  const int64_t images = out[0] * out[1], pixels = images == 0 ? 0 : product(out) / images;
  p.out(0, x.type, std::move(out));
  return bridged(p, [=](const Run& run) {
    std::fill_n(run.out<float>(0), images * pixels, 0.0f);
    for_rows(images, 8 * places * columns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        fold_image(axes, places, run.in<float>(0) + i * places * columns, run.out<float>(0) + i * pixels);
      }
    });
    return Status();
  });
}

std::span<const OpDef> image_ops() {
  static constexpr OpDef kOps[] = {
      {"AffineGrid", "", 20, LayoutRule::kPlain, prepare_affine_grid},
      {"Col2Im", "", 18, LayoutRule::kPlain, prepare_col2im},
      {"DeformConv", "", 19, LayoutRule::kImage, prepare_deform_conv},
      {"GridSample", "", 16, LayoutRule::kImage, prepare_grid_sample},
      {"RoiAlign", "", 10, LayoutRule::kImage, prepare_roi_align},
  };
  return kOps;
}

}  // namespace quarkq::exec
