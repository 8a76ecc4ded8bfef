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

// Findings about a data set.

/// What the user should know of a data set, as a finding.
struct DataNote {
  DiagnosticId id;
  std::string subject, text;
};

// The names of files that the readers of samples take.

/// Whether a file of this name may be a sample, or one of the inputs of a sample.
bool is_sample_name(const std::string& file_name);

/// Type and shape of a model input; unknown dimensions are -1.
struct InputSpec {
  std::string name;
  ElementType type = ElementType::kFloat;
  bool has_shape = false;
  ir::Shape dims;
  std::string container = {};  ///< "sequence", "optional" or "map", which no sample file holds; empty: a tensor
  /// Another input has the same spelling in file names, so that only the exact name means this one.
  bool is_ambiguous = false;
};
/// The required inputs of a graph, in order.
std::vector<InputSpec> input_specs(const ir::Graph& graph);

/// One inference: a tensor per model input, in input order.
struct Sample {
  std::string name;  ///< file name without folder and suffix
  std::vector<ir::Tensor> inputs;
  std::vector<std::string> files;  ///< by input: the file it came from, for messages; empty: none
};

/// Returns the sample as it is. Fails with kBadData if none of its tensors has a value: it would measure nothing.
Result<Sample> with_values(Sample sample);
struct DataNote;  // calib/data_reader.h

class DataReader {
 public:
  virtual ~DataReader() = default;
  virtual size_t size() const = 0;
  /// Sample `index`. REQUIRES: index < size(). Safe to call from several threads.
  virtual Result<Sample> read(size_t index) const = 0;
  /// Returns notes about files that were left out and settings that do not apply to these samples.
  virtual std::vector<DataNote> notes() const;
};

using config::RawFormat;

struct DataOptions {
  std::string folder;                    ///< samples as docs/calibration-data.md describes
  std::string list_file;                 ///< instead: a text file that names each sample's files, a sample per line
  size_t limit = 0;                      ///< > 0: only the first that many samples
  std::string kind;                      ///< "npy", "npz", "pb", "raw" or "image"; empty: what the folder holds
  std::map<std::string, RawFormat> raw;  ///< by input name; "" holds for every other input
  std::optional<config::Preprocess> preprocess;  ///< of images; absent: only inputs of integers take images
};

/// Opens the samples that `options` names. Fails with kBadData when they do not fit the inputs.
Result<std::unique_ptr<DataReader>> open_data(const DataOptions& options, std::vector<InputSpec> inputs);

/// One random sample per ref:samples#random-samples: NumPy's MT19937, seeded with 42 for each input. `ranges` and
/// `shapes` may be empty.
using RandomDataOptions = config::RandomDataSettings;
Result<std::unique_ptr<DataReader>> make_random_reader(const std::vector<InputSpec>& inputs,
                                                       const RandomDataOptions& options);

/// `tensor` made fit for `spec` by the rules of ref:samples#folders-of-arrays: a flat array is reshaped, a missing
/// batch dimension added, a float or integer dtype converted to the input's of the same kind. `file` is named in
/// errors.
Result<ir::Tensor> fit_to_input(ir::Tensor tensor, const InputSpec& spec, const std::string& file);

/// Checks an array before its values are read. Fails with kBadData if fit_to_input() would reject its shape, and with
/// kResource if its values need more memory than the machine has.
Status check_fit(ElementType type, const ir::Shape& dims, const InputSpec& spec, const std::string& file);

/// Zeros of a shape that follows from the model. kResource where they take more than the machine has.
Result<ir::Tensor> zeros_for_input(const InputSpec& spec, ElementType type, const ir::Shape& dims);

// NaN and infinities in sample files: usually a broken recording, so they are an error unless allowed.

/// kBadData names the file, the input and the first place of a NaN or an infinity in a float input of `sample`.
Status check_finite(const Sample& sample, const std::vector<InputSpec>& inputs);

}  // namespace quarkq::calib
