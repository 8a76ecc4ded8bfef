// SPDX-License-Identifier: MIT
// How what a truth calls by name is found for a sample: with or without folders and suffix.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::metrics {

std::string last_part(const std::string& path);
/// Without the suffix of a sample or image; the name of a result may have other dots.
std::string without_sample_suffix(const std::string& path);

class SampleNames {
 public:
  /// `kind`: what has the names, in messages.
  explicit SampleNames(std::string kind) : kind_(std::move(kind)) {}

  /// `name`: of a file, with its suffix.
  void add(const std::string& name, size_t place);
  /// The place of what the sample called `name` belongs to. Fails with kBadData naming the file `truth` when there is
  /// none, or several.
  Result<size_t> find(const std::string& truth, const std::string& name) const;

 private:
  using Places = std::map<std::string, std::vector<size_t>>;
  std::string kind_;
  Places whole_;  ///< as they were added: stronger
  Places short_;  ///< without suffix, without folders
};

/// The files of a folder, at any depth, that a truth has for samples.
class NamedFiles {
 public:
  /// Those that end in one of `suffixes`. Fails with kBadData when there are none.
  static Result<NamedFiles> read(const std::string& folder, const std::vector<std::string>& suffixes,
                                 const std::string& kind);
  /// The path of the sample's file, as SampleNames::find().
  Result<std::string> find(const std::string& name) const;
  const std::vector<std::string>& paths() const { return paths_; }  ///< in natural order

 private:
  explicit NamedFiles(const std::string& kind) : names_(kind) {}
  std::string folder_;
  std::vector<std::string> paths_;
  SampleNames names_;
};

}  // namespace quarkq::metrics
