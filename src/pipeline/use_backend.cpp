// SPDX-License-Identifier: MIT
#include "pipeline/use_backend.h"

#include <omp.h>

#include "config/backend_choice.h"
#include "config/user_libraries.h"
#include "exec/backend.h"
#include "ort_runtime/open_backend.h"

namespace quarkq::pipeline {

Status use_backend(const config::QuantConfig& asked) {
  exec::backend() = nullptr;
  QQ_TRY(const std::optional<std::string> provider, config::asked_provider(asked.tool.backend));
  if (!provider) return Status();
  ort_runtime::BackendOptions options{*provider, {}, omp_get_max_threads()};
  QQ_TRY(options.libraries, config::user_libraries(asked));
  QQ_TRY(exec::backend(), ort_runtime::open_backend(options));
  return Status();
}

void report_backend(Diagnostics& diagnostics) {
  if (exec::backend() != nullptr) diagnostics.add("backend", "", cat("calibrated with ", exec::backend()->name()));
}

}  // namespace quarkq::pipeline
