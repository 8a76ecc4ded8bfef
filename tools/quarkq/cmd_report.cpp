// SPDX-License-Identifier: MIT
// quarkq report: the JSON report of a quantize run as one HTML page.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/file_system.h"
#include "quarkq/html_report.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct ReportArgs {
  std::string report_path, output_path;
};

Status run_report(ReportArgs& args) {
  if (args.output_path.empty()) args.output_path = std::filesystem::path(args.report_path).replace_extension(".html");
  QQ_RETURN_IF_ERROR(check_not_input(args.output_path, {args.report_path}));
  QQ_TRY(const std::string page, html_report(args.report_path));
  QQ_RETURN_IF_ERROR(write_file(args.output_path, page));
  std::printf("written    %s (%s)\n", args.output_path.c_str(), bytes_text(static_cast<double>(page.size())).c_str());
  return Status();
}

}  // namespace

Run setup_report(CLI::App& app) {
  auto args = std::make_shared<ReportArgs>();
  app.add_option("REPORT", args->report_path, "What quarkq quantize --report wrote")->required();
  app.add_option("-o,--output", args->output_path, "The page (default: REPORT with .html at its end)");
  return [args] { return run_report(*args); };
}

}  // namespace quarkq::tool
