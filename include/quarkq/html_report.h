// SPDX-License-Identifier: MIT
// html_report(): the report of a quantize run, or of tuning, as an HTML page.
#pragma once

#include <string>

#include "quarkq/export.h"
#include "quarkq/status.h"

namespace quarkq {

/// `path`: what `quarkq quantize --report` or `quarkq tune --report` wrote. The page needs no network and no scripts: style and pictures (SVG)
/// are in it. Fails with kIo when it cannot be read, kBadData when it is not such a report.
QUARKQ_EXPORT Result<std::string> html_report(const std::string& path);

}  // namespace quarkq
