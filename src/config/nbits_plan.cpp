// SPDX-License-Identifier: MIT
// The plan file of quarkq.nbits_plan, and sizes as text.
#include <cstdio>

#include "base/parse_text.h"
#include "config/convert.h"
#include "config/load.h"
#include "config/low_bit_weights.h"

namespace quarkq::config {
namespace {

constexpr int64_t kPlanVersion = 1;

/// At most six significant digits, as YAML.
std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

std::string row_text(const NBitsPlan::Row& row, bool is_table) {
  const std::string name = to_flow(Node(Node::Map{{row.name, Node(int64_t{0}), {}}}));
  const std::string key = name.substr(1, name.rfind(':') - 1);  // quoted where YAML needs it
  std::string text = cat("  ", key, ": {bits: ", row.format.bits, ", group_size: ", row.format.block);
  if (!is_table) text += row.format.is_symmetric ? ", symmetric: true" : ", symmetric: false";
  if (row.loss >= 0) text += cat(", loss: ", short_number(row.loss));
  return text + "}\n";
}

Result<NBitsPlan::Row> read_row(const Node::Entry& entry, const std::string& path, bool is_table) {
  NBitsPlan::Row row;
  row.name = entry.key;
  const std::string place = cat(path, ".'", entry.key, "'");
  QQ_RETURN_IF_ERROR(check_keys(entry.value, place,
                                is_table ? std::vector<std::string>{"bits", "group_size", "loss"}
                                         : std::vector<std::string>{"bits", "group_size", "symmetric", "loss"}));
  int64_t bits = 0;
  const Node* const given = entry.value.find("bits");
  if (given == nullptr) return invalid_argument(entry.key_mark.prefix(), place, ": bits is missing");
  QQ_TRY(bits, read<int64_t>(*given, place + ".bits"));
  const bool is_known =
      is_table ? bits == 0 || bits == 4 || bits == 8 : bits == 2 || bits == 3 || bits == 4 || bits == 8;
  if (!is_known)
    return invalid_argument(given->mark().prefix(), place, ".bits: ", bits,
                            is_table ? ", allowed are 0 (stays as it is), 4 and 8" : ", allowed are 2, 3, 4 and 8");
  row.format.bits = static_cast<int>(bits);
  if (const Node* const block = entry.value.find("group_size")) {
    QQ_TRY(row.format.block, read<int64_t>(*block, place + ".group_size"));
  }
  if (const Node* const symmetric = entry.value.find("symmetric")) {
    QQ_TRY(row.format.is_symmetric, read<bool>(*symmetric, place + ".symmetric"));
  }
  if (const Node* const loss = entry.value.find("loss")) {
    QQ_TRY(row.loss, read<double>(*loss, place + ".loss"));
  }
  QQ_RETURN_IF_ERROR(check_nbits_block((place + ".group_size").c_str(), row.format.block));
  return row;
}

Result<std::vector<NBitsPlan::Row>> read_rows(const Node& plan, const std::string& path, const char* key) {
  std::vector<NBitsPlan::Row> rows;
  const Node* const part = plan.find(key);
  if (part == nullptr) return rows;
  if (!part->is_map() && !part->is_null())
    return invalid_argument(part->mark().prefix(), path, ": ", key, " is not a map of names");
  for (const Node::Entry& entry : part->entries()) {
    QQ_TRY(NBitsPlan::Row row, read_row(entry, cat(path, ": ", key), std::string_view(key) == "tables"));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Result<int64_t> read_size(const Node& node, const std::string& path) {
  const std::string text = node.is_text() ? node.as_text() : to_flow(node);
  const std::optional<int64_t> bytes = parse_size(text);
  if (bytes) return *bytes;
  return invalid_argument(node.mark().prefix(), path, ": found '", text, "', ", kAllowedSizes);
}

std::string to_yaml(const NBitsPlan& plan) {
  std::string text = cat("# Formats of matrices and tables (quarkq.nbits_plan). loss: relative output error.\n",
                         "nbits_plan: ", kPlanVersion, "\nbits_per_weight: ", short_number(plan.bits_per_weight), "\n");
  text += plan.matrices.empty() ? "matrices: {}\n" : "matrices:\n";
  for (const NBitsPlan::Row& row : plan.matrices) text += row_text(row, /*is_table=*/false);
  text += plan.tables.empty() ? "tables: {}\n" : "tables:\n";
  for (const NBitsPlan::Row& row : plan.tables) text += row_text(row, /*is_table=*/true);
  return text;
}

Result<NBitsPlan> load_nbits_plan(const std::string& path) {
  QQ_TRY(const Node node, load_file(path));
  const Node* const version = node.find("nbits_plan");
  if (version == nullptr || *version != Node(kPlanVersion))
    return invalid_argument(path, ": not a plan of matrices (nbits_plan: ", kPlanVersion,
                            " is missing); --nbits-plan-out writes one");
  QQ_RETURN_IF_ERROR(check_keys(node, path, {"nbits_plan", "bits_per_weight", "matrices", "tables"}));
  NBitsPlan plan;
  QQ_TRY(plan.matrices, read_rows(node, path, "matrices"));
  QQ_TRY(plan.tables, read_rows(node, path, "tables"));
  return plan;
}

}  // namespace quarkq::config
