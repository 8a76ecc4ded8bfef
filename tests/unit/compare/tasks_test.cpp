// SPDX-License-Identifier: MIT
// What users read of an output: which task is recognized, and what its figure says.
#include "compare/tasks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compare/expected_outputs.h"

namespace quarkq::compare {
namespace {

using Values = std::vector<double>;

/// Float outputs of equal dimensions.
struct Outputs {
  ir::Shape dims;
  std::vector<Values> values;
  bool makes_choices = false;
  int64_t input_pixels = 0;

  Outputs(ir::Shape shape, size_t samples, const std::function<double(size_t sample, size_t i)>& value)
      : dims(std::move(shape)) {
    size_t count = 1;
    for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
    for (size_t sample = 0; sample < samples; ++sample) {
      Values& all = values.emplace_back(count);
      for (size_t i = 0; i < count; ++i) all[i] = value(sample, i);
    }
  }

  TaskPtr task() const {
    const std::vector<ir::Shape> all(values.size(), dims);
    return find_task({makes_choices, input_pixels, all, values});
  }
  /// The agreement with what `change` makes of each value.
  std::optional<TaskAgreement> agreement(const std::function<double(double value, size_t i)>& change) const {
    const TaskPtr found = task();
    if (found == nullptr) return {};
    TaskSums sums(found->sum_count(), 0);
    for (const Values& expected : values) {
      Values own = expected;
      for (size_t i = 0; i < own.size(); ++i) own[i] = change(own[i], i);
      found->add(dims, expected, own, sums);
    }
    return found->agreement(sums);
  }
  /// The task that is recognized, with outputs that agree.
  std::string name() const {
    const auto same = agreement([](double value, size_t) { return value; });
    EXPECT_TRUE(!same || same->grade == Grade::kGood) << same->text;
    return same ? same->task : "";
  }
};

/// Logits of `classes` classes, one of which is far above the others.
Outputs classifier(size_t samples = 32, double height = 9, size_t classes = 20) {
  return {{1, static_cast<int64_t>(classes)}, samples, [=](size_t sample, size_t i) {
            return i == sample % classes ? height : std::sin(static_cast<double>(i * 7 + sample));
          }};
}

TEST(ClassTaskTest, LosesWhatTheFloatModelIsSureOf) {
  const auto found = classifier().agreement([](double value, size_t i) { return i == 3 ? value - 20 : value; });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->task, "classes");
  EXPECT_NEAR(found->value, 1 - 2.0 / 32, 0.002) << "samples 3 and 23 have another class";
  EXPECT_EQ(found->grade, Grade::kPoor);
  EXPECT_EQ(found->text, "expected top-1 6.2 points below the float model, more than 3");
}

TEST(ClassTaskTest, AClassThatIsAsLikelyCostsNothing) {
  const Outputs twins({1, 20}, 32, [](size_t sample, size_t i) {
    return i / 2 == sample % 10 ? 9 + 0.01 * static_cast<double>(i % 2) : 0.0;
  });
  const auto found = twins.agreement([](double value, size_t i) { return i % 2 == 0 ? value + 1 : value; });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->grade, Grade::kGood) << found->text;
  const auto same = twins.agreement([](double value, size_t) { return value; });
  EXPECT_EQ(same->text, "expected top-1 as high as with the float model");
}

TEST(ClassTaskTest, NeedsSamplesAndLogitsThatStandOut) {
  EXPECT_EQ(classifier(15).name(), "") << "too few samples";
  EXPECT_EQ(classifier(32, 1.5).name(), "") << "an embedding: no value is far above the others";
  const Outputs points({1, 40}, 32,
                       [](size_t sample, size_t i) { return static_cast<double>((i * 37 + sample) % 224); });
  EXPECT_EQ(points.name(), "") << "coordinates: the largest is one of many large ones";
  const Outputs same({1, 20}, 32, [](size_t, size_t i) { return i == 0 ? 9.0 : 0.0; });
  EXPECT_EQ(same.name(), "") << "all samples have one class";
}

TEST(RowTaskTest, RowsOfProbabilitiesAreChoicesUnlessMostAreBackground) {
  const auto rows = [](int64_t count, size_t classes_seen) {
    Outputs outputs({1, count, 6}, 4, [=](size_t, size_t i) { return i % 6 == (i / 6) % classes_seen ? 0.9 : 0.02; });
    outputs.makes_choices = true;
    return outputs;
  };
  EXPECT_EQ(rows(40, 3).name(), "rows");
  EXPECT_EQ(rows(40, 1).name(), "rows") << "a line with few letters";
  EXPECT_EQ(rows(600, 3).name(), "rows");
  EXPECT_NE(rows(600, 1).name(), "rows");
  const auto found = rows(40, 3).agreement([](double value, size_t i) { return i < 6 ? 1 - value : value; });
  EXPECT_EQ(found->text, "the same class in 97.5 %, below 98 %");
}

