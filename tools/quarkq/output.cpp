// SPDX-License-Identifier: MIT
#include "output.h"

#include <cstdio>

#include "messages.h"

namespace quarkq::tool {

void add_json_option(CLI::App& app, std::string& place) {
  app.add_option("--json", place, "Print the result as JSON, and nothing else, to stdout; --json=FILE: into a file")
      ->type_name("[=FILE]");
}

bool prints_text(const std::string& json_place) { return !is_quiet() && json_place != kStdout; }

Result<TextOutput> TextOutput::open(const std::string& place) {
  TextOutput output;
  output.is_stdout_ = place == kStdout;
  if (place.empty() || output.is_stdout_) return output;
  QQ_TRY(AtomicFile made, AtomicFile::create(place));
  output.file_.emplace(std::move(made));
  return output;
}

Status TextOutput::write(const std::string& text) {
  if (is_stdout_) std::fputs(text.c_str(), stdout);
  if (!file_) return Status();
  QQ_RETURN_IF_ERROR(file_->write(text.data(), text.size()));
  return file_->commit();
}

Status check_is_file(const char* option, const std::string& place) {
  if (place != kStdout) return Status();
  return invalid_argument(option, ": found -, allowed is a file: the result is not text");
}

}  // namespace quarkq::tool
