// SPDX-License-Identifier: MIT
#include "metrics/truth/boxes.h"

namespace quarkq::metrics {

void TrueImage::scale_boxes(double wider, double higher) {
  for (TrueBox& one : boxes) {
    one.box.left *= wider, one.box.right *= wider;
    one.box.top *= higher, one.box.bottom *= higher;
    one.area *= wider * higher;
  }
}

void BoxTruth::add(TrueImage image) {
  by_name_.add(image.name, images.size());
  images.push_back(std::move(image));
}

Result<size_t> BoxTruth::find(const std::string& name) const { return by_name_.find(path, name); }

}  // namespace quarkq::metrics