/// Places with scores of 8 classes behind 4 coordinates, and an objectness where `has_objectness`.
/// Logits [rows, 1, classes] of lines of text; `height` is added to the class of each row.
Outputs line_of_text(int64_t rows, int64_t classes, double height) {
  return {{rows, 1, classes}, 3, [=](size_t sample, size_t i) {
            const size_t width = static_cast<size_t>(classes), row = i / width, place = i % width;
            const double noise = std::sin(static_cast<double>(i * 7 + sample));
            return place == (row * 5 + sample) % width ? noise + height : noise;
          }};
}

TEST(RowTaskTest, LogitsOfALineAreChoices) {
  const Outputs line = line_of_text(24, 40, 12);
  EXPECT_EQ(line.name(), "rows");
  const auto found = line.agreement([](double value, size_t i) { return i / 40 == 3 ? -value : value; });
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->value, 23.0 / 24, 1e-9) << "row 3 of each line has another class";
  EXPECT_EQ(found->grade, Grade::kPoor) << found->text;
}

TEST(RowTaskTest, OtherFeaturesOfRowsAreNot) {
  EXPECT_EQ(line_of_text(24, 40, 1).name(), "") << "no row is sure";
  EXPECT_EQ(line_of_text(24, 6, 12).name(), "") << "few classes";
  EXPECT_EQ(line_of_text(2, 40, 12).name(), "") << "few rows";
  EXPECT_EQ(line_of_text(600, 40, 12).name(), "") << "places of a detector";
  const Outputs outlier({1, 24, 40}, 3,
                        [](size_t, size_t i) { return i % 40 == 7 ? 30.0 : std::sin(0.7 * static_cast<double>(i)); });
  EXPECT_EQ(outlier.name(), "") << "one channel is always the largest";
}

Outputs detector(bool has_objectness) {
  const size_t channels = has_objectness ? 13 : 12;
  return {{1, 200, static_cast<int64_t>(channels)}, 4, [=](size_t sample, size_t i) {
            const size_t place = i / channels, channel = i % channels;
            const bool is_object = place % 50 == sample;
            if (channel < 4) return static_cast<double>(place * 3 + channel);
            if (has_objectness && channel == 4) return is_object ? 0.8 : 0.01;
            const size_t number = channel - (has_objectness ? 5 : 4);
            const bool is_class = number == place % 8;
            if (has_objectness) return is_class ? 0.9 : 0.05;
            return is_object && is_class ? 0.7 : 0.02;
          }};
}

TEST(BoxTaskTest, RanksScoresWhereTheFloatModelFindsObjects) {
  for (const bool has_objectness : {false, true}) {
    const Outputs outputs = detector(has_objectness);
    EXPECT_EQ(outputs.name(), "boxes");
    const auto fainter = outputs.agreement([](double value, size_t) { return value <= 1 ? value / 1.5 : value; });
    EXPECT_EQ(fainter->grade, Grade::kGood) << "the order stays";
    const auto faint = outputs.agreement([](double value, size_t) { return value <= 1 ? value / 8 : value; });
    EXPECT_EQ(faint->value, 1) << "the order stays";
    EXPECT_EQ(faint->grade, Grade::kPoor) << "no threshold that users set finds them";
    EXPECT_EQ(faint->text, "scores of 0.25 that are half of it or more: 0 %, below 50 %");
    const size_t channels = has_objectness ? 13 : 12;
    const auto lost = outputs.agreement([&](double value, size_t i) {
      return i / channels < 50 && i % channels >= 4 ? 0.0 : value;  // a quarter of the objects
    });
    EXPECT_NEAR(lost->value, 0.75, 0.03) << lost->text;
    EXPECT_EQ(lost->grade, Grade::kPoor);
  }
}

TEST(PictureTasksTest, AreRecognizedByTheirValues) {
  const Outputs mask({1, 1, 64, 64}, 2, [](size_t, size_t i) { return i % 64 < 20 ? 0.98 : 0.01; });
  EXPECT_EQ(mask.name(), "mask");
  const auto smaller = mask.agreement([](double value, size_t i) { return i % 64 < 2 ? 0.0 : value; });
  EXPECT_EQ(smaller->text, "overlap of the masks 90 %, below 95 %");
  const Outputs picture({1, 3, 64, 64}, 2, [](size_t, size_t i) { return static_cast<double>(i % 256) / 255; });
  EXPECT_EQ(picture.name(), "picture");
  const auto noisy = picture.agreement([](double value, size_t i) { return value + (i % 2 == 0 ? 0.015 : -0.015); });
  EXPECT_EQ(noisy->text, "PSNR 36.5 dB with the float pictures, below 40 dB");
  EXPECT_EQ(noisy->grade, Grade::kFair);
}

