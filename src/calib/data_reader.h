// SPDX-License-Identifier: MIT
// Sources of samples. A reader returns one sample at a time, so memory does not grow with their number.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "config/preprocess.h"
#include "config/sample_settings.h"
#include "ir/graph.h"

namespace quarkq::calib {

/// Information about a data set for the user, in the form of a finding.
struct DataNote {
  DiagnosticId id;
  std::string subject, text;
};

/// Returns whether a file of this name may be a sample, or one of the inputs of a sample.
bool is_sample_name(const std::string& file_name);

/// Type and shape of a model input; unknown dimensions are -1.
struct InputSpec {
  std::string name;
  ElementType type = ElementType::kFloat;
  bool has_shape = false;
  ir::Shape dims;
  std::string container = {};  ///< "sequence", "optional" or "map", which sample files cannot contain; empty: a tensor.
  /// Another input has the same spelling in file names, so that only the exact name selects this input.
  bool is_ambiguous = false;
};
/// Returns the required inputs of a graph, in order.
std::vector<InputSpec> input_specs(const ir::Graph& graph);

/// One inference: a tensor per model input, in input order.
struct Sample {
  std::string name;  ///< File name without folder and suffix.
  std::vector<ir::Tensor> inputs;
  std::vector<std::string> files;  ///< File of each input, for messages; empty: none.
};

/// Returns the sample unchanged. Fails with kBadData if none of its tensors has a value, because it would measure
/// nothing.
Result<Sample> with_values(Sample sample);
struct DataNote;  // calib/data_reader.h

class DataReader {
 public:
  virtual ~DataReader() = default;
  virtual size_t size() const = 0;
  /// Returns sample `index`. Thread-safe. REQUIRES: index < size().
  virtual Result<Sample> read(size_t index) const = 0;
  /// Returns notes about files that were not used and settings that do not apply to these samples.
  virtual std::vector<DataNote> notes() const;
};

using config::RawFormat;

struct DataOptions {
  std::string folder;                    ///< Samples in the format of docs/calibration-data.md.
  std::string list_file;                 ///< Replaces the folder: a text file that names each sample's files, one
                                         ///< sample per line.
  size_t limit = 0;                      ///< If > 0: the number of samples to read, from the first.
  std::string kind;                      ///< "npy", "npz", "pb", "raw" or "image"; empty: the kind found in the folder.
  std::map<std::string, RawFormat> raw;  ///< Keyed by input name; "" applies to every other input.
  std::optional<config::Preprocess> preprocess;  ///< Preprocessing of images; absent: only integer inputs accept
                                                 ///< images.
};

/// Opens the samples named by `options`. Fails with kBadData if they do not match the inputs.
Result<std::unique_ptr<DataReader>> open_data(const DataOptions& options, std::vector<InputSpec> inputs);

/// Returns one random sample as specified in ref:samples#random-samples: NumPy's MT19937, seeded with 42 for each
/// input. `ranges` and `shapes` may be empty.
using RandomDataOptions = config::RandomDataSettings;
Result<std::unique_ptr<DataReader>> make_random_reader(const std::vector<InputSpec>& inputs,
                                                       const RandomDataOptions& options);

/// Adapts `tensor` to `spec` by the rules of ref:samples#folders-of-arrays: reshapes a flat array, adds a missing batch
/// dimension, and converts a float or integer dtype to the input's dtype of the same kind. `file` is named in errors.
Result<ir::Tensor> fit_to_input(ir::Tensor tensor, const InputSpec& spec, const std::string& file);

/// Checks an array before its values are read. Fails with kBadData if fit_to_input() would reject its shape, and with
/// kResource if its values need more memory than the machine has.
Status check_fit(ElementType type, const ir::Shape& dims, const InputSpec& spec, const std::string& file);

/// Returns zeros of a shape that follows from the model. Fails with kResource if they need more memory than the machine
/// has.
Result<ir::Tensor> zeros_for_input(const InputSpec& spec, ElementType type, const ir::Shape& dims);

// NaN and infinities in sample files usually indicate a broken recording, so they are an error unless allowed.

/// Fails with kBadData for a NaN or an infinity in a float input of `sample`; the message names the file, the input and
/// the first place.
Status check_finite(const Sample& sample, const std::vector<InputSpec>& inputs);

}  // namespace quarkq::calib
