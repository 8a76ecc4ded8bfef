// SPDX-License-Identifier: MIT
// quarkq report: the JSON report of quantize or tune as one HTML page.
#include <cstdio>
#include <memory>

#include "base/file_system.h"
#include "base/paths.h"
#include "quarkq/quantize.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct ReportArgs {
  std::string report_path, output_path;
};

Status run_report(ReportArgs& args) {
  if (args.output_path.empty()) args.output_path = paths::with_suffix(args.report_path, ".html");
  if (!file_exists(args.report_path)) return invalid_argument(args.report_path, ": no such file");
  QQ_TRY(TextOutput output, TextOutput::open(args.output_path));
  QQ_TRY(const std::string page, html_report(args.report_path));
  QQ_RETURN_IF_ERROR(output.write(page));
  if (args.output_path == kStdout || is_quiet()) return Status();
  say("written    %s (%s)\n", args.output_path.c_str(), bytes_text(static_cast<double>(page.size())).c_str());
  return Status();
}

}  // namespace

Run setup_report(CLI::App& app) {
  auto args = std::make_shared<ReportArgs>();
  app.add_option("REPORT", args->report_path, "Report written by quarkq quantize or tune with --report")->required();
  app.add_option("-o,--output", args->output_path, "The page (default: REPORT with .html at its end)");
  return [args] { return run_report(*args); };
}

}  // namespace quarkq::tool
