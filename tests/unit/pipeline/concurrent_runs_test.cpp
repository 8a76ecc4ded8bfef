// SPDX-License-Identifier: MIT
// Runs at the same time in one process: backend, operators, threads and ceiling of one do not reach the other.
#include <glob.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <thread>
#include <utility>

#include "onnx_io/save.h"
#include "onnx_io/text.h"
#include "quarkq/quantize.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

const std::string kExample = std::string(QUARKQ_SOURCE_DIR) + "/examples/digits";

/// Names ONNX Runtime's library to the process. False if the environment of the tests has none.
bool find_runtime() {
  if (std::getenv("QUARKQ_ONNXRUNTIME") != nullptr) return true;
  glob_t found{};
  const std::string pattern =
      std::string(QUARKQ_SOURCE_DIR) + "/build/venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so*";
  const bool is_there = glob(pattern.c_str(), 0, nullptr, &found) == 0;
  if (is_there) ::setenv("QUARKQ_ONNXRUNTIME", found.gl_pathv[0], /*overwrite=*/1);
  globfree(&found);
  return is_there;
}

QuantizeRequest digits(int threads, const std::string& setting, int64_t memory_ceiling) {
  QuantizeRequest request;
  request.model_path = kExample + "/digits.onnx";
  request.calib_folder = kExample + "/calib";
  request.config = "A8W8";
  request.settings = {setting};
  request.in_memory = true;
  request.threads = threads;
  request.memory_ceiling = memory_ceiling;
  return request;
}

struct Outcome {
  Status status;
  QuantizeReport report;
  int threads = 0;  ///< that OpenMP had on the thread of the run, at its end
};

Outcome run(const QuantizeRequest& request) {
  Outcome outcome;
  Result<QuantizeReport> report = quantize(request);
  outcome.status = report.status();
  if (report.ok()) outcome.report = std::move(report).value();
  outcome.threads = omp_get_max_threads();
  return outcome;
}

/// Runs both at the same time: neither calibrates before both have opened what their settings request.
std::vector<Outcome> run_together(const std::vector<QuantizeRequest>& requests) {
  std::vector<Outcome> outcomes(requests.size());
  std::latch opened(static_cast<std::ptrdiff_t>(requests.size()));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < requests.size(); ++i) {
    threads.emplace_back([&, i] {
      QuantizeRequest request = requests[i];
      bool has_met = false;
      request.progress = [&](const Progress& progress) {
        if (progress.phase == "calibrate" && !std::exchange(has_met, true)) opened.arrive_and_wait();
        return true;
      };
      outcomes[i] = run(request);
      if (!has_met) opened.count_down();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

Outcome run_alone(const QuantizeRequest& request) {
  Outcome outcome;
  std::thread([&] { outcome = run(request); }).join();
  return outcome;
}

bool has_finding(const QuantizeReport& report, const std::string& id) {
  return std::ranges::any_of(report.findings, [&](const Finding& finding) { return finding.id == id; });
}

void expect_as_alone(const std::vector<QuantizeRequest>& requests) {
  const std::vector<Outcome> together = run_together(requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    const Outcome alone = run_alone(requests[i]);
    ASSERT_TRUE(together[i].status.ok()) << together[i].status.message();
    ASSERT_TRUE(alone.status.ok()) << alone.status.message();
    EXPECT_EQ(together[i].report.model, alone.report.model) << "run " << i;
    EXPECT_FALSE(alone.report.model.empty());
    EXPECT_EQ(together[i].report.threads, requests[i].threads);
    EXPECT_EQ(together[i].threads, requests[i].threads);
    EXPECT_EQ(has_finding(together[i].report, "backend"), has_finding(alone.report, "backend")) << "run " << i;
  }
}

TEST(ConcurrentRunsTest, ThreadsAndCeilingsDoNotReachTheOtherRun) {
  expect_as_alone({digits(1, "calibrate_method=Percentile", 0), digits(3, "calibrate_method=MinMax", 1)});
}

/// Runs `check` in the child process of a test and ends it: ONNX Runtime stays loaded, and other tests measure the
/// memory of the process.
[[noreturn]] void run_in_child(void (*check)()) {
  check();
  std::fflush(nullptr);
  std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}

void check_backends() {
  const std::vector<QuantizeRequest> requests = {digits(1, "quarkq.backend=ort", 0),
                                                 digits(2, "quarkq.backend=native", 1)};
  expect_as_alone(requests);
  EXPECT_TRUE(has_finding(run_alone(requests[0]).report, "backend"));
}

TEST(ConcurrentRunsTest, BackendsDoNotReachTheOtherRun) {
  if (!find_runtime()) GTEST_SKIP() << "ONNX Runtime is not installed in build/venv";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_in_child(check_backends), testing::ExitedWithCode(0), "");
}

/// The model has an operator that only ONNX Runtime implements.
void check_operators() {
  const Result<ir::Model> made = onnx_io::parse_model_text(
      R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
      g (float[2, 4] x) => (float[2, 4] y) <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1}> {
        a = MatMul (x, w)
        b = com.microsoft.Inverse (w)
        y = MatMul (a, b)
      })");
  const test::TempFolder folder;
  EXPECT_TRUE(made.ok() && onnx_io::save(made.value(), folder / "model.onnx").ok());
  QuantizeRequest with = digits(1, "quarkq.backend=ort", 0), without = digits(1, "quarkq.backend=native", 0);
  for (QuantizeRequest* request : {&with, &without}) {
    request->model_path = folder / "model.onnx";
    request->calib_folder.clear();
    request->settings.emplace_back("UseRandomData=true");
  }
  const std::vector<Outcome> outcomes = run_together({with, without});
  EXPECT_TRUE(outcomes[0].status.ok()) << outcomes[0].status.message();
  EXPECT_EQ(outcomes[1].status.code(), Code::kUnsupported) << outcomes[1].status.message();
}

TEST(ConcurrentRunsTest, OperatorsDoNotReachTheOtherRun) {
  if (!find_runtime()) GTEST_SKIP() << "ONNX Runtime is not installed in build/venv";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_in_child(check_operators), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace quarkq
