// SPDX-License-Identifier: MIT
// quarkq evaluate: the eight lines of spec 03 D.4, then the required values. Output, names and order of the lines are a
// contract: scripts of the reference's users read them.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/file_system.h"
#include "quarkq/evaluate.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct EvaluateArgs {
  EvaluateRequest request;
  std::vector<std::string> folders;
  std::optional<double> min_cosine, max_l2, min_psnr, min_ssim;
  std::string json_path, compat;
  bool details = false;
};

/// The shortest decimal that reads back as `value`, spelled as Python does: 1.0, 1e-05, nan, inf.
std::string decimal(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double magnitude = std::abs(value);
  const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char text[64];
  const auto end =
      std::to_chars(text, text + sizeof text, value, plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string result(text, end.ptr);
  if (plain && result.find('.') == std::string::npos) result += ".0";
  return result;
}

void print_aggregates(const EvaluateReport& report) {
  const std::pair<const char*, double> lines[] = {
      {"Mean cos similarity", report.mean_cosine},
      {"Min cos similarity", report.min_cosine},
      {"Mean l2 distance", report.mean_l2},
      {"Max l2 distance", report.max_l2},
      {"Mean psnr", report.mean_psnr},
      {"Min psnr", report.min_psnr},
      {"Mean ssim", report.mean_ssim},
      {"Min ssim", report.min_ssim},
  };
  for (const auto& [name, value] : lines) std::printf("%s: %s\n", name, decimal(value).c_str());
}

void print_pairs(const EvaluateReport& report) {
  for (const PairMetrics& pair : report.pairs) {
    std::printf("%s: cos %s, l2 %s, psnr %s, ssim %s\n", pair.file.c_str(), decimal(pair.cosine).c_str(),
                decimal(pair.l2).c_str(), decimal(pair.psnr).c_str(), decimal(pair.ssim).c_str());
  }
}

Status check_required(const EvaluateArgs& args, const EvaluateReport& report) {
  std::vector<std::string> missed;
  auto at_least = [&](const char* name, double found, const std::optional<double>& required) {
    // Written so that NaN misses.
    if (required && !(found >= *required))
      missed.push_back(cat(name, " is ", decimal(found), ", required is at least ", decimal(*required)));
  };
  at_least("min cos similarity", report.min_cosine, args.min_cosine);
  if (args.max_l2 && !(report.max_l2 <= *args.max_l2)) {
    missed.push_back(
        cat("max l2 distance is ", decimal(report.max_l2), ", required is at most ", decimal(*args.max_l2)));
  }
  at_least("min psnr", report.min_psnr, args.min_psnr);
  at_least("min ssim", report.min_ssim, args.min_ssim);
  if (missed.empty()) return Status();
  return quality_gate("evaluate: ", join(missed, "; "));
}

/// Flags say what a folder is; folders without a flag fill the places left, baseline first.
Status assign_folders(EvaluateArgs& args) {
  size_t next = 0;
  for (std::string* place : {&args.request.baseline_folder, &args.request.quantized_folder}) {
    if (place->empty() && next < args.folders.size()) *place = args.folders[next++];
  }
  if (args.request.baseline_folder.empty() || args.request.quantized_folder.empty()) {
    return invalid_argument(
        "evaluate: two folders are needed, --baseline_results_folder and --quantized_results_folder");
  }
  if (next == args.folders.size()) return Status();
  return invalid_argument("evaluate: ", args.folders[next], " is one folder too many");
}

Status run_evaluate(EvaluateArgs& args) {
  QQ_RETURN_IF_ERROR(assign_folders(args));
  args.request.compat = !args.compat.empty();
  if (args.request.compat && args.compat != "quark-0.13") {
    return invalid_argument("--compat: found ", args.compat, ", allowed is quark-0.13");
  }
  QQ_TRY(const EvaluateReport report, evaluate(args.request));
  if (!args.json_path.empty()) {
    const std::string json = to_json(report);
    QQ_TRY(AtomicFile file, AtomicFile::create(args.json_path));
    QQ_RETURN_IF_ERROR(file.write(json.data(), json.size()));
    QQ_RETURN_IF_ERROR(file.commit());
  }
  print_aggregates(report);
  if (args.details) print_pairs(report);
  std::fflush(stdout);
  return check_required(args, report);
}

}  // namespace

Run setup_evaluate(CLI::App& app) {
  auto args = std::make_shared<EvaluateArgs>();
  app.add_option("--baseline_results_folder,--baseline", args->request.baseline_folder,
                 "Results of the float model: DIR/*.npy, or DIR/<output>/*.npy");
  app.add_option("--quantized_results_folder,--quantized", args->request.quantized_folder,
                 "Results of the quantized model, same names");
  app.add_option("FOLDERS", args->folders, "The two folders without flags: baseline, then quantized")->expected(0, 2);
  app.add_option("--min-cos", args->min_cosine, "Fail (exit 5) when the smallest cosine is below this");
  app.add_option("--max-l2", args->max_l2, "Fail (exit 5) when the largest distance is above this");
  app.add_option("--min-psnr", args->min_psnr, "Fail (exit 5) when the smallest PSNR, in dB, is below this");
  app.add_option("--min-ssim", args->min_ssim, "Fail (exit 5) when the smallest SSIM is below this");
  app.add_option("--json", args->json_path, "Write aggregates and pairs here, as JSON");
  app.add_option("--compat", args->compat, "The definitions of a release of the reference: quark-0.13");
  app.add_flag("--details", args->details, "Print one line per pair behind the eight lines");
  return [args] { return run_evaluate(*args); };
}

}  // namespace quarkq::tool
