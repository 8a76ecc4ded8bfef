// SPDX-License-Identifier: MIT
#include "config/evaluation_settings.h"

namespace quarkq::config {

Result<std::string> evaluation_folder(const Settings& settings) {
  const Node& reader = settings.evaluation.eval_data_reader;
  if (reader.is_null()) return settings.evaluation_dir.value_or("");
  if (reader.is_text()) return reader.as_text();
  return invalid_argument("EvalDataReader: found ", describe(reader),
                          ", allowed is a folder or file of samples; from Python, a reader");
}

}  // namespace quarkq::config
