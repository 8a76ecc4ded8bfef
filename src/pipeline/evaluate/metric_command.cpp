// SPDX-License-Identifier: MIT
// --metric-cmd: a program of the caller's that prints one number for a folder of results.
#include "base/parse_number.h"
#include "base/run_command.h"
#include "pipeline/evaluate/score_side.h"

namespace quarkq::pipeline {
namespace {

constexpr std::string_view kPlace = "{results}";
constexpr size_t kShownOutput = 200;

std::string replaced(std::string word, const std::string& folder) {
  for (size_t at = word.find(kPlace); at != std::string::npos; at = word.find(kPlace, at + folder.size())) {
    word.replace(at, kPlace.size(), folder);
  }
  return word;
}

std::string trimmed_output(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

Result<double> run_metric_command(const MetricRequest& metric, const std::string& folder,
                                  const std::function<bool()>& keep_going) {
  constexpr const char* kOption = "--metric-cmd";
  QQ_TRY(std::vector<std::string> words, command_words(metric.command).context(kOption));
  for (std::string& word : words) word = replaced(std::move(word), folder);
  CommandOptions options;
  options.seconds = metric.command_seconds;
  options.keep_going = keep_going;
  Result<CommandResult> ran = run_command(words, options);
  if (!ran.ok()) return ran.status().code() == Code::kInterrupted ? ran.status() : ran.status().context(kOption);
  const CommandResult& result = ran.value();
  const std::string end = result.last_lines.empty() ? "" : "; it printed: " + result.last_lines;
  if (result.exit_code != 0) return bad_data(kOption, ": ", words[0], ": ended with exit code ", result.exit_code, end);
  const std::string text = trimmed_output(result.output);
  const std::optional<double> value = parse_finite(text);
  if (value) return *value;
  return bad_data(kOption, ": ", words[0], ": printed \"", text.substr(0, kShownOutput),
                  "\", allowed is one finite number and nothing else", end);
}

}  // namespace quarkq::pipeline
