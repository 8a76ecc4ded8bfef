// SPDX-License-Identifier: MIT
// Histograms for people, how many programs are worthwhile, parts that cannot be merged, samples chosen by number.
#include "calib/range_file.h"

#include <omp.h>

#include <cmath>
#include <sstream>

#include "calib/read_ahead.h"
#include "calib/sample_readers.h"
#include "calib/statistics_set.h"
#include "support/pass_support.h"
#include "unit/calib/sample_support.h"

namespace quarkq::calib {
namespace {

using test::content_of;
using test::TempFolder;

TEST(HistogramFileTest, RowsAddUpToTheValuesInOrder) {
  const TempFolder folder;
  ValueStatistics statistics(/*with_bins=*/true);
  const std::vector<float> values = {-2, -2, -0.5f, 0, 0, 0, 0.25f, 3, NAN, INFINITY};
  statistics.add(values.data(), static_cast<int64_t>(values.size()), 0);
  ASSERT_TRUE(HistogramFolder(folder / "deep/er").save("block/conv.out:0", statistics, {-1.5f, 2.5f}).ok());
  std::istringstream lines(content_of(folder / "deep/er/block_conv_out_0.csv"));
  std::string line;
  for (const char* head : {"# tensor: block/conv.out:0", "# observed: -2 3", "# range: -1.5 2.5", "low,high,count"}) {
    std::getline(lines, line);
    EXPECT_EQ(line, head);
  }
  uint64_t count = 0;
  double last = -INFINITY;
  std::vector<uint64_t> counts;
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = split(line, ',');
    ASSERT_EQ(fields.size(), 3u) << line;
    const double low = std::stod(fields[0]), high = std::stod(fields[1]);
    EXPECT_LE(last, low) << line;
    EXPECT_LE(low, high) << line;
    last = high;
    counts.push_back(std::stoull(fields[2]));
    count += counts.back();
  }
  EXPECT_EQ(counts, (std::vector<uint64_t>{2, 1, 3, 1, 1}));
  EXPECT_EQ(count, statistics.count()) << "NaN and infinities are in no bin";
}

TEST(HistogramFileTest, TensorsOfLikeNamesHaveFilesOfTheirOwn) {
  const TempFolder folder;
  HistogramFolder histograms(folder / "h");
  for (const char* name : {"a/b", "a.b", "a_b", "a_b_2"})
    ASSERT_TRUE(histograms.save(name, ValueStatistics(true), {}).ok());
  for (const auto& [file, name] : {std::pair{"a_b", "a/b"}, {"a_b_2", "a.b"}, {"a_b_3", "a_b"}, {"a_b_2_2", "a_b_2"}}) {
    const std::string text = content_of(folder / (std::string("h/") + file + ".csv"));
    EXPECT_EQ(text.substr(0, text.find('\n')), std::string("# tensor: ") + name);
  }
}

TEST(HistogramFileTest, AFolderThatCannotBeMadeIsNamed) {
  const TempFolder folder;
  const std::string file = folder.write("taken", "");
  const Status status = HistogramFolder(file + "/inner").save("t", ValueStatistics(true), {});
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_EQ(status.message().find(file + "/inner: cannot make this folder, "), 0u) << status.message();
}

TEST(ProgramCountTest, IsBoundedByThreadsSamplesAndMemory) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(4);
  const ir::Model small = test::model_of("g (float[N, 3] x) => (float[N, 3] y) { y = Neg (x) }");
  EXPECT_EQ(worthwhile_programs(small.graph, {}, 1000, 10), 4u) << "a thread each";
  EXPECT_EQ(worthwhile_programs(small.graph, {}, 25, 10), 2u) << "at least 10 samples each";
  EXPECT_EQ(worthwhile_programs(small.graph, {}, 9, 10), 1u);
  EXPECT_EQ(worthwhile_programs(small.graph, {}, 0, 10), 1u);
  // x and y take 128 MiB each: one more program fits into the 512 MiB that are spent on it.
  const ir::Model large = test::model_of("g (float[N, 33554432] x) => (float[N, 33554432] y) { y = Neg (x) }");
  EXPECT_EQ(worthwhile_programs(large.graph, {}, 1000, 10), 2u);
  omp_set_num_threads(threads);
}

