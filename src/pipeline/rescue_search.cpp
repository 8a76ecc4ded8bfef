// SPDX-License-Identifier: MIT
#include "pipeline/rescue_search.h"

#include <algorithm>

namespace quarkq::pipeline {
namespace {

struct Part {
  size_t first = 0, last = 0;  ///< of the nodes, `last` not included
  double noise = 0;

  size_t size() const { return last - first; }
};

class Search {
 public:
  Search(const std::vector<ir::NodeId>& nodes, const PartNoise& noise, const SearchLimits& limits)
      : nodes_(nodes), noise_(noise), limits_(limits) {}

  Status run() {
    const size_t parts = std::min(limits_.first_parts, nodes_.size());
    for (size_t i = 0; i < parts; ++i) {
      QQ_RETURN_IF_ERROR(measure(nodes_.size() * i / parts, nodes_.size() * (i + 1) / parts));
    }
    while (trials_ + 2 <= limits_.trials) {
      const auto worst = std::max_element(parts_.begin(), parts_.end(), is_less_divisible);
      if (worst == parts_.end() || worst->size() == 1 || divisible_noise() < limits_.small_noise) break;
      const Part part = *worst;
      parts_.erase(worst);
      const size_t middle = part.first + part.size() / 2;
      QQ_RETURN_IF_ERROR(measure(part.first, middle));
      QQ_RETURN_IF_ERROR(measure(middle, part.last));
    }
    return Status();
  }

  std::vector<NoisyNode> ranked() {
    // Node for node, so that a part that was not divided counts as the mean of its nodes.
    const auto mean = [](const Part& part) { return part.noise / static_cast<double>(part.size()); };
    std::stable_sort(parts_.begin(), parts_.end(), [&](const Part& a, const Part& b) { return mean(a) > mean(b); });
    std::vector<NoisyNode> found;
    for (const Part& part : parts_) {
      for (size_t i = part.first; i < part.last; ++i) found.push_back({nodes_[i], mean(part)});
    }
    return found;
  }

 private:
  /// Single nodes cannot be divided and come last.
  static bool is_less_divisible(const Part& a, const Part& b) {
    if ((a.size() == 1) != (b.size() == 1)) return a.size() == 1;
    return a.noise < b.noise;
  }

  double divisible_noise() const {
    double sum = 0;
    for (const Part& part : parts_) sum += part.size() > 1 ? part.noise : 0;
    return sum;
  }

  Status measure(size_t first, size_t last) {
    const auto begin = nodes_.begin();
    QQ_TRY(const double noise,
           noise_({begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last)}));
    parts_.push_back({first, last, noise});
    ++trials_;
    return Status();
  }

  const std::vector<ir::NodeId>& nodes_;
  const PartNoise& noise_;
  const SearchLimits& limits_;
  std::vector<Part> parts_;
  size_t trials_ = 0;
};

}  // namespace

Result<std::vector<NoisyNode>> rank_by_noise(const std::vector<ir::NodeId>& nodes, const PartNoise& noise,
                                             const SearchLimits& limits) {
  Search search(nodes, noise, limits);
  QQ_RETURN_IF_ERROR(search.run());
  return search.ranked();
}

}  // namespace quarkq::pipeline
