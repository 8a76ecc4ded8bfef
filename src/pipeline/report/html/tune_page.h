// SPDX-License-Identifier: MIT
// The report of quarkq tune as an HTML page.
#pragma once

#include <string>

#include "pipeline/report/json.h"

namespace quarkq::pipeline::html {

/// `run`: what `quarkq tune --report` wrote. Throws Json::exception when it is something else.
std::string tune_page(const Json& run);

}  // namespace quarkq::pipeline::html
