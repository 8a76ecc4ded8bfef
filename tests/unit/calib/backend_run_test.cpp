// SPDX-License-Identifier: MIT
// Samples that another runtime runs: the same statistics, whatever it returns at once; what it fails with.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "calib/run_calibration.h"
#include "exec/environment.h"
#include "onnx_io/infer.h"
#include "onnx_io/text.h"

namespace quarkq::calib {
namespace {

constexpr size_t kSamples = 20;

class RandomSamples : public DataReader {
 public:
  size_t size() const override { return kSamples; }
  Result<Sample> read(size_t index) const override {
    ir::Tensor tensor = ir::Tensor::allocate(ElementType::kFloat, {1, 4, 12, 12});
    std::mt19937 generator(static_cast<uint32_t>(index));
    std::normal_distribution<float> normal;
    for (float& value : tensor.mutable_data<float>()) value = normal(generator);
    return Sample{cat("s", index), {std::move(tensor)}, {cat("s", index, ".npy")}};
  }
};

ir::Model typed_model(const std::string& body) {
  ir::Model model = onnx_io::parse_model_text("<ir_version: 8, opset_import: [\"\" : 17]>\n" + body).value();
  Diagnostics ignored;
  EXPECT_TRUE(onnx_io::infer_types(model, ignored).ok());
  return model;
}

/// What the backend did.
struct Record {
  std::vector<size_t> opened;  ///< numbers of values that sessions were opened for
  size_t runs = 0, fails_at = SIZE_MAX;
};

/// The executor, in the place of another runtime.
class FakeSession : public exec::BackendSession {
 public:
  FakeSession(const ir::Model& model, const std::vector<ir::ValueId>& wanted, Record& record)
      : session_(model, {}, {.fetches = wanted, .taps = {}}), record_(record) {}
  Result<const std::vector<ir::Tensor>*> run(std::span<const ir::Tensor> inputs) override {
    if (record_.runs++ == record_.fails_at) return unsupported("no such kernel");
    return session_.run(inputs);
  }

 private:
  exec::Session session_;
  Record& record_;
};

class FakeBackend : public exec::Backend {
 public:
  explicit FakeBackend(Record& record) : record_(record) {}
  std::string name() const override { return "fake"; }
  Result<std::unique_ptr<exec::BackendSession>> open(const ir::Model& model,
                                                     const std::vector<ir::ValueId>& wanted) const override {
    record_.opened.push_back(wanted.size());
    return std::unique_ptr<exec::BackendSession>(std::make_unique<FakeSession>(model, wanted, record_));
  }

 private:
  Record& record_;
};

class BackendRunTest : public testing::Test {
 protected:
  BackendRunTest()
      : model(typed_model(R"(g (float[1, 4, 12, 12] x) => (float[1, 4, 12, 12] y) {
          a = Mul(x, x)
          b = Relu(x)
          c = Add(a, b)
          y = Sigmoid(c)
        })")) {
    for (const char* name : {"x", "a", "b", "c", "y"}) tensors.push_back(model.graph.find(name));
    std::sort(tensors.begin(), tensors.end());
  }

  SampleRunOptions options(bool is_elsewhere) {
    SampleRunOptions options;
    options.tensors = tensors;
    if (is_elsewhere) options.backend = std::make_shared<FakeBackend>(record);
    return options;
  }
  Result<Statistics> collect(SampleRun& run) {
    return collect_statistics(run, tensors, {.with_bins = true, .votes = {}});
  }

  void expect_own_statistics(SampleRun& run) {
    SampleRun own(model, reader, environment, options(false));
    const Result<Statistics> wanted = collect(own), found = collect(run);
    ASSERT_TRUE(wanted.ok() && found.ok()) << found.status().message();
    ASSERT_EQ(found.value().size(), tensors.size());
    for (const auto& [tensor, seen] : wanted.value()) {
      EXPECT_EQ(found.value().at(tensor).records(), seen.records());
      EXPECT_EQ(found.value().at(tensor).bin_counts(), seen.bin_counts());
    }
    EXPECT_EQ(run.sample_names(), own.sample_names());
  }

  ir::Model model;
  RandomSamples reader;
  exec::Environment environment;
  std::vector<ir::ValueId> tensors;
  Record record;
};

TEST_F(BackendRunTest, SeesWhatTheExecutorSees) {
  SampleRun run(model, reader, environment, options(true));
  EXPECT_EQ(run.worthwhile_sinks(), 1u);
  expect_own_statistics(run);
  expect_own_statistics(run);
  EXPECT_EQ(record.opened, std::vector<size_t>{5}) << "one session for both passes";
  EXPECT_EQ(record.runs, 2 * kSamples);
}

TEST_F(BackendRunTest, TakesTensorsInPartsWhereMemoryIsShort) {
  environment.memory_ceiling = 1;
  size_t last = 0;
  SampleRunOptions asked = options(true);
  asked.progress = [&](size_t done, size_t total) {
    EXPECT_GE(done, last);
    EXPECT_EQ(total, kSamples);
    last = done;
    return true;
  };
  SampleRun run(model, reader, environment, std::move(asked));
  expect_own_statistics(run);
  EXPECT_EQ(record.opened, std::vector<size_t>(5, 1));
  EXPECT_EQ(record.runs, 5 * kSamples);
  EXPECT_EQ(last, kSamples);
}

TEST_F(BackendRunTest, RoundsHalfTensorsAsTheExecutorDoes) {
  model = typed_model(R"(g (float[1, 4, 12, 12] x) => (float16[1, 4, 12, 12] y) {
        h = Cast<to = 10>(x)
        y = Mul(h, h)
      })");
  tensors = {model.graph.find("h"), model.graph.find("y")};
  SampleRun run(model, reader, environment, options(true));
  expect_own_statistics(run);
}

TEST_F(BackendRunTest, NamesTheSampleThatFailed) {
  record.fails_at = 7;
  SampleRun run(model, reader, environment, options(true));
  const Result<Statistics> found = collect(run);
  EXPECT_EQ(found.status().code(), Code::kUnsupported);
  EXPECT_EQ(found.status().message(), "calibration sample s7: no such kernel");
}

TEST_F(BackendRunTest, EndsWhenInterrupted) {
  SampleRunOptions asked = options(true);
  asked.progress = [](size_t done, size_t) { return done < 5; };
  SampleRun run(model, reader, environment, std::move(asked));
  EXPECT_EQ(collect(run).status().code(), Code::kInterrupted);
  EXPECT_EQ(record.runs, 5u);
}

}  // namespace
}  // namespace quarkq::calib
