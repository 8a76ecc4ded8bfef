// SPDX-License-Identifier: MIT
// CryptoMode: a run writes nothing but its result. What would write other files is refused, or left out with a notice.
#pragma once

#include "config/settings.h"

namespace quarkq::config {

/// Whether the request asks for it, before it is resolved.
bool asks_crypto(const QuantConfig& config);

/// Refuses settings that would write files beside the result; says what is left out. Nothing without crypto_mode.
Status check_crypto(const Settings& settings, Diagnostics& diagnostics);

}  // namespace quarkq::config
