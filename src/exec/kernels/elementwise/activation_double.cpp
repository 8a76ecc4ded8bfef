// SPDX-License-Identifier: MIT
// The one-input operators in double.
#include <algorithm>
#include <cmath>

#include "exec/kernels/elementwise/unary_loops.h"

namespace quarkq::exec {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

double trigonometric(Unary op, double x) {
  switch (op) {
    case Unary::kSin: return std::sin(x);
    case Unary::kCos: return std::cos(x);
    case Unary::kTan: return std::tan(x);
    case Unary::kAsin: return std::asin(x);
    case Unary::kAcos: return std::acos(x);
    case Unary::kAtan: return std::atan(x);
    case Unary::kSinh: return std::sinh(x);
    case Unary::kCosh: return std::cosh(x);
    case Unary::kAsinh: return std::asinh(x);
    case Unary::kAcosh: return std::acosh(x);
    case Unary::kAtanh: return std::atanh(x);
    default: return x;
  }
}

}  // namespace

double unary_double(const UnaryParams& p, double x) {
  const double a = p.alpha, b = p.beta;
  switch (p.op) {
    case Unary::kRelu: return x < 0 ? 0 : x;
    case Unary::kLeakyRelu: return x < 0 ? a * x : x;
    case Unary::kClip: return x < a ? std::min(a, b) : x > b ? b : x;
    case Unary::kSigmoid: return sigmoid(x);
    case Unary::kHardSigmoid: return std::clamp(a * x + b, 0.0, 1.0);
    case Unary::kHardSwish: return x * std::clamp(x / 6.0 + 0.5, 0.0, 1.0);
    case Unary::kTanh: return std::tanh(x);
    case Unary::kExp: return std::exp(x);
    case Unary::kLog: return std::log(x);
    case Unary::kSqrt: return std::sqrt(x);
    case Unary::kNeg: return -x;
    case Unary::kAbs: return std::fabs(x);
    case Unary::kReciprocal: return 1.0 / x;
    case Unary::kFloor: return std::floor(x);
    case Unary::kCeil: return std::ceil(x);
    case Unary::kRound: return std::rint(x);
    case Unary::kSign: return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
    case Unary::kErf: return std::erf(x);
    case Unary::kGelu: return 0.5 * x * (1.0 + std::erf(x * 0.70710678118654752));
    case Unary::kGeluTanh: return 0.5 * x * (1.0 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    case Unary::kElu: return x < 0 ? a * std::expm1(x) : x;
    case Unary::kSelu: return x < 0 ? b * a * std::expm1(x) : b * x;
    case Unary::kSoftplus: return softplus(x);
    case Unary::kSoftsign: return x / (1.0 + std::fabs(x));
    case Unary::kThresholdedRelu: return x > a ? x : 0;
    case Unary::kCelu: return x < 0 ? a * std::expm1(x / a) : x;
    case Unary::kMish: return x * std::tanh(softplus(x));
    case Unary::kSwish: return x * sigmoid(a * x);
    case Unary::kShrink: return x < -b ? x + a : x > b ? x - a : 0;
    default: return trigonometric(p.op, x);
  }
}

}  // namespace quarkq::exec
