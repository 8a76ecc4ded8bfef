// SPDX-License-Identifier: MIT
// Which files evaluate() pairs, what it says of those that do not fit, and that threads change nothing.
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "unit/calib/image_files.h"
#include "unit/numeric/golden_calibration.h"
#include "unit/pipeline/result_files.h"

namespace quarkq {
namespace {

using calib::Image;
using test::ResultFiles;
namespace image = calib::test_image;

std::vector<std::string> files_of(const EvaluateReport& report) {
  std::vector<std::string> files;
  for (const PairMetrics& pair : report.pairs) files.push_back(pair.file);
  return files;
}

TEST(EvaluateFoldersTest, LooksAtEveryDepth) {
  const ResultFiles files;
  for (const char* name : {"top", "scores/s2", "scores/s10", "scores/late/x"}) files.pair<float>(name, {1}, {1}, {1});
  files.folder.write("a/.hidden.npy", "not looked at");
  files.folder.write("a/notes.txt", "not looked at");
  EXPECT_EQ(files_of(files.evaluate().value()),
            (std::vector<std::string>{"top.npy", "scores/s2.npy", "scores/s10.npy", "scores/late/x.npy"}));
}

TEST(EvaluateFoldersTest, CompatLooksAtTheTopOnlyWhereThereAreResults) {
  const ResultFiles both, deep;
  both.pair<float>("top", {1}, {1}, {1});
  both.pair<float>("inner/x", {1}, {1}, {1});
  deep.pair<float>("inner/x", {1}, {1}, {1});
  EXPECT_EQ(files_of(both.evaluate(/*compat=*/true).value()), std::vector<std::string>{"top.npy"});
  EXPECT_EQ(files_of(deep.evaluate(/*compat=*/true).value()), std::vector<std::string>{"inner/x.npy"});
}

TEST(EvaluateFoldersTest, ImagesAreComparedByTheirPixels) {
  const ResultFiles files;
  const Image before = image::pattern(13, 17, 3);
  Image after = before;
  std::vector<float> from, to;
  for (uint8_t& pixel : after.pixels) pixel = static_cast<uint8_t>(pixel / 8 * 8);
  for (const uint8_t pixel : before.pixels) from.push_back(pixel);
  for (const uint8_t pixel : after.pixels) to.push_back(pixel);
  files.folder.write("a/i.PNG", image::png_of(before));
  files.folder.write("b/i.PNG", image::png_of(after));
  files.pair("n", {13, 17, 3}, from, to);
  files.folder.write("a/p.jpeg", image::kJpeg);
  files.folder.write("b/p.jpeg", image::kJpeg);
  const EvaluateReport report = files.evaluate().value();
  ASSERT_EQ(files_of(report), (std::vector<std::string>{"i.PNG", "n.npy", "p.jpeg"}));
  EXPECT_EQ(report.pairs[0].l2, report.pairs[1].l2);
  EXPECT_EQ(report.pairs[0].ssim, report.pairs[1].ssim);
  EXPECT_EQ(report.pairs[0].psnr, report.pairs[1].psnr);
  EXPECT_GT(report.pairs[0].l2, 0);
  EXPECT_EQ(report.pairs[2].cosine, 1);
}

TEST(EvaluateFoldersTest, AlphaIsDroppedAndGreyReplicated) {
  const ResultFiles files;
  const Image rgb = image::pattern(6, 5, 3);
  Image rgba{6, 5, 4, {}};
  for (size_t i = 0; i < 30; ++i) {
    for (size_t c = 0; c < 3; ++c) rgba.pixels.push_back(rgb.pixels[3 * i + c]);
    rgba.pixels.push_back(static_cast<uint8_t>(i));
  }
  const Image grey = image::pattern(6, 5, 1);
  Image replicated{6, 5, 3, {}};
  for (const uint8_t pixel : grey.pixels) replicated.pixels.insert(replicated.pixels.end(), 3, pixel);
  files.folder.write("a/alpha.png", image::png_of(rgba));
  files.folder.write("b/alpha.png", image::png_of(rgb));
  files.folder.write("a/grey.png", image::png_of(grey));
  files.folder.write("b/grey.png", image::png_of(replicated));
  EXPECT_EQ(files.evaluate().value().max_l2, 0);
}

TEST(EvaluateFoldersTest, NamesEveryFileThatDoesNotFit) {
  const ResultFiles files;
  files.pair<float>("good", {1}, {1}, {1});
  files.pair<float>("none", {0}, {}, {});
  files.save<float>("a", "gone", {1}, {1});
  files.save<float>("a", "shape", {2}, {1, 2});
  files.save<float>("b", "shape", {1, 2}, {1, 2});
  files.folder.write("a/i.png", image::png_of(image::pattern(3, 3, 3)));
  files.folder.write("b/i.png", image::png_of(image::pattern(3, 3, 3)).substr(0, 40));
  const Status status = files.evaluate().status();
  EXPECT_EQ(status.code(), Code::kBadData);
  for (const char* part : {"4 of 5 pairs", "b/gone.npy: no such file", "b/shape.npy: shape [1,2]",
                           "a/none.npy: contains no", "b/i.png: cannot be decoded"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << part << " in " << status.message();
  }
}

TEST(EvaluateFoldersTest, ManyProblemsAreCountedNotListed) {
  const ResultFiles files;
  files.save<float>("b", "other", {1}, {1});
  for (int i = 0; i < 30; ++i) files.save<float>("a", std::to_string(i), {1}, {1});
  const std::string message = files.evaluate().status().message();
  EXPECT_NE(message.find("/19.npy"), std::string::npos) << message;
  EXPECT_EQ(message.find("/20.npy"), std::string::npos) << message;
  EXPECT_NE(message.find("and 10 more"), std::string::npos) << message;
}

TEST(EvaluateFoldersTest, ExtraFilesAreAWarning) {
  const ResultFiles files;
  files.pair<float>("x", {1}, {1}, {1});
  files.save<float>("b", "more/y", {1}, {1});
  files.save<float>("b", "z", {1}, {1});
  const EvaluateReport report = files.evaluate().value();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].id, "extra-results");
  EXPECT_NE(report.findings[0].text.find("2 files"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["findings"][0]["id"], "extra-results");
  EXPECT_EQ(json["findings"][0]["severity"], "warning");
  EXPECT_TRUE(files.evaluate(/*compat=*/true).value().findings.empty());
}

TEST(EvaluateFoldersTest, CompatLeavesOutImagesThatDoNotLoad) {
  const ResultFiles files;
  files.pair<float>("x", {1}, {1}, {1});
  files.folder.write("a/i.png", image::png_of(image::pattern(3, 3, 3)));
  EXPECT_EQ(files.evaluate().status().code(), Code::kBadData);
  const EvaluateReport report = files.evaluate(/*compat=*/true).value();
  EXPECT_EQ(files_of(report), std::vector<std::string>{"x.npy"});
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].subject, "i.png");
}

