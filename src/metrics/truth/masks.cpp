// SPDX-License-Identifier: MIT
#include "metrics/truth/masks.h"

#include <algorithm>

#include "base/file_system.h"
#include "calib/image/image_formats.h"
#include "calib/npy.h"

namespace quarkq::metrics {
namespace {

/// `tensor` without leading ones, down to [H, W]; kBadData when it is no mask.
Result<Mask> mask_of(const ir::Tensor& tensor, const std::string& path) {
  ir::Shape dims = tensor.dims();
  while (dims.size() > 2 && dims[0] == 1) dims.erase(dims.begin());
  if (!is_integer(tensor.type()) || dims.size() != 2 || tensor.size() == 0) {
    return bad_data(path, ": holds ", name(tensor.type()), shape_text(tensor.dims()),
                    ", needed is a mask of integers [H,W]");
  }
  Mask mask{path, dims[0], dims[1], {}};
  QQ_TRY(mask.classes, ir::to_int64(tensor));
  const int64_t least = *std::ranges::min_element(mask.classes);
  if (least < 0) return bad_data(path, ": holds class ", least, ", classes count from 0");
  return mask;
}

Result<Mask> read_mask(const std::string& path) {
  if (path.ends_with(".npy")) {
    QQ_TRY(const ir::Tensor tensor, calib::read_npy(path));
    return mask_of(tensor, path);
  }
  QQ_TRY(const calib::Image image, calib::read_stored_numbers(path));
  return Mask{path, image.height, image.width, {image.pixels.begin(), image.pixels.end()}};
}

}  // namespace

Result<Masks> Masks::read(const std::string& path) {
  Masks masks;
  masks.path_ = path;
  if (is_folder(path)) {
    QQ_TRY(masks.files_, NamedFiles::read(path, {".npy", ".png", ".PNG"}, "mask"));
    return masks;
  }
  if (!path.ends_with(".npy")) {
    return bad_data(path, ": is neither a folder of masks (.npy, .png) nor a .npy of all masks [N,H,W]");
  }
  QQ_TRY(masks.all_, calib::read_npy(path));
  ir::Shape dims = masks.all_.dims();
  while (dims.size() > 3 && dims[1] == 1) dims.erase(dims.begin() + 1);
  if (dims.size() != 3 || masks.all_.size() == 0) {
    return bad_data(path, ": holds ", name(masks.all_.type()), shape_text(masks.all_.dims()),
                    ", needed are masks of integers [N,H,W]");
  }
  masks.all_ = masks.all_.reshaped(dims);
  return masks;
}

Status Masks::share_out(size_t samples, bool is_part) const {
  if (files_) return Status();
  const auto found = static_cast<size_t>(all_.dims()[0]);
  if (found == samples || (is_part && found > samples)) return Status();
  return bad_data(path_, ": holds ", found, " masks in order, there are ", samples,
                  " results; masks in a folder are matched by name");
}

Result<Mask> Masks::of(size_t place, const std::string& name) const {
  if (files_) {
    QQ_TRY(const std::string path, files_->find(name));
    return read_mask(path);
  }
  const ir::Shape dims(all_.dims().begin() + 1, all_.dims().end());
  return mask_of(all_.rows(static_cast<int64_t>(place), 1).reshaped(dims), path_);
}

}  // namespace quarkq::metrics
