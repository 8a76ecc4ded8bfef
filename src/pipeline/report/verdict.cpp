// SPDX-License-Identifier: MIT
#include "pipeline/report/verdict.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "compare/tasks.h"
#include "config/layers.h"
#include "config/preset.h"
#include "config/targets/target.h"

namespace quarkq {

const char* grade_name(Grade grade) {
  static constexpr const char* kNames[] = {"good", "fair", "poor"};
  return kNames[static_cast<int>(grade)];
}

namespace pipeline {
namespace {

// The rule of docs/report.md. Cosines of 0.99 on average go with a loss of about a percent of top-1 on the networks of
// docs/accuracy.md; below 0.95, or 0.9 on one sample, users see the difference.
constexpr double kGoodMean = 0.99, kGoodWorst = 0.98, kFairMean = 0.95;
constexpr size_t kFewSamples = 8;     // below, ranges of activations are chance
constexpr size_t kUsualSamples = 32;  // below, training fits the samples, not the data

std::string digits(double value) {
  if (std::isnan(value)) return "nan";
  char text[32];
  std::snprintf(text, sizeof text, value > 0.9999 && value < 1 ? "%.6f" : "%.4f", value);
  return text;
}

/// NaN is less than any number.
double lesser(double a, double b) { return std::isnan(a) || a <= b ? a : b; }

/// One argument of a command that can be pasted into a shell.
std::string argument(const std::string& text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/._-+=:,@%").find(c) != std::string::npos;
  });
  if (is_plain && !text.empty()) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// A setting as an argument: those that an option of their own sets appear as that option.
std::string setting_argument(const config::Setting& setting) {
  std::string value = setting.value;
  const bool is_quoted = value.size() > 2 && value.front() == '"' && value.back() == '"';
  if (is_quoted) value = value.substr(1, value.size() - 2);
  const bool is_option_of_all_verbs = setting.key == "target" || setting.key == "preprocess";
  if (is_option_of_all_verbs && value.find_first_of("{[\"\\") == std::string::npos)
    return cat("--", setting.key, " ", argument(value));
  return "--set " + argument(cat(setting.key, "=", setting.value));
}

/// Training and analysis need samples, which statistics are not.
std::string command(const char* verb, const QuantizeRequest& request, const config::Settings& settings,
                    const std::string& config) {
  std::string text = cat("quarkq ", verb, " ", argument(request.model_path));
  if (!config.empty()) text += " --config " + argument(config);
  if (request.requantize) text += " --requantize";
  if (!request.calib_folder.empty()) {
    text += " --calib " + argument(request.calib_folder);
  } else if (!request.statistics_path.empty() && !settings.calibration.dir) {
    text += " --calib DIR";
  }
  for (const std::string& one : request.settings) {
    const config::Setting setting = config::setting_of(one);
    const bool is_of_this_run = setting.key == "quarkq.on_collapse" || setting.key == "quarkq.verify_samples";
    if (!is_of_this_run) text += " " + setting_argument(setting);
  }
  return text;
}

/// The preset of the same formats that also trains the weights; empty: there is none, or it was used already.
std::string tuned_preset(const std::string& preset) {
  const std::string wanted = preset + "_ADAQUANT";
  const auto& all = config::presets();
  const bool is_there = std::ranges::any_of(all, [&](const config::PresetInfo& one) { return one.name == wanted; });
  return is_there ? wanted : "";
}

/// Settings that cure what makes a compiler refuse a model, by the id of the remedy.
constexpr struct {
  std::string_view remedy, config, set;
} kCures[] = {
    {"cut-tail", "", "legalize.tail=cut"},
    {"explicit-conv-attributes", "", "legalize.explicit_conv_attributes=true"},
    {"int8-bias", "", "Int32Bias=false"},
    {"one-scale-per-tensor", "", "per_channel=false"},
    {"power-of-two-scales", "XINT8", ""},
    {"prelu-to-leaky-relu", "", "legalize.prelu_to_leaky_relu=true"},
    {"qdq-in-ai-onnx", "", "legalize.qdq_in_ai_onnx=true"},
};

/// The command that makes the target accept the model if settings can, otherwise what its author can do.
std::string cure(const QuantizeReport& report, const QuantizeRequest& request, const config::Settings& settings) {
  const Deployability& deployable = *report.deployable;
  const auto row = std::ranges::find(kCures, deployable.remedy, [](const auto& one) { return one.remedy; });
  const bool is_set =
      row != std::end(kCures) && std::ranges::any_of(request.settings, [&](const std::string& setting) {
        return !row->set.empty() && config::setting_of(setting).key == config::setting_of(std::string(row->set)).key;
      });
  if (row != std::end(kCures) && !is_set) {
    const std::string text =
        command("quantize", request, settings, row->config.empty() ? request.config : std::string(row->config));
    return row->set.empty() ? text : cat(text, " --set ", row->set);
  }
  const config::RemedyInfo* remedy = config::find_remedy(deployable.remedy);
  const std::string check = cat("quarkq check --target ", deployable.target, " ", argument(report.output_path));
  return remedy == nullptr ? check : cat(remedy->text, " (", check, ")");
}

std::string next_step(const QuantizeReport& report, const QuantizeRequest& request, const config::Settings& settings,
                      Grade grade) {
  if (grade == Grade::kGood) {
    if (settings.traits().is_cnn_overlay) return "quarkq check " + argument(report.output_path);
    return cat("quarkq evaluate --float ", argument(request.model_path), " --quantized ", argument(report.output_path),
               " --data VALIDATION ", report.text ? "--metric text_perplexity" : "--labels FILE");
  }
  if (settings.ranges.use_random_data && request.calib_folder.empty())
    return "calibrate with real samples: --calib DIR";
  if (report.causes.empty() && report.samples > 0 && report.samples < kFewSamples)
    return cat("calibrate with more samples (", report.samples, " now; 100 or more are usual)");
  const bool may_train = report.tuned_layers.empty() && (report.samples == 0 || report.samples >= kUsualSamples);
  const std::string tuned = may_train ? tuned_preset(settings.preset) : "";
  if (report.causes.empty() && !tuned.empty()) return command("quantize", request, settings, tuned);
  if (settings.packs_matrices())  // analyze looks at Q/DQ nodes
    return "choose more bits where they help most: --target-bits (docs/language-models.md#choose-the-bits), or GPTQ "
           "with samples";
  const std::string analyze = command("analyze", request, settings, request.config);
  return settings.may_rescue_with("float_nodes") ? analyze + " --min-cos 0.98 --write better.yaml" : analyze;
}

/// A grade and the figure that gives it.
struct Reason {
  Grade grade = Grade::kGood;
  std::string why;
};

std::string below(const char* what, double found, double limit) {
  return cat(what, " cosine ", digits(found), ", below ", digits(limit));
}

/// How the outputs agree that no task is known of.
struct Cosines {
  bool found = false;
  double mean = 1, worst = 1;

