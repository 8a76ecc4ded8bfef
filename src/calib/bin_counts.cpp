// SPDX-License-Identifier: MIT
#include "calib/bin_counts.h"

#include <utility>

namespace quarkq::calib {

void BinCounts::make_page(size_t page) {
  if (page >= pages_.size()) pages_.resize(page + 1);
  pages_[page].resize(kPage);
}

void BinCounts::shift(int64_t bins) {
  base_ -= bins;  // places stay, bins are renamed
  if (base_ >= 0) return;
  const auto page = static_cast<int64_t>(kPage);
  const int64_t added = (-base_ + page - 1) / page;
  std::vector<std::vector<int64_t>> pages(static_cast<size_t>(added));
  for (std::vector<int64_t>& old : pages_) pages.push_back(std::move(old));
  pages_ = std::move(pages);
  base_ += added * page;
}

int64_t BinCounts::at(int64_t bin) const {
  const int64_t place = bin + base_;
  if (place < 0) return 0;
  const size_t page = static_cast<size_t>(place) / kPage;
  if (page >= pages_.size() || pages_[page].empty()) return 0;
  return pages_[page][static_cast<size_t>(place) % kPage];
}

}  // namespace quarkq::calib
