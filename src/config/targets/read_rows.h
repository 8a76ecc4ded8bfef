// SPDX-License-Identifier: MIT
// Reading the rows of a target's file. A row is a map; every row names its grade and its source.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "config/convert.h"
#include "config/targets/target.h"

namespace quarkq::config {

/// Each function adds the contents of `node` to `target`. Rows of the same operator and column, type, option or setting
/// replace existing rows. The rules of a file replace rules of the same id that it extends.
Status read_target_types(const Node& node, Target& target);
Status read_target_operators(const Node& node, Target& target);
Status read_target_rules(const Node& node, Target& target);
Status read_target_options(const Node& node, Target& target);
Status read_other_operators(const Node& node, Target& target);
Status read_target_settings(const Node& node, Target& target);
Status read_cutting(const Node& node, Target& target);

/// One row of a target's file: typed members, and the grade and source of every row.
class RowReader {
 public:
  /// `part` names the list in messages ("rules") and must outlive the reader, as must `node`.
  RowReader(const Node& node, const char* part) : node_(node), map_(node, part), part_(part) {}

  const OptionMap& map() const { return map_; }
  /// Fails for keys other than these and the evidence keys.
  Status check_keys(std::vector<std::string> allowed) const;
  /// Reads a text that must be present and not empty.
  Status take_text(const char* key, std::string& member) const;
  /// Reads "remedy", checked against remedies.def. The member does not change if it is absent.
  Status take_remedy(std::string& member) const;
  Status check_name(const char* key, const std::string& name, const std::vector<std::string>& allowed) const;
  Result<Placement> placement(const char* key, const std::string& name) const;
  /// grade, source, note.
  Result<Evidence> evidence() const;
  /// Returns kInvalidArgument with the location of the row.
  Status refusal(const std::string& text) const;

 private:
  const Node& node_;
  OptionMap map_;
  const char* part_;
};

using ReadRow = Status (*)(const RowReader& row, Target& target);
/// `read` for each item of the list `node`.
Status for_each_row(const Node& node, const char* part, Target& target, ReadRow read);

}  // namespace quarkq::config
