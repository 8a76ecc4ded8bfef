// SPDX-License-Identifier: MIT
// List files: every form of a line, and lines that are wrong.
#include "unit/calib/sample_support.h"

namespace quarkq::calib {
namespace {

using test::first_values;
using test::input;
using test::npy_of;
using test::TempFolder;
using Values = std::vector<std::vector<float>>;

const std::vector<InputSpec> kOneInput = {input("x", {1})};
const std::vector<InputSpec> kTwoInputs = {input("net/x:0", {1}), input("b", {1})};

class ListFileTest : public ::testing::Test {
 protected:
  ListFileTest() {
    for (int i = 0; i < 3; ++i) folder.write(cat("data/", i, ".npy"), npy_of(static_cast<float>(i)));
    folder.write("with space.npy", npy_of(7));
    folder.write("both.npz",
                 test::zip_bytes({test::stored("b.npy", npy_of(2)), test::stored("net_x_0.npy", npy_of(1))}));
    folder.write("t.pb", test::pb_of(5));
    folder.write("notes.txt", "?");
  }
  DataOptions list(const std::string& text, const std::string& kind = "") {
    DataOptions options;
    options.list_file = folder.write("list.txt", text);
    options.kind = kind;
    return options;
  }
  std::string refused(const std::string& text, const std::vector<InputSpec>& inputs) {
    return test::refusal(list(text), inputs);
  }

  TempFolder folder;
};

TEST_F(ListFileTest, OnePathPerLine) {
  const std::string text =
      "# a comment\n\n  data/2.npy   # the last first\r\n\"with space.npy\"\nt.pb\n" + folder.path() + "/data/0.npy";
  EXPECT_EQ(first_values(list(text), kOneInput), (Values{{2}, {7}, {5}, {0}}));
  DataOptions limited = list(text);
  limited.limit = 2;
  EXPECT_EQ(first_values(limited, kOneInput), (Values{{2}, {7}}));
}

TEST_F(ListFileTest, MarksOfOtherSystemsAreSkipped) {
  EXPECT_EQ(first_values(list("\xEF\xBB\xBF"
                              "data/2.npy\r\ndata/1.npy\r\n"),
                         kOneInput),
            (Values{{2}, {1}}));
  const std::string wide(
      "\xFF\xFE"
      "d\0a\0\n\0",
      8);
  EXPECT_NE(refused(wide, kOneInput).find("list.txt: is UTF-16"), std::string::npos);
  EXPECT_NE(refused(std::string("d\0a\0", 4), kOneInput).find("is UTF-16"), std::string::npos);
}

TEST_F(ListFileTest, FilesOfOneNameAreToldApart) {
  folder.write("more/0.npy", npy_of(9));
  const auto reader = open_data(list("data/0.npy\nmore/0.npy\ndata/0.npy\ndata/1.npy\n"), kOneInput);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  std::vector<std::string> names;
  for (size_t i = 0; i < reader.value()->size(); ++i) names.push_back(reader.value()->read(i).value().name);
  EXPECT_EQ(names, (std::vector<std::string>{"data/0", "more/0", "data/0_2", "1"}));
}

TEST_F(ListFileTest, InputsThatAreSpeltAlikeNeedTheirExactNames) {
  const std::vector<InputSpec> alike = {input("a/b", {1}), input("a_b", {1})};
  EXPECT_EQ(first_values(list("a_b=data/1.npy a/b=data/2.npy\n"), alike), (Values{{2, 1}}));
}

TEST_F(ListFileTest, PairsForSeveralInputs) {
  EXPECT_EQ(first_values(list("b=data/1.npy net/x:0=data/0.npy\nnet_x_0='with space.npy' b=\"t.pb\"\nboth.npz\n"),
                         kTwoInputs),
            (Values{{0, 1}, {7, 5}, {1, 2}}));
  EXPECT_EQ(first_values(list("x=data/1.npy"), kOneInput), (Values{{1}}));
}

TEST_F(ListFileTest, BadLinesAreNamed) {
  const std::string place = folder.path() + "/list.txt:2: ";
  const struct {
    const char *line, *message;
  } rows[] = {
      {"data/9.npy", "data/9.npy: no such file"},
      {"notes.txt", "notes.txt: not a sample file, allowed are .npy"},
      {"data/0.npy data/1.npy", "found data/0.npy, needed is <input>=<file>"},
      {"y=data/0.npy", "y=data/0.npy"},
      {"x=data/0.npy x=data/1.npy", "two files for input x"},
      {"\"data/0.npy", "a quote \" without its end"},
      {"data\1", "control characters"},
      {"data", "a word without a suffix of samples: not a sample file"},
      {"root:$y$secret:x", "a word without a suffix of samples: not a sample file"},
      {"x=", "not a sample file"},
  };
  for (const auto& row : rows) {
    const std::string text = refused(cat("data/0.npy\n", row.line, "\n"), kOneInput);
    QQ_EXPECT_MENTIONS(text, place) << row.line;
    QQ_EXPECT_MENTIONS(text, row.message) << row.line;
  }
  QQ_EXPECT_MENTIONS(refused("both.npz\nb=t.pb\n", kTwoInputs), place + "no file for input net/x:0");
  QQ_EXPECT_MENTIONS(refused("both.npz\nt.pb\n", kTwoInputs), place + "t.pb: one file for 2 inputs");
  QQ_EXPECT_MENTIONS(refused("both.npz\nbb=t.pb b=t.pb\n", kTwoInputs), "did you mean b?");
}

TEST_F(ListFileTest, ListsThatAreNone) {
  QQ_EXPECT_MENTIONS(refused("\n# nothing\n", kOneInput), "list.txt: names no samples");
  DataOptions options;
  options.list_file = folder.path() + "/none.txt";
  QQ_EXPECT_MENTIONS(test::refusal(options, kOneInput), "none.txt: no such file");
  options.folder = folder.path();
  EXPECT_EQ(open_data(options, kOneInput).status().code(), Code::kInvalidArgument);
  QQ_EXPECT_MENTIONS(test::refusal(list("data/0.npy", "pb"), kOneInput),
                     "data/0.npy: not a sample file, allowed are .pb");
}

}  // namespace
}  // namespace quarkq::calib
