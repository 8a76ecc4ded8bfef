// SPDX-License-Identifier: MIT
#include "passes/finetune/emit_trial.h"

#include "passes/passes.h"

namespace quarkq::passes {

Status emit_trial(PassContext& copy) {
  QQ_RETURN_IF_ERROR(emit_qdq(copy).status());
  return remove_qdq_between(copy).status();
}

}  // namespace quarkq::passes
