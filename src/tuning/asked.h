// SPDX-License-Identifier: MIT
// A TuneRequest with everything read that is not the model: where the climb starts and which steps it has.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "tuning/ladder.h"

namespace quarkq::tuning {

struct Asked {
  TuneRequest request;        ///< with what its search file says where the request says nothing: metric, time
  std::vector<Rung> rungs;    ///< at least one
  std::string settings_text;  ///< what all trials have in common
  std::string preset;
  SettingList first;  ///< settings of the first trial, beyond those asked for
  Diagnostics diagnostics;
};

/// Settings and search file are read, and every trial's settings of a search are. Fails with kInvalidArgument, in
/// compat mode too.
Result<Asked> read_request(const TuneRequest& request);

}  // namespace quarkq::tuning
