// SPDX-License-Identifier: MIT
// THE table of sample file formats: which suffix means what, and who reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calib/data_reader.h"
#include "calib/reader/file_tree.h"

namespace quarkq::calib {

/// One input's file.
struct FileRequest {
  std::string path;  ///< its name in messages
  FileBytes bytes;
  const InputSpec& input;
  const DataOptions& options;
  bool is_only_input = true;  ///< of the model
  bool is_one_sample = true;  ///< false: the first axis of the array may count samples
};

struct FileFormat {
  const char* kind;                   ///< as calibration.reader names it
  std::vector<std::string> suffixes;  ///< in lower case, with the dot
  bool ignores_case;                  ///< of the suffix
  bool has_all_inputs;                ///< one file holds a whole sample
  /// The array as the file holds it, not yet fitted to the input's shape and type. kBadData names the file.
  Result<ir::Tensor> (*read)(const FileRequest& request);
  /// Checks what can be checked without reading the values; null if nothing can.
  Status (*check)(const FileRequest& request) = nullptr;
  bool reads_all_to_check = false;  ///< `check` reads more than a header
};

const std::vector<FileFormat>& file_formats();
/// The format of a file of this name, or null when it is no sample. `kind`: only that one; empty: all.
const FileFormat* format_of(std::string_view file_name, const std::string& kind);
/// An error unless `kind` is empty or in the table.
Status check_kind(const std::string& kind);
/// All suffixes of `kind` (empty: of all kinds), for messages: ".jpg, .jpeg, .png".
std::string suffixes_text(const std::string& kind);
/// `file_name` without folder and without the suffix of its format.
std::string stem_of(const std::string& file_name);

/// '/' and ':' as '_': how the name of an input may be spelt where a file name stands.
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