  void add(const OutputAgreement& output) {
    found = true;
    worst = lesser(worst, output.min_cosine);
    mean = lesser(mean, output.cosine);
    if (output.minor) mean = lesser(mean, output.minor->cosine);
  }
  Reason reason(double collapse) const {
    const double good_worst = std::max(kGoodWorst, collapse);
    if (!(worst >= collapse)) return {Grade::kPoor, below("worst", worst, collapse)};
    if (!(mean >= kFairMean)) return {Grade::kPoor, below("mean", mean, kFairMean)};
    if (!(mean >= kGoodMean)) return {Grade::kFair, below("mean", mean, kGoodMean)};
    if (!(worst >= good_worst)) return {Grade::kFair, below("worst", worst, good_worst)};
    return {Grade::kGood, cat("mean cosine ", digits(mean), ", worst ", digits(worst))};
  }
};

Reason task_reason(const OutputAgreement& output) {
  if (!(output.cosine >= compare::kLeastCosineOfTask))
    return {Grade::kPoor, below("mean", output.cosine, compare::kLeastCosineOfTask)};
  return {output.task->grade, output.task->text};
}

/// REQUIRES: the cosine is below kGoodMean.
Reason stream_reason(double cosine) {
  const bool is_fair = cosine >= kFairMean;
  return {is_fair ? Grade::kFair : Grade::kPoor,
          below("with states fed back over 20 frames,", cosine, is_fair ? kGoodMean : kFairMean)};
}

/// The verdict on the outputs alone: the worst grade of any output.
std::optional<Verdict> judge_outputs(const QuantizeReport& report, const QuantizeRequest& request,
                                     const config::Settings& settings, double collapse) {
  Cosines cosines;
  std::vector<Reason> reasons;
  size_t not_finite = 0;
  const bool is_asked = settings.tool.min_cosine.has_value();
  const bool has_states = std::ranges::any_of(report.outputs, [](const auto& one) { return one.fed_back.has_value(); });
  for (const OutputAgreement& output : report.outputs) {
    if (output.near_zero) continue;
    not_finite += output.different_not_finite;
    if (has_states && !output.fed_back) continue;  // a state counts by what follows from it
    if (output.task) reasons.push_back(task_reason(output));
    if (output.fed_back && !(output.fed_back->cosine >= kGoodMean))
      reasons.push_back(stream_reason(output.fed_back->cosine));
    if (!output.task || (is_asked && !(output.min_cosine >= collapse))) cosines.add(output);
  }
  if (cosines.found) reasons.push_back(cosines.reason(collapse));
  if (reasons.empty()) return std::nullopt;
  Reason worst = *std::ranges::max_element(reasons, {}, &Reason::grade);
  if (not_finite > 0)
    worst = {Grade::kPoor, cat(not_finite, " values of the outputs are NaN or infinite in one of the models only")};
  return Verdict{worst.grade, worst.why, next_step(report, request, settings, worst.grade)};
}

}  // namespace

std::optional<Verdict> judge(const QuantizeReport& report, const QuantizeRequest& request,
                             const config::Settings& settings, double collapse) {
  using Holds = Deployability::Holds;
  std::optional<Verdict> outputs = judge_outputs(report, request, settings, collapse);
  if (!report.deployable) return outputs;
  if (report.deployable->holds == Holds::kInParts && outputs && outputs->grade == Grade::kGood) {
    outputs->why = cat("good outputs (", outputs->why, "), but ", report.deployable->target, " runs only parts of it");
    outputs->grade = Grade::kFair;
    outputs->next = cat("quarkq check --target ", report.deployable->target, " ", argument(report.output_path));
  }
  if (report.deployable->holds != Holds::kNo) return outputs;
  const std::string also =
      outputs ? cat(" (its outputs are ", grade_name(outputs->grade), ": ", outputs->why, ")") : std::string();
  return Verdict{Grade::kPoor, cat("not deployable on ", report.deployable->target, ": ", report.deployable->why, also),
                 cure(report, request, settings)};
}

}  // namespace pipeline

}  // namespace quarkq
