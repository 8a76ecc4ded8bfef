// SPDX-License-Identifier: MIT
#include "pipeline/pass_table.h"

#include <algorithm>
#include <memory>
#include <string>

#include "planning/passes.h"
#include "qdq/passes.h"
#include "rewrite/passes.h"

namespace quarkq::pipeline {
namespace {

using pass::Effect;
using pass::Phase;

}  // namespace

const char* dashed_name(const char* function) {
  static std::vector<std::unique_ptr<std::string>> names;
  auto name = std::make_unique<std::string>(function);
  std::replace(name->begin(), name->end(), '_', '-');
  names.push_back(std::move(name));
  return names.back()->c_str();
}

const std::vector<pass::PassInfo>& all_passes() {
#define QQ_ROW(library, phase, function, effect, needed, when, summary)                                            \
  {dashed_name(#function),                                                                                              \
   Phase::phase,                                                                                                   \
   Effect::effect,                                                                                                 \
   library::function,                                                                                              \
   [](const config::Settings& settings) -> bool { return settings.needed() && static_cast<bool>(settings.when); }, \
   summary},
#define QQ_SELECT_PASS(phase, function, effect, when, summary) \
  QQ_ROW(planning, phase, function, effect, always, when, summary)
#define QQ_FLOAT_PASS(phase, function, effect, when, summary) \
  QQ_ROW(rewrite, phase, function, effect, always, when, summary)
#define QQ_PREPROCESS_PASS(phase, function, effect, when, summary) \
  QQ_ROW(rewrite, phase, function, effect, preprocesses, when, summary)
#define QQ_PLAN_PASS(phase, function, effect, when, summary) \
  QQ_ROW(planning, phase, function, effect, inserts_qdq, when, summary)
#define QQ_RESTRUCTURE_PASS(phase, function, effect, when, summary) \
  QQ_ROW(planning, phase, function, effect, inserts_qdq, when, summary)
#define QQ_QDQ_PASS(phase, function, effect, when, summary) \
  QQ_ROW(qdq, phase, function, effect, inserts_qdq, when, summary)
#define QQ_RESULT_PASS(phase, function, effect, when, summary) \
  QQ_ROW(qdq, phase, function, effect, always, when, summary)
  static const std::vector<pass::PassInfo> passes = {
#include "pass/passes.def"
  };
#undef QQ_ROW
  return passes;
}

}  // namespace quarkq::pipeline
