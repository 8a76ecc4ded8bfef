// SPDX-License-Identifier: MIT
// What the bodies of If, Loop and Scan are called with while the samples run: the samples of the bodies as models.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "calib/data_reader.h"
#include "exec/session.h"

namespace quarkq::pipeline {

/// Keeps calls of the bodies that it was told to: evenly spread over all calls, so many that memory stays bounded.
class BodyRecorder : public exec::BodySink {
 public:
  using Call = std::map<ir::ValueId, ir::Tensor>;  ///< by value of the body

  void listen_to(const ir::Graph& body) { bodies_[&body]; }
  Status on_call(const ir::Graph& body, std::span<const ir::ValueId> values,
                 std::span<const ir::Operand> operands) override;
  /// In the order they happened. Empty: the body was not called, or with a value that is no tensor.
  const std::vector<Call>& calls(const ir::Graph& body) const { return bodies_.at(&body).kept; }

 private:
  struct Calls {
    std::vector<Call> kept;
    size_t seen = 0, stride = 1;
  };
  std::map<const ir::Graph*, Calls> bodies_;  ///< looked up only: their order means nothing
};

/// Reads calls as samples. `inputs`: for each input of the body model, the value of the body that it stands for. Calls
/// that lack one are left out.
class BodyReader : public calib::DataReader {
 public:
  BodyReader(const std::vector<BodyRecorder::Call>& calls, const std::vector<ir::ValueId>& inputs);

  size_t size() const override { return samples_.size(); }
  Result<calib::Sample> read(size_t index) const override { return samples_[index]; }

 private:
  std::vector<calib::Sample> samples_;
};

}  // namespace quarkq::pipeline
