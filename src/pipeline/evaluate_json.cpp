// SPDX-License-Identifier: MIT
// The report of evaluate() as JSON. Keys and their order are part of the contract.
#include "pipeline/json.h"
#include "quarkq/evaluate.h"
#include "quarkq/version.h"

namespace quarkq {

using pipeline::Json;
using pipeline::number;

std::string to_json(const EvaluateReport& report) {
  Json json;
  json["quarkq"] = version();
  json["count"] = report.pairs.size();
  json["mean_cosine"] = number(report.mean_cosine);
  json["min_cosine"] = number(report.min_cosine);
  json["mean_l2"] = number(report.mean_l2);
  json["max_l2"] = number(report.max_l2);
  json["mean_psnr"] = number(report.mean_psnr);
  json["min_psnr"] = number(report.min_psnr);
  json["mean_ssim"] = number(report.mean_ssim);
  json["min_ssim"] = number(report.min_ssim);
  json["pairs"] = Json::array();
  for (const PairMetrics& pair : report.pairs) {
    json["pairs"].push_back({{"file", pair.file},
                             {"cosine", number(pair.cosine)},
                             {"l2", number(pair.l2)},
                             {"psnr", number(pair.psnr)},
                             {"ssim", number(pair.ssim)}});
  }
  return pipeline::text(json);
}

}  // namespace quarkq
