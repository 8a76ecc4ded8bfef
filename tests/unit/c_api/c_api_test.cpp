// SPDX-License-Identifier: MIT
// The C interface: what it refuses, and one whole call from memory. The Python tests (tests/python) use all of it.
#include "quarkq/c_api.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/strings.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

struct FreeResult {
  void operator()(quarkq_result* result) const { quarkq_free(result); }
};
using CallResult = std::unique_ptr<quarkq_result, FreeResult>;

quarkq_call_arguments arguments_of(const char* verb, const char* request) {
  quarkq_call_arguments arguments{};
  arguments.size = sizeof arguments;
  arguments.verb = verb;
  arguments.request = request;
  return arguments;
}

CallResult call(const char* verb, const char* request) {
  const quarkq_call_arguments arguments = arguments_of(verb, request);
  return CallResult(quarkq_call(&arguments));
}

TEST(CApiTest, RefusesArgumentsOfAnotherLayout) {
  EXPECT_EQ(quarkq_exit_code(CallResult(quarkq_call(nullptr)).get()), 2);
  quarkq_call_arguments arguments = arguments_of("inspect", "{}");
  arguments.size -= 8;
  EXPECT_EQ(quarkq_exit_code(CallResult(quarkq_call(&arguments)).get()), 2);
}

TEST(CApiTest, RefusesRequestsThatItDoesNotKnow) {
  struct Case {
    const char *verb, *request, *said;
  };
  const Case cases[] = {
      {"inspekt", "{}", "inspekt: unknown verb, did you mean inspect"},
      {"inspect", "[1", "inspect: the request is not a JSON object"},
      {"inspect", nullptr, "inspect: the request is not a JSON object"},
      {"inspect", R"({"model": "a", "nodez": true})", "inspect: nodez is unknown in a request"},
      {"inspect", R"({"model": 1})", "inspect: model: found 1, allowed is a text"},
      {"inspect", R"({"nodes": 1})", "inspect: nodes: found 1, allowed is true or false"},
      {"quantize", R"({"settings": "a=b"})", "quantize: settings: found \"a=b\", allowed is a list of texts"},
      {"quantize", R"({"threads": 3000000000})",
       "quantize: threads: found 3000000000, allowed is an integer of 32 bits"},
      {"analyze", R"({"samples": -1})", "analyze: samples: found -1, allowed is an integer from 0 on"},
      {"calibrate", R"({"shard_count": 0})", "calibrate: shard_count: found 0, allowed is 1 or more"},
  };
  for (const Case& one : cases) {
    const CallResult result = call(one.verb, one.request);
    EXPECT_EQ(quarkq_exit_code(result.get()), 2) << one.said;
    EXPECT_TRUE(std::string(quarkq_message(result.get())).starts_with(one.said)) << quarkq_message(result.get());
    EXPECT_STREQ(quarkq_report(result.get()), "");
  }
}

TEST(CApiTest, TheFunctionsTakeAResultThatIsNull) {
  EXPECT_EQ(quarkq_exit_code(nullptr), 7);
  EXPECT_STREQ(quarkq_message(nullptr), "out of memory");
  EXPECT_STREQ(quarkq_report(nullptr), "");
  EXPECT_STREQ(quarkq_findings(nullptr), "[]");
  EXPECT_EQ(quarkq_model(nullptr).size, 0u);
  quarkq_free(nullptr);
}

TEST(CApiTest, NoOutputReplacesAnInput) {
  const test::TempFolder folder;
  const std::string model = folder.write("m.onnx", "model"), settings = folder.write("s.yaml", "preset: XINT8\n"),
                    sample = folder.write("calib/0.npy", "sample"), list = folder.write("list.txt", "calib/0.npy\n");
  for (const std::string& output : {model, settings, sample, list}) {
    const std::string request =
        cat(R"({"model": ")", model, R"(", "config": ")", settings, R"(", "calib": ")", folder / "calib",
            R"(", "output": ")", output, R"(", "settings": ["evaluation.dir=)", list, R"("]})");
    const CallResult result = call("quantize", request.c_str());
    EXPECT_EQ(quarkq_exit_code(result.get()), 2) << output;
    EXPECT_NE(std::string(quarkq_message(result.get())).find("is an input, which is never overwritten"),
              std::string::npos)
        << quarkq_message(result.get());
  }
  EXPECT_EQ(test::content_of(sample), "sample");
  const std::string request = cat(R"({"model": ")", model, R"(", "inputs": ")", folder / "calib", R"(", "outputs": ")",
                                  folder / "calib", R"("})");
  EXPECT_EQ(quarkq_exit_code(call("run", request.c_str()).get()), 2);
}

