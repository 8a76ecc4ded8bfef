// SPDX-License-Identifier: MIT
// Accuracy: the forms of a labels file, what counts as a hit, and labels that do not fit.
#include <cmath>

#include "unit/pipeline/result_files.h"

namespace quarkq {
namespace {

using test::ResultFiles;

/// Three samples, three classes: the baseline says 2, 0, 1, the quantized 2, 0, 0.
ResultFiles& add_scores(ResultFiles& files, const std::string& folder = "") {
  files.pair<float>(folder + "s0", {1, 3}, {1, 2, 3}, {1, 2, 4});
  files.pair<float>(folder + "s1", {1, 3}, {5, 2, 3}, {5, 2, 3});
  files.pair<float>(folder + "s2", {1, 3}, {1, 2, 0}, {2, 1, 0});
  return files;
}

/// Two results, whose highest classes are 2 and 0.
ResultFiles& add_two(ResultFiles& files, const std::string& first, const std::string& second) {
  files.pair<float>(first, {3}, {0, 0, 1}, {0, 0, 1});
  files.pair<float>(second, {3}, {1, 0, 0}, {1, 0, 0});
  return files;
}

Result<EvaluateReport> with_labels(const ResultFiles& files, const std::string& labels, std::vector<int> top = {},
                                   const std::string& output = "") {
  EvaluateRequest request{files.folder.path() + "/a", files.folder.path() + "/b"};
  request.accuracy = {labels, std::move(top), output};
  return evaluate(request);
}

void expect_labels_refused(const ResultFiles& files, const std::string& labels, const std::string& part) {
  const Status status = with_labels(files, labels).status();
  EXPECT_EQ(status.code(), Code::kBadData);
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

/// Labels of this text, of which the baseline hits so many.
void expect_hits(const ResultFiles& files, const std::string& text, size_t hits) {
  const Result<EvaluateReport> report = with_labels(files, files.folder.write("l.csv", text));
  ASSERT_TRUE(report.ok()) << text << report.status().message();
  EXPECT_EQ(report.value().accuracy->decisions, report.value().pairs.size()) << text;
  EXPECT_EQ(report.value().accuracy->top[0].baseline, hits) << text;
}

TEST(EvaluateLabelsTest, EveryFormMeansTheSame) {
  ResultFiles files;
  add_scores(files);
  const auto npy = files.folder / "labels.npy", npy_column = files.folder / "column.npy";
  ASSERT_TRUE(calib::write_npy(npy, ir::Tensor::from<int32_t>({3}, std::vector<int32_t>{2, 1, 1})).ok());
  ASSERT_TRUE(calib::write_npy(npy_column, ir::Tensor::from<int64_t>({3, 1}, std::vector<int64_t>{2, 1, 1})).ok());
  const std::string forms[] = {
      npy,
      npy_column,
      files.folder.write("lines.txt", "2\n1\n\n1\n"),
      files.folder.write("header.txt", "label\r\n2\r\n1\r\n1\r\n"),
      files.folder.write("pairs.csv", "s2.jpg,1\ns0.jpg,2\nother.jpg,7\ns1.jpg,1\n"),
      files.folder.write("named.csv", "file,wnid,class\n\"val/s0.jpg\",n1,2\nval/s1.jpg,n2,1\nval/s2.jpg,n3,1\n"),
      files.folder.write("spaces.txt", "s0.JPEG 2\ns1.JPEG 1\ns2.JPEG\t1\n"),
  };
  for (const std::string& form : forms) {
    const Result<EvaluateReport> report = with_labels(files, form);
    ASSERT_TRUE(report.ok()) << report.status().message();
    const Accuracy& accuracy = *report.value().accuracy;
    EXPECT_EQ(accuracy.decisions, 3u) << form;
    EXPECT_EQ(accuracy.classes, 3u);
    ASSERT_EQ(accuracy.top.size(), 1u);  // no top-5 of three classes
    EXPECT_EQ(accuracy.top[0].baseline, 2u) << form;
    EXPECT_EQ(accuracy.top[0].quantized, 1u) << form;
    EXPECT_EQ(accuracy.agreements, 2u);
  }
}

TEST(EvaluateLabelsTest, CountsEachTopOnce) {
  ResultFiles files;
  add_scores(files);
  const std::string labels = files.folder.write("l.txt", "2\n1\n1\n");
  const Accuracy accuracy = *with_labels(files, labels, {2, 1, 3, 2}).value().accuracy;
  ASSERT_EQ(accuracy.top.size(), 3u);
  EXPECT_EQ(accuracy.top[1].k, 2);
  EXPECT_EQ(accuracy.top[1].quantized, 2u);
  EXPECT_EQ(accuracy.top[2].baseline, 3u);
}

TEST(EvaluateLabelsTest, DefaultHasTop5OfManyClasses) {
  ResultFiles files;
  files.pair<float>("x", {6}, {6, 5, 4, 3, 2, 1}, {6, 5, 4, 3, 2, 1});
  const Accuracy accuracy = *with_labels(files, files.folder.write("l.txt", "4\n")).value().accuracy;
  ASSERT_EQ(accuracy.top.size(), 2u);
  EXPECT_EQ(accuracy.top[0].baseline, 0u);
  EXPECT_EQ(accuracy.top[1].k, 5);
  EXPECT_EQ(accuracy.top[1].baseline, 1u);
}

TEST(EvaluateLabelsTest, TheFirstOfEqualScoresIsHigherAndNanHitsNothing) {
  ResultFiles files;
  files.pair<float>("equal", {2}, {1, 1}, {1, 1});
  files.pair<float>("nan", {2}, {1, 0}, {1, NAN});
  const Accuracy accuracy = *with_labels(files, files.folder.write("l.txt", "1\n0\n")).value().accuracy;
  EXPECT_EQ(accuracy.top[0].baseline, 1u);
  EXPECT_EQ(accuracy.top[0].quantized, 0u);
  EXPECT_EQ(accuracy.agreements, 1u);
}

TEST(EvaluateLabelsTest, AResultMayHoldSeveralDecisions) {
  ResultFiles files;
  files.pair<float>("0", {1, 2, 3}, {0, 0, 1, 1, 0, 0}, {0, 0, 1, 0, 1, 0});
  const auto path = files.folder / "l.npy";
  ASSERT_TRUE(calib::write_npy(path, ir::Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{2, 0})).ok());
  const Accuracy accuracy = *with_labels(files, path).value().accuracy;
  EXPECT_EQ(accuracy.decisions, 2u);
  EXPECT_EQ(accuracy.top[0].baseline, 2u);
  EXPECT_EQ(accuracy.top[0].quantized, 1u);
}

TEST(EvaluateLabelsTest, OneOfSeveralOutputsHoldsTheScores) {
  ResultFiles files;
  add_scores(files, "scores/");
  for (const char* name : {"boxes/s0", "boxes/s1", "boxes/s2"})
    files.pair<float>(name, {4}, {1, 2, 3, 4}, {1, 2, 3, 4});
  const std::string labels = files.folder.write("l.csv", "s0,2\ns1,1\ns2,1\n");
  EXPECT_EQ(with_labels(files, labels, {}, "scores").value().accuracy->top[0].baseline, 2u);
  expect_labels_refused(files, labels, "--labels-output");
  EXPECT_EQ(with_labels(files, labels, {}, "nothing").status().code(), Code::kInvalidArgument);
}

TEST(EvaluateLabelsTest, RefusesWhatDoesNotFit) {
  ResultFiles files;
  add_scores(files);
  const auto write = [&](const std::string& text) { return files.folder.write("l.txt", text); };
  expect_labels_refused(files, files.folder / "nothing.txt", "nothing.txt: no such file");
  expect_labels_refused(files, write(""), "l.txt: contains no labels");
  expect_labels_refused(files, write("2\n1\n"), "holds 2 labels in order, there are 3 results");
  expect_labels_refused(files, write("2\n1\nx\n"), "l.txt:3: found \"x\"");
  expect_labels_refused(files, write("a,1\nb,2.5\n"), "l.txt:2: found \"b,2.5\"");
  expect_labels_refused(files, write("s0,2\ns1,1\n"), "s2.npy: no label");
  expect_labels_refused(files, write("x/s0,2\ny/s0,1\ns1,1\ns2,1\n"), "s0.npy: several labels");
  expect_labels_refused(files, write("2\n1\n3\n"), "its label is 3, there are scores of 3 classes");
  expect_labels_refused(files, write("2\n1\n-1\n"), "its label is -1");
  const auto floats = files.folder / "f.npy";
  ASSERT_TRUE(calib::write_npy(floats, ir::Tensor::from<float>({3}, std::vector<float>{2, 1, 1})).ok());
  expect_labels_refused(files, floats, "integer labels are needed");
}

TEST(EvaluateLabelsTest, DotsInNamesAreNoSuffixes) {
  ResultFiles files;
  add_two(files, "v1", "v1.5");
  for (const char* text :
       {"v1.npy,2\nv1.5.npy,0\n", "v1,2\nv1.5,0\n", "v1.5 0\nv1 2\n", "x/v1.JPG,2\ny/v1.5.png,0\n"}) {
    expect_hits(files, text, 2);
  }
}

TEST(EvaluateLabelsTest, TheWholeNameIsStrongerThanAPartOfIt) {
  ResultFiles files;
  files.pair<float>("s0", {3}, {0, 0, 1}, {0, 0, 1});
  expect_hits(files, "s0.png,1\ns0.npy,2\n", 1);
  expect_hits(files, "x/s0.npy,1\ns0.npy,2\ny/s0.npy,0\n", 1);
  expect_labels_refused(files, files.folder.write("l.csv", "s0.npy,1\nx/s0.npy,2\ns0.npy,2\n"),
                        "s0.npy: several labels");
}

TEST(EvaluateLabelsTest, AByteOrderMarkIsNoText) {
  ResultFiles files;
  add_scores(files);
  for (const char* text : {"2\n1\n1\n", "label\n2\n1\n1\n", "s0,2\ns1,1\ns2,1\n"}) {
    expect_hits(files, std::string("\xEF\xBB\xBF") + text, 2);
  }
}

TEST(EvaluateLabelsTest, AFirstLineThatIsNoLabelIsNoHeader) {
  ResultFiles files;
  add_scores(files);
  const auto write = [&](const std::string& text) { return files.folder.write("l.txt", text); };
  expect_labels_refused(files, write("x2\n1\n1\n2\n"), "l.txt:1: found \"x2\"");
  expect_labels_refused(files, write("\nlabels:\n2\n1\n1\n"), "l.txt:2: found \"labels:\"");
  for (const char* header : {"Label", "CLASS", "\"label\"", " class "}) {
    expect_hits(files, cat(header, "\n2\n1\n1\n"), 2);
  }
}

TEST(EvaluateLabelsTest, QuotedNamesMayHoldCommasAndQuotes) {
  ResultFiles files;
  add_two(files, "a,b", "c\"d");
  expect_hits(files, "\"a,b.npy\",2\n\"c\"\"d.npy\",0\n", 2);
  expect_hits(files, "\"a,b\" , \"2\"\nc\"d,0\n", 2);
  expect_labels_refused(files, files.folder.write("l.csv", "s,1\n\"a,b.npy,2\n"), "l.csv:2: found \"\"a,b.npy,2\"");
}

TEST(EvaluateLabelsTest, RefusesABatchUnderOneLabel) {
  ResultFiles files;
  files.pair<float>("0", {2, 3}, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6});
  expect_labels_refused(files, files.folder.write("l.csv", "0,1\n"), "does not contain class scores for 1 label");
}

}  // namespace
}  // namespace quarkq