class CountedSamples : public DataReader {
 public:
  size_t size() const override { return 5; }
  Result<Sample> read(size_t index) const override {
    if (index == 3) return bad_data("sample 3 is damaged");
    return Sample{cat("s", index), {}, {}};
  }
};

TEST(SomeSamplesTest, AreThoseOfTheirNumbersInTheirOrder) {
  const SomeSamples some(std::make_unique<CountedSamples>(), {4, 0, 3, 0});
  ASSERT_EQ(some.size(), 4u);
  EXPECT_EQ(some.read(0).value().name, "s4");
  EXPECT_EQ(some.read(1).value().name, "s0");
  EXPECT_EQ(some.read(3).value().name, "s0");
  EXPECT_EQ(some.read(2).status().message(), "sample 3 is damaged");
  EXPECT_EQ(SomeSamples(std::make_unique<CountedSamples>(), {}).size(), 0u);
}

/// A set of one sample with the given tensors.
StatisticsSet set_of(uint64_t sample, const std::vector<std::string>& tensors, bool with_bins = true) {
  StatisticsSet set;
  set.with_bins = with_bins;
  set.origin.samples = 3;
  set.samples[sample] = cat("s", sample);
  for (const std::string& name : tensors) {
    ValueStatistics statistics(with_bins);
    const float value = static_cast<float>(sample);
    statistics.add(&value, 1, sample);
    set.tensors.emplace(name, std::move(statistics));
  }
  return set;
}

TEST(StatisticsSetTest, PartsOfOtherKindsAreRefused) {
  StatisticsSet all = set_of(0, {"a", "b"});
  EXPECT_EQ(merge_statistics(all, set_of(1, {"a", "b"}, false), "p", false).message(),
            "p: one part contains bins, another only extremes");
  EXPECT_EQ(merge_statistics(all, set_of(2, {"a", "c"}), "p", false).message(),
            "p: tensor c is not in the other parts");
}

TEST(StatisticsSetTest, CompleteSetsHaveEverySample) {
  StatisticsSet all = set_of(2, {"a"});
  EXPECT_EQ(check_complete(all, "f").message(),
            "f: covers 1 of 3 samples (missing: 0, 1); merge all parts first, or set calibration.allow_partial=true");
  ASSERT_TRUE(merge_statistics(all, set_of(0, {"a"}), "p", false).ok());
  EXPECT_FALSE(check_complete(all, "f").ok());
  ASSERT_TRUE(merge_statistics(all, set_of(1, {"a"}), "p", false).ok());
  EXPECT_TRUE(check_complete(all, "f").ok());
  const ValueStatistics& merged = all.tensors.at("a");
  EXPECT_EQ(merged.count(), 3u);
  EXPECT_EQ(merged.extremes(), (numeric::Range{0, 2}));
  ASSERT_EQ(merged.records().size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(merged.records()[i].sample, i) << "by number, not by order of merging";
}

TEST(StatisticsSetTest, SettingsDecideOnlyWhereTheGraphDiffers) {
  StatisticsOrigin ours, theirs;
  theirs.model = ours.model = "0123456789abcdef";
  ours.settings = {{"b", "1"}};
  theirs.settings = {{"a", "2"}, {"b", "1"}};
  EXPECT_EQ(run_difference(theirs, ours, false), "") << "the same graph came of them";
  theirs.graph = "1";
  ours.graph = "2";
  EXPECT_EQ(run_difference(theirs, ours, false), "made with other settings (a: 2 there, not set here)");
  theirs.settings = ours.settings;
  EXPECT_EQ(run_difference(theirs, ours, false), "made from another form of the model (hash 1, here 2)");
  theirs.graph = ours.graph;
  theirs.isa = {"avx2", "sse41"};
  ours.isa = {"avx2"};
  EXPECT_NE(run_difference(theirs, ours, false).find("instruction set avx2+sse41, this run uses avx2"),
            std::string::npos);
  EXPECT_EQ(run_difference(theirs, ours, true), "");
  ours.model = "f";
  EXPECT_EQ(run_difference(theirs, ours, true), "made from another model (hash 0123456789ab, here f)");
}

}  // namespace
}  // namespace quarkq::calib
