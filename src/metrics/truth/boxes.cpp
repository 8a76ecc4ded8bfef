// SPDX-License-Identifier: MIT
#include "metrics/truth/boxes.h"

namespace quarkq::metrics {

void BoxTruth::add(TrueImage image) {
  by_name_.add(image.name, images.size());
  images.push_back(std::move(image));
}

Result<size_t> BoxTruth::find(const std::string& name) const { return by_name_.find(path, name); }

}  // namespace quarkq::metrics
