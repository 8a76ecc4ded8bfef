// SPDX-License-Identifier: MIT
// A search file's combinations as steps of tune(), in the place of the ladder.
#pragma once

#include <vector>

#include "config/search/search_file.h"
#include "tuning/ladder.h"

namespace quarkq::tuning {

/// One step, or two: everything but fine-tuning, and fine-tuning on top of the best of that. `asked`: no trial changes
/// these keys. Combinations that are left out are reported in `diagnostics`. kInvalidArgument for a file without a
/// combination.
Result<std::vector<Rung>> search_ladder(const config::SearchFile& file, const SettingList& asked,
                                        Diagnostics& diagnostics);

}  // namespace quarkq::tuning
