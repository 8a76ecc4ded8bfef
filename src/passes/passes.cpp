// SPDX-License-Identifier: MIT
#include "passes/passes.h"

#include <algorithm>

namespace quarkq::passes {
namespace {

/// Pass names live as long as the program: "fuse_batch_norm" becomes "fuse-batch-norm" once.
const char* dashed(const char* function) {
  static std::vector<std::unique_ptr<std::string>> names;
  auto name = std::make_unique<std::string>(function);
  std::replace(name->begin(), name->end(), '_', '-');
  names.push_back(std::move(name));
  return names.back()->c_str();
}

}  // namespace

const std::vector<PassInfo>& all_passes() {
  static const std::vector<PassInfo> kPasses = {
#define PASS(phase, function, acts_on, effect, when, summary)                      \
  {dashed(#function),                                                              \
   #phase,                                                                         \
   ActsOn::acts_on,                                                                \
   Effect::effect,                                                                 \
   function,                                                                       \
   []([[maybe_unused]] const config::Settings& settings) -> bool { return when; }, \
   summary},
#include "passes/passes.def"
#undef PASS
  };
  return kPasses;
}

}  // namespace quarkq::passes
