// SPDX-License-Identifier: MIT
#include "numeric/metrics.h"

#include <cmath>
#include <limits>

namespace quarkq::numeric::QQ_ISA {

namespace {

constexpr int64_t kLanes = 8;
constexpr double kLowest = -std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Lanes {
  double dot[kLanes] = {}, norm_a[kLanes] = {}, norm_b[kLanes] = {}, distance[kLanes] = {};
  double max_distance[kLanes] = {}, max_a[kLanes], max_magnitude[kLanes] = {};

  Lanes() {
    for (double& lane : max_a) lane = kLowest;
  }
  void add(int64_t lane, double a, double b) {
    const double difference = a - b, apart = std::abs(difference), magnitude = std::abs(a);
    dot[lane] += a * b;
    norm_a[lane] += a * a;
    norm_b[lane] += b * b;
    distance[lane] += difference * difference;
    max_distance[lane] = apart > max_distance[lane] ? apart : max_distance[lane];
    max_a[lane] = a > max_a[lane] ? a : max_a[lane];
    max_magnitude[lane] = magnitude > max_magnitude[lane] ? magnitude : max_magnitude[lane];
  }
};

double sum(const double (&lanes)[kLanes]) {
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

double largest(const double (&lanes)[kLanes]) {
  double most = lanes[0];
  for (const double lane : lanes) most = lane > most ? lane : most;
  return most;
}

}  // namespace

PairSums pair_sums(const double* a, const double* b, int64_t count) {
  Lanes lanes;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma omp simd
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes.add(lane, a[i + lane], b[i + lane]);
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) lanes.add(lane, a[i], b[i]);
  PairSums sums;
  sums.dot = sum(lanes.dot);
  sums.norm_a = sum(lanes.norm_a);
  sums.norm_b = sum(lanes.norm_b);
  sums.squared_distance = sum(lanes.distance);
  // Comparisons pass over NaN; the sums of squares have it.
  sums.max_distance = std::isnan(sums.squared_distance) ? kNan : largest(lanes.max_distance);
  sums.max_a = std::isnan(sums.norm_a) ? kNan : largest(lanes.max_a);
  sums.max_magnitude_a = std::isnan(sums.norm_a) ? kNan : largest(lanes.max_magnitude);
  return sums;
}

}  // namespace quarkq::numeric::QQ_ISA
