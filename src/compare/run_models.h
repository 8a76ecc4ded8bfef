// SPDX-License-Identifier: MIT
// Runs one model, or two, over the same samples: several samples at once where memory allows, segment by segment below
// a ceiling on memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calib/data_reader.h"
#include "exec/environment.h"
#include "exec/session.h"
#include "ir/graph.h"

namespace quarkq::compare {

using Tensors = std::vector<ir::Tensor>;

/// Makes a model ready for the executor without changing its function. Null where it is ready already.
using Prepare = Status (*)(ir::Model& model, Diagnostics& diagnostics);

/// Some samples of `data`, and the environment in which models run on them.
struct ChosenSamples {
  const calib::DataReader& data;
  const exec::Environment& environment;
  std::vector<size_t> numbers;  ///< Numbers of the samples in `data`, in the order of the results.
};

class ModelRunner {
 public:
  /// Both are called once for each sample, from several threads at once, in any order; for one sample in this order.
  using Inputs = std::function<Result<Tensors>(size_t index)>;
  using Results = std::function<Status(size_t index, const Tensors& results)>;
  using Label = std::function<std::string(size_t index)>;

  /// `model` must outlive the runner. `samples` is the number of samples in all calls of run().
  ModelRunner(const ir::Model& model, const exec::Environment& environment, size_t samples);

  /// Runs the samples in [begin, end). If several fail, returns the error of the lowest index. `label` names a sample
  /// in errors of the executor; may be empty.
  Status run(size_t begin, size_t end, const Inputs& inputs, const Results& results, const Label& label = {});

 private:
  std::vector<std::unique_ptr<exec::Session>> sessions_;
};

/// The samples of run_both().
struct PairedSamples {
  const calib::DataReader& data;
  const exec::Environment& environment;           ///< Environment of the sessions of both models.
  std::vector<size_t> numbers;                    ///< Samples of `data`, in the order of the results.
  const calib::DataReader* fitted = nullptr;      ///< Samples as the second model accepts them; null: `data` itself.
  std::string first_name = {}, second_name = {};  ///< Names of the models for errors; may be empty.
};

/// Results of two models for one sample.
struct PairedResults {
  size_t number;              ///< Number of the sample in the data.
  const std::string& sample;  ///< Name of the sample.
  const Tensors &first, &second;
};

/// Runs both models on the same samples and passes the results to `reduce` in the order of the numbers. At most 512 MB
/// of inputs and results are kept at a time, but at least one sample. Errors name the sample and the model.
Status run_both(const ir::Model& first, const ir::Model& second, const PairedSamples& samples,
                const std::function<Status(const PairedResults&)>& reduce);

}  // namespace quarkq::compare
