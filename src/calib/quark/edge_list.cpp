// SPDX-License-Identifier: MIT
#include "calib/quark/edge_list.h"

#include <algorithm>
#include <cmath>

namespace quarkq::calib {

double EdgeList::operator()(int64_t i) const {
  if (i <= start_.bins) return static_cast<double>(rounded(start_(i)));
  size_t run = runs_.size() - 1;
  while (runs_[run].index > i) --run;
  const double exact = runs_[run].first + static_cast<double>(i - runs_[run].index) * runs_[run].step;
  return runs_[run].rounded ? static_cast<double>(rounded(static_cast<float>(exact))) : exact;
}

int64_t EdgeList::guess(double x) const {
  for (size_t run = runs_.size(); run-- > 0;) {
    if (x < runs_[run].first) continue;
    const double ahead = runs_[run].step > 0 ? (x - runs_[run].first) / runs_[run].step : 0;
    const int64_t room = bins - 1 - runs_[run].index;  // below zero for the run's last edge, which starts no bin
    return std::max<int64_t>(runs_[run].index + static_cast<int64_t>(std::min(ahead, static_cast<double>(room))), 0);
  }
  return start_.guess(static_cast<float>(x));
}

Status EdgeList::grow(float largest) {
  const auto edge = [&](int64_t i) { return static_cast<float>((*this)(i)); };
  const float width = rounded(edge(1) - edge(0));
  const float first = rounded(edge(bins) + width), stop = rounded(largest + width);
  const double length = std::ceil(static_cast<double>(rounded(rounded(stop - first) / width)));
  if (!(length <= static_cast<double>(kMaxBins - bins))) {
    return bad_data("histogram: growing from ", edge(bins), " to ", largest, " by bins of ", width, " exceeds ",
                    kMaxBins, " bins");
  }
  if (length < 1) return {};
  const float second = rounded(first + width);
  runs_.push_back({bins + 1, first, static_cast<double>(second) - static_cast<double>(first), false});
  bins += static_cast<int64_t>(length);
  return {};
}

void EdgeList::round_runs() {
  for (Run& run : runs_) run.rounded = true;
}

}  // namespace quarkq::calib
