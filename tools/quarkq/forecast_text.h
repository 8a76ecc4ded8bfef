// SPDX-License-Identifier: MIT
// --dry-run of the verbs that calibrate.
#pragma once

#include <CLI/CLI.hpp>

#include "output.h"
#include "progress.h"
#include "quarkq/forecast.h"

namespace quarkq::tool {

/// --dry-run. Returns the option, which excludes those that name further files.
CLI::Option* add_dry_run_option(CLI::App& app, bool& dry_run);

/// The forecast as JSON where --json wants it, else as text on stdout.
Status print_forecast(const Forecast& found, const std::string& json);

/// forecast(request) under a bar, printed.
template <typename Request>
Status run_dry(Request& request, const std::string& json) {
  QQ_TRY(const Forecast found, run_with_bar(request, [](const Request& asked) { return forecast(asked); }));
  return print_forecast(found, json);
}

}  // namespace quarkq::tool
