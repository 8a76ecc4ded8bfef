// SPDX-License-Identifier: MIT
// The files that a run reads and the files that it writes, compared in one place: an input is never overwritten.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/platform/files.h"

namespace quarkq {

/// The files of one run. Files are compared by device and inode, regardless of the path or link that names them. While
/// an object exists, AtomicFile refuses to overwrite its inputs, so undeclared outputs are covered as well. Declare
/// every output before the run computes anything, so that a conflict is found early.
class RunFiles {
 public:
  RunFiles();
  ~RunFiles();
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;

  using IsInput = bool (*)(const std::string& file_name);
  /// Declares a file, or a folder with the files below it whose names `is_input` accepts; null accepts all. Other paths
  /// are ignored, because the reader reports them. Fails with kInvalidArgument if a file is a declared output.
  Status add_input(const std::string& path, IsInput is_input = nullptr);
  /// Declares a result. Fails with kInvalidArgument if an input has this path. Ignores "" and "-".
  Status add_output(const std::string& path);
  /// Declares a folder for results. Fails with kInvalidArgument if it is a declared folder of inputs.
  Status add_output_folder(const std::string& path);

 private:
  using Id = platform::FileId;
  friend Status check_not_input(const std::string& output);
  friend Status note_input(const std::string& path);
  friend void note_product(int fd);

  bool reads(const Id& id);
  Status add_input_locked(const std::string& path, IsInput is_input);

  std::set<Id> inputs_, input_folders_, products_;
  std::vector<std::pair<std::string, IsInput>> unlisted_;  ///< Folders whose files are not listed in `inputs_` yet.
  std::map<Id, std::string> outputs_;                      ///< Files that existed when they were declared.
};

/// Fails with kInvalidArgument if `output` is an input of a run in progress.
Status check_not_input(const std::string& output);
/// Declares an input that was found while reading another input, such as the external data of a model. Files written by
/// this process during the run do not count as inputs. Fails with kInvalidArgument if `path` is a declared output.
Status note_input(const std::string& path);
/// Declares that the file `fd` is a result of the runs in progress.
void note_product(int fd);

}  // namespace quarkq
