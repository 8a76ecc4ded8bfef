// SPDX-License-Identifier: MIT
// Options of conversions, and their table.
#include "pass/pass_info.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "pipeline/run/conversions.h"

namespace quarkq::pass {
namespace {

using Parts = std::vector<std::string>;

TEST(ListPartsTest, BracketsAndCommas) {
  EXPECT_EQ(list_parts("").value(), Parts());
  EXPECT_EQ(list_parts("[]").value(), Parts());
  EXPECT_EQ(list_parts("a").value(), Parts({"a"}));
  EXPECT_EQ(list_parts(" [ a , b c ] ").value(), Parts({"a", "b c"}));
  EXPECT_EQ(list_parts("[[a,b],c]").value(), Parts({"[a,b]", "c"}));
  EXPECT_EQ(list_parts("[[],[x]]").value(), Parts({"[]", "[x]"}));
}

TEST(ListPartsTest, BracketsThatDoNotMatch) {
  for (const char* text : {"[", "[a", "[a]]", "[[a]", "[a]b", "[]]"}) {
    const Result<Parts> parts = list_parts(text);
    EXPECT_EQ(parts.status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(ConversionOptionsTest, DefaultsAndWhatIsGiven) {
  const Result<ConversionOptions> options =
      ConversionOptions::read("value=10, flag=false, list=[a,b], must", {{"must", "x"}, {"flag", "true"}});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options.value().number("value").value(), 10);
  EXPECT_TRUE(options.value().flag("flag").value());
  EXPECT_EQ(options.value().list("list").value(), Parts({"a", "b"}));
  EXPECT_EQ(options.value().text("must"), "x");
}

TEST(ConversionOptionsTest, WhatIsMissingOrUnknown) {
  EXPECT_NE(ConversionOptions::read("must", {}).status().message().find("must is missing"), std::string::npos);
  EXPECT_NE(ConversionOptions::read("value=1", {{"valve", "2"}}).status().message().find("did you mean value?"),
            std::string::npos);
  EXPECT_NE(ConversionOptions::read("", {{"a", "2"}}).status().message().find("has no options"), std::string::npos);
}

TEST(ConversionOptionsTest, ValuesOfAnotherKind) {
  const auto options =
      ConversionOptions::read("number=1, flag=true, list=[]", {{"number", "x"}, {"flag", "1"}, {"list", "[a"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options.value().number("number").status().message(), "option number: found x, allowed is a finite number");
  EXPECT_EQ(options.value().flag("flag").status().message(), "option flag: found 1, allowed are true and false");
  EXPECT_NE(options.value().list("list").status().message().find("option list"), std::string::npos);
}

TEST(ConversionTableTest, NamesAreUniqueAndOptionsReadable) {
  std::set<std::string> names;
  for (const Conversion& conversion : pipeline::all_conversions()) {
    EXPECT_TRUE(names.insert(conversion.name).second) << conversion.name;
    EXPECT_NE(std::string(conversion.summary), "") << conversion.name;
    std::map<std::string, std::string> given;  // those without a default
    const Parts entries = list_parts(cat("[", conversion.options, "]")).value();
    for (const std::string& entry : entries) {
      if (entry.find('=') == std::string::npos) given[entry] = "x";
    }
    EXPECT_TRUE(ConversionOptions::read(conversion.options, given).ok()) << conversion.name;
  }
  EXPECT_GE(names.size(), 30U);
}

TEST(ConversionTableTest, PassesHaveTheirOwnNames) {
  size_t passes = 0, on_plans = 0;
  for (const Conversion& conversion : pipeline::all_conversions()) {
    if (const auto* run = std::get_if<PassConversion>(&conversion.run)) {
      EXPECT_EQ(std::string(run->pass), conversion.name);
      ++passes;
    } else if (const auto* planned = std::get_if<PlanConversion>(&conversion.run)) {
      EXPECT_EQ(std::string(planned->pass), conversion.name);
      ++on_plans;
    }
  }
  EXPECT_EQ(passes, 26U);
  EXPECT_EQ(on_plans, 3U);
}

TEST(ReadStepTest, NamesAndOptions) {
  const auto step = pipeline::read_step("remove-qdq-between:pairs=[[Conv,Relu],[Mul,Add]]");
  ASSERT_TRUE(step.ok()) << step.status().message();
  EXPECT_EQ(step.value().options.list("pairs").value(), Parts({"[Conv,Relu]", "[Mul,Add]"}));
  const auto shapes = pipeline::read_step("fix-shapes:shapes=x:[1,3];y:[1]");
  ASSERT_TRUE(shapes.ok()) << shapes.status().message();
  EXPECT_EQ(shapes.value().options.text("shapes"), "x:[1,3];y:[1]");
  EXPECT_TRUE(pipeline::read_step("remove-qdq:").ok());
}

TEST(ReadStepTest, WhatIsNoStep) {
  const std::pair<const char*, const char*> cases[] = {{"remove", "not a conversion"},
                                                       {"", "not a conversion"},
                                                       {"remove-qdq:x=1", "has no options"},
                                                       {"replace-infinities:value", "allowed is name=value"},
                                                       {"replace-infinities:=3", "allowed is name=value"},
                                                       {"replace-infinities:value=1,value=2", "given twice"},
                                                       {"convert-opset-version", "version is missing"}};
  for (const auto& [text, words] : cases) {
    const auto step = pipeline::read_step(text);
    EXPECT_EQ(step.status().code(), Code::kInvalidArgument) << text;
    EXPECT_NE(step.status().message().find(words), std::string::npos) << step.status().message();
  }
}

}  // namespace
}  // namespace quarkq::pass
