// SPDX-License-Identifier: MIT
// The tables of evaluate() as CSV. Columns and their order are part of the contract (docs/evaluate.md).
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/printable.h"
#include "base/strings.h"
#include "quarkq/evaluate.h"

namespace quarkq {
namespace {

/// The shortest decimal that reads back as `value`; "nan", "inf".
std::string cell(double value) {
  if (std::isnan(value)) return "nan";
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// Returns `name` on one line, in quotes if it contains a comma or a quote. A name that a spreadsheet would evaluate
/// gets an apostrophe.
std::string cell(const std::string& name) {
  const bool is_formula = !name.empty() && std::string_view("=+-@").find(name[0]) != std::string_view::npos;
  const std::string text = (is_formula ? "'" : "") + printable(name);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

template <typename... Values>
std::string row(const Values&... values) {
  return join(std::vector<std::string>{cell(values)...}, ",") + "\n";
}

}  // namespace

std::string pairs_csv(const EvaluateReport& report) {
  std::string csv = "file,cosine,l2,psnr,ssim,sqnr_db,max_abs\n";
  for (const PairMetrics& pair : report.pairs) {
    csv += row(pair.file, pair.cosine, pair.l2, pair.psnr, pair.ssim, pair.sqnr_db, pair.max_abs);
  }
  return csv;
}

std::string layers_csv(const EvaluateReport& report) {
  std::string csv = "tensor,node,sqnr_db,cosine,inputs_db,written_db\n";
  for (const TensorAgreement& layer : report.layers) {
    csv += row(layer.name, layer.node, layer.sqnr_db, layer.cosine, layer.inputs_db, layer.written_db);
  }
  return csv;
}

}  // namespace quarkq
