// SPDX-License-Identifier: MIT
// What an embedder does: model and samples from memory, the result in memory, progress and cancellation.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "calib/data_reader.h"
#include "onnx_io/load.h"
#include "quarkq/analyze.h"
#include "quarkq/quantize.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

const std::string kExample = std::string(QUARKQ_SOURCE_DIR) + "/examples/digits";
const std::string kModel = kExample + "/digits.onnx", kCalib = kExample + "/calib";

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The samples of the example, read through the callback interface. Counts how often it was asked.
struct MemorySamples {
  MemorySamples() {
    const ir::Model model = onnx_io::load(kModel).value();
    calib::DataOptions options;
    options.folder = kCalib;
    reader = calib::open_data(options, calib::input_specs(model.graph)).value();
  }
  SampleSource source() {
    return {reader->size(), [this](size_t index) -> Result<std::vector<SampleTensor>> {
              ++reads;
              held = reader->read(index).value();
              const ir::Tensor& tensor = held.inputs[0];
              return std::vector<SampleTensor>{
                  {"", "FLOAT", tensor.dims(), tensor.raw(), static_cast<size_t>(tensor.bytes())}};
            }};
  }
  std::unique_ptr<calib::DataReader> reader;
  calib::Sample held;
  size_t reads = 0;
};

QuantizeRequest in_memory(MemorySamples& samples, const std::string& preset) {
  QuantizeRequest request;
  request.model_path = "digits from memory";
  request.model_bytes = bytes_of(kModel);
  request.sample_source = samples.source();
  request.in_memory = true;
  request.config = preset;
  return request;
}

TEST(MemoryApiTest, GivesTheBytesOfTheFile) {
  for (const char* preset : {"XINT8", "A8W8", "BF16"}) {
    const test::TempFolder folder;
    QuantizeRequest from_file;
    from_file.model_path = kModel;
    from_file.calib_folder = kCalib;
    from_file.output_path = folder / "out.onnx";
    from_file.config = preset;
    const Result<QuantizeReport> filed = quantize(from_file);
    ASSERT_TRUE(filed.ok()) << filed.status().message();
    EXPECT_TRUE(filed.value().model.empty());
    MemorySamples samples;
    const Result<QuantizeReport> made = quantize(in_memory(samples, preset));
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made.value().model, bytes_of(from_file.output_path)) << preset;
    EXPECT_EQ(made.value().output_bytes, made.value().model.size());
    EXPECT_EQ(made.value().samples, samples.reader->size());
    EXPECT_GT(samples.reads, 0u);
  }
}

TEST(MemoryApiTest, WritesNoFile) {
  const auto count = [] {
    size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(std::filesystem::current_path()))
      ++files;
    return files;
  };
  const size_t files = count();
  MemorySamples samples;
  ASSERT_TRUE(quantize(in_memory(samples, "XINT8")).ok());
  EXPECT_EQ(count(), files);
}

TEST(MemoryApiTest, ProgressReturningFalseInterrupts) {
  MemorySamples samples;
  QuantizeRequest request = in_memory(samples, "XINT8");
  std::vector<std::string> phases;
  request.progress = [&](const Progress& progress) {
    phases.push_back(progress.phase);
    return progress.phase != "calibrate" || progress.done < 2;
  };
  EXPECT_EQ(quantize(request).status().code(), Code::kInterrupted);
  EXPECT_NE(std::find(phases.begin(), phases.end(), "mark"), phases.end());
}

TEST(MemoryApiTest, ErrorsNameWhatWasGiven) {
  MemorySamples samples;
  QuantizeRequest broken = in_memory(samples, "XINT8");
  broken.model_bytes = "no model";
  const Status refused = quantize(broken).status();
  EXPECT_EQ(refused.code(), Code::kCorruptModel);
  EXPECT_NE(refused.message().find("digits from memory"), std::string::npos) << refused.message();
  QuantizeRequest both = in_memory(samples, "XINT8");
  both.calib_folder = kCalib;
  EXPECT_EQ(quantize(both).status().code(), Code::kInvalidArgument);
}

TEST(MemoryApiTest, CalibrateAndAnalyzeTakeMemoryToo) {
  const test::TempFolder folder;
  MemorySamples samples;
  CalibrateRequest calibration;
  calibration.model_path = "digits from memory";
  calibration.model_bytes = bytes_of(kModel);
  calibration.sample_source = samples.source();
  calibration.config = "A8W8";
  calibration.output_path = folder / "memory.stats";
  const Result<CalibrateReport> calibrated = calibrate(calibration);
  ASSERT_TRUE(calibrated.ok()) << calibrated.status().message();
  EXPECT_EQ(calibrated.value().samples, samples.reader->size());
  AnalyzeRequest analysis;
  analysis.model_path = "digits from memory";
  analysis.model_bytes = bytes_of(kModel);
  analysis.sample_source = samples.source();
  analysis.config = "XINT8";
  const Result<AnalyzeReport> analyzed = analyze(analysis);
  ASSERT_TRUE(analyzed.ok()) << analyzed.status().message();
  EXPECT_FALSE(analyzed.value().layers.empty());
}

}  // namespace
}  // namespace quarkq