TEST(PixelTaskTest, OverlapsCountClassByClass) {
  Outputs classes({1, 6, 64, 64}, 2, [](size_t, size_t i) { return i / 4096 == (i % 64) / 11 ? 8.0 : 0.0; });
  EXPECT_EQ(classes.name(), "pixels");
  const auto lost = classes.agreement([](double value, size_t i) { return i / 4096 == 5 ? -1.0 : value; });
  EXPECT_LT(lost->value, 0.85) << "one class of six is not found";
  classes.input_pixels = int64_t{512} * 512;
  EXPECT_EQ(classes.name(), "") << "much smaller than the input: the head of a detector";
  const Outputs flat({1, 6, 64, 64}, 2, [](size_t, size_t i) { return i / 4096 == (i % 64) / 11 ? 0.3 : 0.0; });
  EXPECT_NE(flat.name(), "pixels");
}

/// Outputs whose dimensions differ between samples.
TaskPtr task_of(const std::vector<ir::Shape>& dims, const std::vector<Values>& values) {
  return find_task({false, 0, dims, values});
}

Values filled(int count, double value) { return Values(static_cast<size_t>(count), value); }

TEST(TaskTest, SamplesOfOtherSizesAreCounted) {
  Values small = filled(32 * 64, 0.01), large = filled(64 * 64, 0.01);
  std::fill_n(small.begin(), 512, 0.99);
  std::fill_n(large.begin(), 512, 0.99);
  const TaskPtr mask = task_of({{1, 1, 32, 64}, {1, 1, 64, 64}}, {small, large});
  ASSERT_NE(mask, nullptr);
  TaskSums sums(mask->sum_count(), 0);
  mask->add({1, 1, 32, 64}, small, small, sums);
  mask->add({1, 1, 64, 64}, large, filled(64 * 64, 0.01), sums);
  EXPECT_EQ(mask->agreement(sums)->value, 0.5) << "512 of 1024 pixels are found";
  EXPECT_EQ(task_of({{1, 20}, {1, 30}}, {filled(20, 0), filled(30, 0)}), nullptr) << "classes of two numbers";
  EXPECT_EQ(task_of({{1, 90, 12}, {1, 90, 13}}, {filled(90 * 12, 0), filled(90 * 13, 0)}), nullptr);
}

TEST(TaskTest, OutputsWithoutOneKeepTheirCosines) {
  EXPECT_EQ(task_of({}, {}), nullptr) << "no samples";
  EXPECT_EQ(task_of({{}}, {{1.0}}), nullptr) << "a scalar";
  EXPECT_EQ(task_of({{1, 3, 64, 64}}, {filled(3 * 64 * 64, 0.5)}), nullptr) << "a picture without a range";
  EXPECT_EQ(task_of({{1, 64, 8, 8}}, {filled(64 * 64, 0.1)}), nullptr) << "features";
  EXPECT_EQ(task_of({{0, 20}}, {{}}), nullptr) << "no values";
  const Outputs dense({1, 300, 6}, 2, [](size_t, size_t i) { return i % 2 == 0 ? 0.9 : 0.6; });
  EXPECT_EQ(dense.name(), "") << "scores that are large everywhere do not find objects";
}

TEST(TaskTest, ValuesThatAreNoNumbersAreNotRight) {
  const double nan = std::nan("");
  const Outputs mask({1, 1, 64, 64}, 1, [](size_t, size_t i) { return i % 64 < 20 ? 0.98 : 0.01; });
  EXPECT_EQ(mask.agreement([&](double, size_t) { return nan; })->value, 0);
  EXPECT_EQ(detector(true).agreement([&](double, size_t) { return nan; })->grade, Grade::kPoor);
  const auto classes = classifier().agreement([&](double, size_t) { return nan; });
  EXPECT_EQ(classes->grade, Grade::kPoor) << classes->text;
  const Outputs picture({1, 3, 64, 64}, 1, [&](size_t, size_t i) { return i == 7 ? nan : static_cast<double>(i % 9); });
  EXPECT_EQ(picture.name(), "picture") << "places that are not finite are left out";
}

TEST(TaskTest, GradesFollowTheLimits) {
  const TaskLimits limits{0.95, 0.85};
  EXPECT_EQ(grade_of(0.95, limits), Grade::kGood);
  EXPECT_EQ(grade_of(0.949, limits), Grade::kFair);
  EXPECT_EQ(grade_of(0.85, limits), Grade::kFair);
  EXPECT_EQ(grade_of(0.849, limits), Grade::kPoor);
  EXPECT_EQ(grade_of(std::nan(""), limits), Grade::kPoor);
  EXPECT_EQ(missed_limit(0.9, limits), 0.95);
  EXPECT_EQ(missed_limit(0.8, limits), 0.85);
  EXPECT_EQ(share_agreement("mask", "overlap", 0.849, limits).text, "overlap 84.9 %, below 85 %");
  EXPECT_EQ(share_agreement("mask", "overlap", 0.97, limits).text, "overlap 97 %");
}

