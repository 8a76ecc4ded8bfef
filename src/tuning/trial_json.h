// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "quarkq/tune.h"

namespace quarkq::tuning {

nlohmann::ordered_json trial_json(const Trial& trial);

}  // namespace quarkq::tuning
