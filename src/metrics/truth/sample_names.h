// SPDX-License-Identifier: MIT
// Matching of names in a truth with samples: with or without folders and suffix.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::metrics {

std::string last_part(const std::string& path);
/// Returns the name without the suffix of a sample or image. Names of results may contain other dots.
std::string without_sample_suffix(const std::string& path);

class SampleNames {
 public:
  /// `kind` describes the owner of the names, in messages.
  explicit SampleNames(std::string kind) : kind_(std::move(kind)) {}

  /// `name` is a file name with its suffix.
  void add(const std::string& name, size_t place);
  /// Returns the entry for the sample called `name`. Fails with kBadData naming the file `truth` if there is none, or
  /// several.
  Result<size_t> find(const std::string& truth, const std::string& name) const;

 private:
  using Places = std::map<std::string, std::vector<size_t>>;
  std::string kind_;
  Places whole_;  ///< Complete names; these take precedence.
  Places short_;  ///< Without suffix and folders.
};

/// The files of a folder, at any depth, that contain the truth for samples.
class NamedFiles {
 public:
  /// Reads the files that end in one of `suffixes`. Fails with kBadData if there are none.
  static Result<NamedFiles> read(const std::string& folder, const std::vector<std::string>& suffixes,
                                 const std::string& kind);
  /// Returns the path of the sample's file, matched like SampleNames::find().
  Result<std::string> find(const std::string& name) const;
  const std::vector<std::string>& paths() const { return paths_; }  ///< In natural order.

 private:
  explicit NamedFiles(const std::string& kind) : names_(kind) {}
  std::string folder_;
  std::vector<std::string> paths_;
  SampleNames names_;
};

}  // namespace quarkq::metrics