TEST(EvaluateFoldersTest, LinksThatLeadBackAreNotFollowed) {
  const ResultFiles files;
  files.pair<float>("x", {1}, {1}, {1});
  files.pair<float>("deep/y", {1}, {1}, {1});
  std::filesystem::create_directory_symlink(files.folder.path() + "/a", files.folder.path() + "/a/again");
  std::filesystem::create_directory_symlink("..", files.folder.path() + "/b/deep/up");
  std::filesystem::create_directory_symlink("..", files.folder.path() + "/a/out");  // there lies more than these two
  files.save<float>("other", "z", {1}, {1});
  const Result<EvaluateReport> report = files.evaluate();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(files_of(report.value()), (std::vector<std::string>{"x.npy", "deep/y.npy"}));
  EXPECT_TRUE(report.value().findings.empty());
}

TEST(EvaluateFoldersTest, OneFolderMayLieInTheOther) {
  const ResultFiles files;
  files.save<float>("a", "x", {1}, {1});
  files.save<float>("a", "deep/y", {1}, {1});
  files.save<float>("a/quant", "x", {1}, {1});
  files.save<float>("a/quant", "deep/y", {1}, {1});
  const std::string outer = files.folder.path() + "/a", inner = outer + "/quant";
  for (const auto& [baseline, quantized] : {std::pair(outer, inner), std::pair(inner, outer)}) {
    const Result<EvaluateReport> report = evaluate({baseline, quantized});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(files_of(report.value()), (std::vector<std::string>{"x.npy", "deep/y.npy"}));
    EXPECT_TRUE(report.value().findings.empty());
  }
  EXPECT_EQ(evaluate({outer, outer}).value().pairs.size(), 4u);  // one folder with itself is compared whole
}

TEST(EvaluateFoldersTest, ThreadsChangeNothing) {
  const ResultFiles files;
  for (int i = 0; i < 70; ++i) {
    const std::vector<float> values = test::generated(i + 1, 60);
    std::vector<float> rounded = values;
    for (float& value : rounded) value = std::nearbyint(value * 8) / 8;
    files.pair(std::to_string(i), {3, 4, 5}, values, rounded);
  }
  EvaluateRequest request{files.folder.path() + "/a", files.folder.path() + "/b"};
  std::set<std::string> texts;
  for (const int threads : {1, 2, 5}) {
    request.threads = threads;
    texts.insert(to_json(evaluate(request).value()));
  }
  EXPECT_EQ(texts.size(), 1u);
}

TEST(EvaluateFoldersTest, CanBeInterrupted) {
  const ResultFiles files;
  for (int i = 0; i < 40; ++i) files.pair<float>(std::to_string(i), {1}, {1}, {1});
  EvaluateRequest request{files.folder.path() + "/a", files.folder.path() + "/b"};
  request.threads = 1;
  size_t observed = 0;
  request.progress = [&](const Progress& progress) {
    ++observed;
    return progress.done < 20;
  };
  EXPECT_EQ(evaluate(request).status().code(), Code::kInterrupted);
  EXPECT_EQ(observed, 2u);
}

TEST(EvaluateFoldersTest, CsvHasARowPerPair) {
  const ResultFiles files;
  files.pair<float>("a,\"b", {2}, {3, 4}, {3, 4});
  const std::string csv = pairs_csv(files.evaluate().value());
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "file,cosine,l2,psnr,ssim,sqnr_db,max_abs");
  EXPECT_NE(csv.find("\n\"a,\"\"b.npy\",1,0,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",inf,0\n"), std::string::npos) << csv;
}

}  // namespace
}  // namespace quarkq