TEST(CApiTest, NullMembersAreNotGiven) {
  const CallResult result = call("inspect", R"({"model": "nowhere.onnx", "nodes": null})");
  EXPECT_EQ(quarkq_exit_code(result.get()), 2);
  EXPECT_TRUE(std::string(quarkq_message(result.get())).starts_with("nowhere.onnx")) << quarkq_message(result.get());
}

/// Zeros in the shape of the bundled classifier's input, and how often they were asked for.
struct Zeros {
  std::vector<float> values = std::vector<float>(64);
  std::vector<int64_t> dims;
  quarkq_tensor tensor{};
  int reads = 0, last = 1 << 30;

  static int read(void* context, size_t, const quarkq_tensor** tensors, size_t* count) {
    auto& zeros = *static_cast<Zeros*>(context);
    if (++zeros.reads > zeros.last) return 1;
    zeros.tensor = {
        "", "FLOAT", zeros.dims.data(), zeros.dims.size(), zeros.values.data(), zeros.values.size() * sizeof(float)};
    *tensors = &zeros.tensor;
    *count = 1;
    return 0;
  }
};

std::string digits_model() {
  std::ifstream file(QUARKQ_SOURCE_DIR "/examples/digits/digits.onnx", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CApiCallTest : public ::testing::Test {
 protected:
  CallResult quantize(const char* request) {
    quarkq_call_arguments arguments = arguments_of("quantize", request);
    arguments.model = {model.data(), model.size()};
    arguments.samples = {4, Zeros::read, &zeros};
    arguments.callbacks.on_progress = [](void*, const quarkq_progress* progress) {
      return static_cast<int>(std::string(progress->phase) != "write");
    };
    if (!interrupts) arguments.callbacks.on_progress = nullptr;
    return CallResult(quarkq_call(&arguments));
  }

  std::string model = digits_model();
  Zeros zeros{.dims = {1, 1, 8, 8}};
  bool interrupts = false;
};

constexpr const char kRequest[] = R"({"model": "digits", "config": "a8w8", "in_memory": true, "threads": 1})";

TEST_F(CApiCallTest, QuantizesFromMemoryIntoMemory) {
  const CallResult result = quantize(kRequest);
  ASSERT_EQ(quarkq_exit_code(result.get()), 0) << quarkq_message(result.get());
  EXPECT_GT(quarkq_model(result.get()).size, 1000U);
  EXPECT_GE(zeros.reads, 4);
  EXPECT_NE(std::string(quarkq_report(result.get())).find("\"preset\""), std::string::npos);
}

TEST_F(CApiCallTest, AWholeModelHasNoTail) {
  const CallResult whole = quantize(kRequest);
  for (const quarkq_result* result :
       {static_cast<const quarkq_result*>(whole.get()), static_cast<const quarkq_result*>(nullptr)})
    EXPECT_EQ(quarkq_tail(result).size + quarkq_joined(result).size, 0U);
}

TEST_F(CApiCallTest, EndsWhenASampleFails) {
  zeros.last = 2;
  const CallResult result = quantize(kRequest);
  EXPECT_EQ(quarkq_exit_code(result.get()), 4) << quarkq_message(result.get());
  EXPECT_EQ(quarkq_model(result.get()).size, 0U);
}

TEST_F(CApiCallTest, EndsWhenProgressSaysSo) {
  interrupts = true;
  EXPECT_EQ(quarkq_exit_code(quantize(kRequest).get()), 130);
}

}  // namespace
}  // namespace quarkq
