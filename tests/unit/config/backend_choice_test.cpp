// SPDX-License-Identifier: MIT
#include "config/enums.h"

#include <gtest/gtest.h>

#include "unit/config/config_support.h"

namespace quarkq::config {
namespace {

std::string provider(const std::string& text) {
  const Result<std::optional<std::string>> found = asked_provider(text);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.ok() ? found.value().value_or("none") : "refused";
}

TEST(BackendChoiceTest, NamesTheExecutionProvider) {
  EXPECT_EQ(asked_provider(std::nullopt).value(), std::nullopt);
  EXPECT_EQ(provider("native"), "none");
  EXPECT_EQ(provider("ort"), "cpu");
  EXPECT_EQ(provider("ort:cpu"), "cpu");
  EXPECT_EQ(provider("ort:CUDA"), "cuda");
  EXPECT_EQ(provider("ort:VitisAIExecutionProvider"), "vitisai");
}

TEST(BackendChoiceTest, RefusesOtherTexts) {
  for (const char* text : {"", "ORT", "ort:", "ort:executionprovider", "ort:a/b", "ort:../x.so", "ort cpu", "cuda",
                           "onnxruntime", "native:cpu", "ort:\xC3\xA9"}) {
    const Result<std::optional<std::string>> found = asked_provider(std::string(text));
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_EQ(found.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(found.status().message(),
              cat("quarkq.backend: found ", text, ", allowed is native, ort or ort:PROVIDER (ort:cuda)"));
  }
}

TEST(BackendChoiceTest, IsASettingOfEveryKindOfFile) {
  EXPECT_EQ(settings_of("preset: A8W8\nquarkq: {backend: ort:cuda}").tool.backend, "ort:cuda");
  EXPECT_EQ(settings_of("preset: A8W8\nquarkq: {backend: native}").tool.backend, std::nullopt);
  EXPECT_EQ(settings_of("preset: A8W8").tool.backend, std::nullopt);
  EXPECT_TRUE(refusal_of("preset: A8W8\nquarkq: {backend: gpu}").starts_with("quarkq.backend: found gpu"));
}

}  // namespace
}  // namespace quarkq::config
