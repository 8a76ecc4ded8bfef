// SPDX-License-Identifier: MIT
#include "calib/statistics_set.h"

#include <vector>

namespace quarkq::calib {
namespace {

std::string short_hash(const std::string& hash) { return hash.substr(0, 12); }

std::string hash_difference(const std::string& what, const std::string& theirs, const std::string& ours) {
  return cat(what, " (hash ", short_hash(theirs), ", here ", short_hash(ours), ")");
}

std::string isa_text(const StatisticsOrigin& origin) {
  return join(std::vector<std::string>(origin.isa.begin(), origin.isa.end()), "+");
}

/// The first setting that differs: "include_cle: true there, false here".
std::string setting_difference(const StatisticsOrigin& theirs, const StatisticsOrigin& ours) {
  std::set<std::string> names;
  for (const auto& [name, value] : theirs.settings) names.insert(name);
  for (const auto& [name, value] : ours.settings) names.insert(name);
  auto text = [](const std::map<std::string, std::string>& settings, const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string("not set") : found->second;
  };
  for (const std::string& name : names) {
    const std::string there = text(theirs.settings, name), here = text(ours.settings, name);
    if (there != here) return cat("made with other settings (", name, ": ", there, " there, ", here, " here)");
  }
  return "";
}

}  // namespace

std::string run_difference(const StatisticsOrigin& theirs, const StatisticsOrigin& ours, bool allow_other_isa) {
  if (theirs.model != ours.model) return hash_difference("made from another model", theirs.model, ours.model);
  if (theirs.preprocess != ours.preprocess) {
    return cat("made with another preprocess block (", theirs.preprocess, " there, ", ours.preprocess, " here)");
  }
  if (theirs.graph != ours.graph) {
    const std::string setting = setting_difference(theirs, ours);
    return setting.empty() ? hash_difference("made from another form of the model", theirs.graph, ours.graph) : setting;
  }
  if (!allow_other_isa && theirs.isa != ours.isa) {
    return cat("made with instruction set ", isa_text(theirs), ", this run uses ", isa_text(ours),
               "; float results differ in the last bits");
  }
  return "";
}

namespace {

/// Parts of one set come from the same program, settings and data as well.
std::string part_difference(const StatisticsOrigin& theirs, const StatisticsOrigin& ours, bool allow_other_isa) {
  if (theirs.version != ours.version) {
    return cat("made by quarkq ", theirs.version, ", other parts by ", ours.version);
  }
  if (std::string difference = run_difference(theirs, ours, allow_other_isa); !difference.empty()) return difference;
  if (theirs.samples != ours.samples) {
    return cat("made from data of ", theirs.samples, " samples, the other parts of ", ours.samples);
  }
  return setting_difference(theirs, ours);
}

}  // namespace

Status merge_statistics(StatisticsSet& all, StatisticsSet part, const std::string& part_name, bool allow_other_isa) {
  const std::string difference = part_difference(part.origin, all.origin, allow_other_isa);
  if (!difference.empty()) return bad_data(part_name, ": ", difference);
  if (part.with_bins != all.with_bins) return bad_data(part_name, ": one part holds bins, another extremes only");
  for (const auto& [number, name] : part.samples) {
    const auto [known, is_new] = all.samples.emplace(number, name);
    if (!is_new) return bad_data(part_name, ": sample ", number, " (", name, ") is in another part already");
  }
  if (part.tensors.size() != all.tensors.size()) {
    return bad_data(part_name, ": holds ", part.tensors.size(), " tensors, the other parts ", all.tensors.size());
  }
  for (auto& [name, statistics] : part.tensors) {
    const auto own = all.tensors.find(name);
    if (own == all.tensors.end()) return bad_data(part_name, ": tensor ", name, " is not in the other parts");
    own->second.merge(std::move(statistics));
  }
  all.origin.isa.insert(part.origin.isa.begin(), part.origin.isa.end());
  return Status();
}

Status check_complete(const StatisticsSet& set, const std::string& name) {
  if (set.samples.size() == set.origin.samples) return Status();
  constexpr size_t kNamed = 5;
  std::vector<std::string> missing;
  for (uint64_t number = 0; number < set.origin.samples && missing.size() < kNamed; ++number) {
    if (!set.samples.contains(number)) missing.push_back(std::to_string(number));
  }
  return bad_data(name, ": covers ", set.samples.size(), " of ", set.origin.samples,
                  " samples (missing: ", join(missing, ", "),
                  set.origin.samples - set.samples.size() > kNamed ? ", ..." : "",
                  "); merge all parts first, or set calibration.allow_partial=true");
}

}  // namespace quarkq::calib
