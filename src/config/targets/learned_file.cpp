// SPDX-License-Identifier: MIT
// Target files of facts that a user's own machine showed.
#include <algorithm>

#include "base/file_system.h"
#include "base/paths.h"
#include "base/strings.h"
#include "config/load.h"
#include "config/targets/target.h"

namespace quarkq::config {

namespace {

constexpr const char* kLearnedParts[] = {"types", "operators", "rules"};
constexpr const char* kLearnedIds[] = {"type", "op", "rule"};  // Subject of a row of the part.

Node with_evidence(Node row, const std::string& remedy, const Evidence& evidence) {
  if (!remedy.empty()) row = row.with("remedy", Node(remedy));
  row = row.with("grade", Node(grade_name(evidence.grade))).with("source", Node(evidence.source));
  return evidence.note.empty() ? row : row.with("note", Node(evidence.note));
}

Node node_of(const TypeRow& type) {
  Node row = Node().with("type", Node(type.type)).with("column", Node(type.column));
  row = row.with("verdict", Node(name(type.verdict)));
  if (type.as_if_quantized) row = row.with("as_if_quantized", Node(true));
  return with_evidence(std::move(row), type.remedy, type.evidence);
}

Node node_of(const std::string& op, const std::string& column, const OperatorRow& found) {
  static constexpr const char* kVerdicts[] = {"runs", "falls_back", "blocks", "unknown"};  // Indexed by Placement.
  Node row = Node().with("op", Node(op));
  row = row.with(kVerdicts[static_cast<size_t>(found.verdict)], Node::list_of({column}));
  return with_evidence(std::move(row), found.remedy, found.evidence);
}

Node node_of(const RuleRow& rule) {
  Node row = Node().with("rule", Node(rule.rule)).with("effect", Node(name(rule.effect)));
  if (!rule.columns.empty()) row = row.with("for", Node::list_of(rule.columns));
  if (rule.limit != 0) row = row.with("limit", Node(rule.limit));
  if (!rule.symptom.empty()) row = row.with("symptom", Node(rule.symptom));
  return with_evidence(std::move(row), rule.remedy, rule.evidence);
}

/// Returns the rows of each part of kLearnedParts.
std::vector<Node::List> rows_of(const LearnedFacts& facts) {
  std::vector<Node::List> rows(std::size(kLearnedParts));
  for (const TypeRow& type : facts.types) rows[0].push_back(node_of(type));
  for (const auto& [key, found] : facts.operators) rows[1].push_back(node_of(key.first, key.second, found));
  for (const RuleRow& rule : facts.rules) rows[2].push_back(node_of(rule));
  return rows;
}

/// Returns `target` in the spelling of a file at `path`: a name, or a file relative to its folder.
std::string spelled_in(const std::string& path, const std::string& target) {
  if (!file_exists(target)) return target;
  const std::string folder = paths::real_so_far(paths::folder_of(paths::absolute(path)));
  const std::string relative = paths::relative_to(paths::real_so_far(target), folder);
  return relative.empty() ? paths::with_slashes(target) : relative;
}

/// Returns whether `fresh` replaces `row`: the same type or rule, or the same operator in the same columns.
bool replaces(const Node& fresh, const Node& row, const char* id) {
  const Node *mine = fresh.find(id), *other = row.find(id);
  if (mine == nullptr || other == nullptr || *mine != *other) return false;
  const auto columns_of = [](const Node& one) {
    const Node* columns = one.find("runs");
    return columns == nullptr ? one.find("falls_back") : columns;
  };
  const Node *here = columns_of(fresh), *there = columns_of(row);
  return here == nullptr || there == nullptr || *here == *there;
}

/// Returns the earlier rows that no fresh row replaces, and then the fresh rows.
Node::List merged(const Node* earlier, Node::List fresh, const char* id) {
  Node::List rows;
  if (earlier != nullptr) {
    for (const Node& row : earlier->items()) {
      const bool is_kept = std::ranges::none_of(fresh, [&](const Node& one) { return replaces(one, row, id); });
      if (is_kept) rows.push_back(row);
    }
  }
  rows.insert(rows.end(), std::make_move_iterator(fresh.begin()), std::make_move_iterator(fresh.end()));
  return rows;
}

/// Facts learned earlier, and what they extend.
struct Base {
  std::string extends;
  Node earlier;  ///< A map; null if the target is not a file of learned facts.
};

Result<Base> base_of(const std::string& target, const std::string& path) {
  Base base{spelled_in(path, target), Node()};
  if (!file_exists(target)) return base;
  QQ_TRY(const Node file, load_file(target));
  const Node* extends = file.find("extends");
  if (file.find("seen") == nullptr || extends == nullptr || !extends->is_text()) return base;
  const std::string next = paths::joined(paths::folder_of(target), extends->as_text());
  base.extends = spelled_in(path, file_exists(next) ? next : extends->as_text());
  base.earlier = file;
  return base;
}

}  // namespace

Result<std::string> learned_file(const LearnedFacts& facts, const std::string& path) {
  QQ_TRY(const Target target, load_target(facts.target));
  QQ_TRY(const Base base, base_of(facts.target, path));
  Node seen = Node().with("device", Node(facts.seen.device)).with("driver", Node(facts.seen.driver));
  seen = seen.with("compiler", Node(facts.seen.compiler)).with("model", Node(facts.seen.model));
  Node file = Node().with("format", Node(kTargetFormat)).with("extends", Node(base.extends));
  file = file.with("title", Node(target.title)).with("seen", std::move(seen));
  std::vector<Node::List> rows = rows_of(facts);
  for (size_t part = 0; part < rows.size(); ++part) {
    Node::List all = merged(base.earlier.find(kLearnedParts[part]), std::move(rows[part]), kLearnedIds[part]);
    if (!all.empty()) file = file.with(kLearnedParts[part], Node(std::move(all)));
  }
  return to_yaml(file);
}

}  // namespace quarkq::config
