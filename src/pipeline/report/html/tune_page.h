// SPDX-License-Identifier: MIT
// The report of quarkq tune as an HTML page.
#pragma once

#include <string>

#include "pipeline/report/json.h"

namespace quarkq::pipeline::html {

/// `run` is the JSON report of `quarkq tune --report`. Throws Json::exception for any other content.
std::string tune_page(const Json& run);

}  // namespace quarkq::pipeline::html
