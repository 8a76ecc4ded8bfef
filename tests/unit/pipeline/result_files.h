// SPDX-License-Identifier: MIT
// Two folders of results for the tests of evaluate().
#pragma once

#include <vector>

#include "calib/npy.h"
#include "quarkq/evaluate.h"
#include "unit/base/temp_folder.h"

namespace quarkq::test {

struct ResultFiles {
  TempFolder folder;

  template <typename T>
  void save(const std::string& side, const std::string& name, const ir::Shape& dims,
            const std::vector<T>& values) const {
    ASSERT_TRUE(calib::write_npy(folder / (side + "/" + name + ".npy"), ir::Tensor::from<T>(dims, values)).ok());
  }
  template <typename T>
  void pair(const std::string& name, const ir::Shape& dims, const std::vector<T>& baseline,
            const std::vector<T>& quantized) const {
    save("a", name, dims, baseline);
    save("b", name, dims, quantized);
  }
  Result<EvaluateReport> evaluate(bool compat = false) const {
    return quarkq::evaluate({folder.path() + "/a", folder.path() + "/b", compat});
  }
  /// Metrics of the only pair.
  PairMetrics metrics(bool compat = false) const {
    const Result<EvaluateReport> report = evaluate(compat);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? report.value().pairs.at(0) : PairMetrics{};
  }
};

}  // namespace quarkq::test