TEST(TaskTest, ChannelsMayBeLast) {
  const Outputs classes({1, 48, 48, 6}, 2, [](size_t, size_t i) { return i % 6 == (i / 6 % 48) / 8 ? 9.0 : 0.0; });
  EXPECT_EQ(classes.name(), "pixels");
  const auto moved = classes.agreement([](double value, size_t i) { return i % 6 == 0 ? value + 20 : value; });
  EXPECT_EQ(moved->grade, Grade::kPoor) << "every pixel has the first class";
  const Outputs picture({1, 48, 64, 3}, 2, [](size_t, size_t i) { return static_cast<double>(i % 200); });
  EXPECT_EQ(picture.name(), "picture");
  const Outputs mask({1, 48, 64, 1}, 2, [](size_t, size_t i) { return i % 64 < 9 ? 1.0 : 0.0; });
  EXPECT_EQ(mask.name(), "mask");
}

TEST(TaskTest, TwoChannelsAreClassesOfPixelsWhereTheyAreSure) {
  const Outputs sure({1, 2, 48, 48}, 2, [](size_t, size_t i) { return (i / 2304 == 0) == (i % 48 < 20) ? 6.0 : -6.0; });
  EXPECT_EQ(sure.name(), "pixels");
  const Outputs flow({1, 2, 48, 48}, 2, [](size_t, size_t i) { return 0.001 * static_cast<double>(i % 48); });
  EXPECT_NE(flow.name(), "");
}

/// Scores as [batch, channels, places], where one class of eight is found at a few places.
TEST(BoxTaskTest, ChannelsMayComeBeforePlaces) {
  const Outputs scores({1, 8, 400}, 4, [](size_t sample, size_t i) {
    const size_t channel = i / 400, place = i % 400;
    return place % 40 == sample && channel == place % 8 ? 0.8 : 0.01;
  });
  EXPECT_EQ(scores.name(), "boxes");
  const auto swapped = scores.agreement([](double value, size_t i) { return i % 400 < 200 ? 0.8 - value : value; });
  EXPECT_EQ(swapped->grade, Grade::kPoor) << swapped->text;
  const Outputs few({1, 8, 400}, 1, [](size_t, size_t i) { return i < 8 ? 0.8 : 0.01; });
  EXPECT_EQ(few.name(), "") << "8 objects are too few for an average";
}

TEST(BoxTaskTest, SoftmaxWithABackgroundCountsTheOthers) {
  Outputs faces({1, 1000, 2}, 4, [](size_t sample, size_t i) {
    const double face = i / 2 % 100 == sample ? 0.9 : 0.05;
    return i % 2 == 1 ? face : 1 - face;
  });
  faces.makes_choices = true;
  EXPECT_EQ(faces.name(), "boxes");
  const auto blind = faces.agreement([](double, size_t i) { return i % 2 == 1 ? 0.05 : 0.95; });
  EXPECT_EQ(blind->grade, Grade::kPoor) << "99 % of the rows have the same class";
}

TEST(SampleRolesTest, AreDrawnApartWhereThereAreEnough) {
  const SampleRoles roles = sample_roles(128, 32);
  EXPECT_EQ(roles.chosen.size(), kMostChosen);
  EXPECT_EQ(roles.judged.size(), 32u);
  for (const size_t number : roles.judged) {
    EXPECT_EQ(number % 2, 0u) << "weights are fitted on odd numbers";
    EXPECT_FALSE(std::ranges::binary_search(roles.chosen, number));
  }
  const SampleRoles few = sample_roles(32, 32);
  EXPECT_EQ(few.judged.size(), 16u) << "all even numbers";
  EXPECT_EQ(sample_roles(8, 32).judged.size(), 8u);
  EXPECT_EQ(sample_roles(8, 32).chosen.size(), 8u);
  EXPECT_TRUE(sample_roles(0, 32).judged.empty());
}

TEST(SampleRolesTest, DrawsOfASortedFolderHaveNoRhythm) {
  std::vector<size_t> all(256);
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const std::vector<size_t> drawn = drawn_samples(all, 64);
  const auto odd = std::ranges::count_if(drawn, [](size_t number) { return number % 2 == 1; });
  EXPECT_GT(odd, 20);
  EXPECT_LT(odd, 44);
  EXPECT_TRUE(std::ranges::includes(drawn, drawn_samples(all, 16))) << "fewer are among more";
}

}  // namespace
}  // namespace quarkq::compare
