// SPDX-License-Identifier: MIT
#include "metrics/truth/boxes.h"

#include <algorithm>

#include "calib/reader/file_formats.h"

namespace quarkq::metrics {
void BoxTruth::add(TrueImage image) {
  for (const std::string& key : {image.name, calib::stem_of(image.name)}) {
    std::vector<size_t>& places = by_name_[key];
    if (places.empty() || places.back() != images.size()) places.push_back(images.size());
  }
  images.push_back(std::move(image));
}

Result<size_t> BoxTruth::find(const std::string& name) const {
  for (const std::string& key : {name, calib::stem_of(name)}) {
    const auto found = by_name_.find(key);
    if (found == by_name_.end()) continue;
    if (found->second.size() == 1) return found->second[0];
    return bad_data(path, ": has ", found->second.size(), " images called ", key);
  }
  return bad_data(path, ": has no image called ", name);
}

}  // namespace quarkq::metrics
