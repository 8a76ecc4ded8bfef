// SPDX-License-Identifier: MIT
// Uses the public API only: the version, and quantize() of a model that is not there.
#include <quarkq/evaluate.h>
#include <quarkq/quantize.h>
#include <quarkq/status.h>

#include <cstdio>

int main() {
  std::printf("version %s\n", quarkq::version());
  quarkq::QuantizeRequest request;
  request.model_path = "nowhere.onnx";
  request.config = "xint8";
  const quarkq::Result<quarkq::QuantizeReport> report = quarkq::quantize(request);
  if (report.ok()) return 1;
  std::printf("status %d: %s\n", quarkq::exit_code(report.status().code()), report.status().message().c_str());
  return 0;
}
