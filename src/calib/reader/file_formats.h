// SPDX-License-Identifier: MIT
// The table of sample file formats: their suffixes and readers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calib/data_reader.h"
#include "calib/reader/file_tree.h"

namespace quarkq::calib {

/// One input's file.
struct FileRequest {
  std::string path;  ///< Its name in messages.
  FileBytes bytes;
  const InputSpec& input;
  const DataOptions& options;
  bool is_only_input = true;  ///< The model has no other input.
  bool is_one_sample = true;  ///< False: the first axis of the array may count samples.
};

struct FileFormat {
  const char* kind;                   ///< Name in calibration.reader.
  std::vector<std::string> suffixes;  ///< In lower case, with the dot.
  bool ignores_case;                  ///< Ignore the case of the suffix.
  bool has_all_inputs;                ///< One file contains a whole sample.
  /// Returns the array as stored, before it is fitted to the input's shape and type. Fails with kBadData naming the
  /// file.
  Result<ir::Tensor> (*read)(const FileRequest& request);
  /// Runs the checks that do not read the values; null if there are none.
  Status (*check)(const FileRequest& request) = nullptr;
  bool reads_all_to_check = false;  ///< `check` reads more than a header.
};

const std::vector<FileFormat>& file_formats();
/// Returns the format of a file with this name, or null if it is not a sample. `kind` restricts the formats; empty:
/// all.
const FileFormat* format_of(std::string_view file_name, const std::string& kind);
/// Fails unless `kind` is empty or in the table.
Status check_kind(const std::string& kind);
/// Returns all suffixes of `kind` (empty: of all kinds), for messages: ".jpg, .jpeg, .png".
std::string suffixes_text(const std::string& kind);
/// Returns `file_name` without folder and without the suffix of its format.
std::string stem_of(const std::string& file_name);

/// Returns the spelling of an input's name in file names: '/' and ':' become '_'.
std::string file_spelling(std::string input);
/// Returns the spellings of the input in file names: its own name, and the replaced spelling unless another input has
/// the same one.
std::vector<std::string> spellings_of(const InputSpec& input);

/// Calls check_fit() on the array of the file, before its values are read.
Status check_array(const FileRequest& request, ElementType type, const ir::Shape& dims);

// One function per format.
Result<ir::Tensor> read_npy_file(const FileRequest& request);
Result<ir::Tensor> read_npz_file(const FileRequest& request);
Result<ir::Tensor> read_operand_file(const FileRequest& request);
Result<ir::Tensor> read_raw_file(const FileRequest& request);
Result<ir::Tensor> read_image_file(const FileRequest& request);

Status check_npy_file(const FileRequest& request);
Status check_image_file(const FileRequest& request);

}  // namespace quarkq::calib
