// SPDX-License-Identifier: MIT
#include "pass/gptq/gptq.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "exec/session.h"
#include "ir/constants.h"
#include "plan/constant_codes.h"

namespace quarkq::pass {

namespace {

template <typename T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename T>
Eigen::Map<const RowMajor<T>> view(const Dense<T>& matrix) {
  return {matrix.data.data(), matrix.rows, matrix.columns};
}

template <typename T>
Eigen::Map<RowMajor<T>> view(Dense<T>& matrix) {
  return {matrix.data.data(), matrix.rows, matrix.columns};
}

using Grid = GptqGrid;

double largest_code(const GptqOptions& options) { return (1 << options.bits) - 1; }

/// Returns 0 for NaN, which a weight or a scale beyond the range of float32 gives.
double code_of(double value, const Grid& grid, double largest) {
  const double code = std::rint(value / grid.scale) + grid.zero;
  return code > 0 ? std::min(code, largest) : 0;
}

/// Narrows the range step by step, keeps what rounds best.
template <typename Values>
Grid search_grid(const Values& values, double low, double high, Grid grid, const GptqOptions& options) {
  constexpr int kSteps = 80;
  constexpr double kNorm = 2.4;
  const double largest = largest_code(options);
  Grid best = grid;
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kSteps; ++step) {
    const double p = 1.0 - step / 100.0;
    const double scale = (p * high - p * low) / largest;
    const Grid tried{scale, options.symmetric ? grid.zero : std::rint(-p * low / scale)};
    double error = 0;
    for (Eigen::Index i = 0; i < values.size(); ++i) {
      const double value = values(i), rounded = tried.scale * (code_of(value, tried, largest) - tried.zero);
      error += std::pow(std::abs(rounded - value), kNorm);
    }
    if (error < least) {
      least = error;
      best = tried;
    }
  }
  return best;
}

/// The grid of these weights, given as one flat vector.
template <typename Values>
Grid find_grid(const Values& values, const GptqOptions& options) {
  double low = std::min(0.0, values.minCoeff()), high = std::max(0.0, values.maxCoeff());
  if (options.symmetric) {
    high = std::max(-low, high);
    if (low < 0) low = -high;
  }
  if (low == 0 && high == 0) {
    low = -1;
    high = 1;
  }
  Grid grid;
  grid.scale = (high - low) / largest_code(options);
  grid.zero = options.symmetric ? 1 << (options.bits - 1) : std::rint(-low / grid.scale);
  return options.search ? search_grid(values, low, high, grid, options) : grid;
}

/// The upper factor U of the inverse Hessian: inverse = U^T U.
Result<Eigen::MatrixXd> inverse_factor(Eigen::MatrixXd hessian, double damping) {
  hessian.diagonal().array() += damping * hessian.diagonal().mean();
  const Eigen::LLT<Eigen::MatrixXd> factor(hessian);
  if (factor.info() != Eigen::Success) return bad_data("the Hessian of this layer's inputs is not positive");
  const Eigen::Index n = hessian.rows();
  const Eigen::MatrixXd inverse = factor.solve(Eigen::MatrixXd::Identity(n, n));
  const Eigen::LLT<Eigen::MatrixXd> upper(inverse);
  if (upper.info() != Eigen::Success) return bad_data("the Hessian of this layer's inputs is not invertible");
  return Eigen::MatrixXd(upper.matrixU());
}

class Solver {
 public:
  Solver(const Eigen::MatrixXd& weight, const GptqOptions& options)
      : options_(options),
        depth_(weight.rows()),
        columns_(weight.cols()),
        group_size_(options.group_size > 0 ? options.group_size : depth_),
        weight_(weight) {
    const Eigen::Index groups = (depth_ + group_size_ - 1) / group_size_;
    result_.values = Dense<float>(depth_, columns_);
    result_.codes = Dense<int>(depth_, columns_);
    result_.scale = Dense<double>(groups, columns_);
    result_.zero = Dense<double>(groups, columns_);
  }

  Result<GptqResult> run(Eigen::MatrixXd hessian) {
    importance_.resize(static_cast<size_t>(depth_));
    for (Eigen::Index i = 0; i < depth_; ++i) importance_[static_cast<size_t>(i)] = static_cast<float>(hessian(i, i));
    if (options_.group_size <= 0 || options_.has_static_groups) {
      for (Eigen::Index group = 0; group < result_.scale.rows; ++group)
        find_grids(group, group * group_size_, std::min((group + 1) * group_size_, depth_));
    }
    for (Eigen::Index i = 0; i < depth_; ++i) {
      if (hessian(i, i) != 0) continue;
      hessian(i, i) = 1;  // an input that is always zero
      weight_.row(i).setZero();
    }
    const std::vector<Eigen::Index> order = row_order(hessian);
    Eigen::MatrixXd sorted(depth_, columns_);
    Eigen::MatrixXd sorted_hessian(depth_, depth_);
    for (Eigen::Index i = 0; i < depth_; ++i) {
      sorted.row(i) = weight_.row(order[static_cast<size_t>(i)]);
      for (Eigen::Index k = 0; k < depth_; ++k)
        sorted_hessian(i, k) = hessian(order[static_cast<size_t>(i)], order[static_cast<size_t>(k)]);
    }
    weight_ = std::move(sorted);
    order_ = order;
    Eigen::MatrixXd upper = Eigen::MatrixXd::Identity(1, 1);
    if (options_.propagate) {
      QQ_TRY(upper, inverse_factor(std::move(sorted_hessian), options_.damping));
    }
    const Eigen::Index block = std::max<Eigen::Index>(1, options_.block_size);
    for (Eigen::Index begin = 0; begin < depth_; begin += block)
      round_block(begin, std::min(begin + block, depth_), upper);
    restore(order);
    return std::move(result_);
  }

 private:
  std::vector<Eigen::Index> row_order(const Eigen::MatrixXd& hessian) const {
    std::vector<Eigen::Index> order(static_cast<size_t>(depth_));
    std::iota(order.begin(), order.end(), Eigen::Index{0});
    if (options_.by_importance)
      std::stable_sort(order.begin(), order.end(),
                       [&](Eigen::Index a, Eigen::Index b) { return hessian(a, a) > hessian(b, b); });
    return order;
  }

  /// Grids of a group from its rows as they are now.
  void find_grids(Eigen::Index group, Eigen::Index begin, Eigen::Index end) {
    const Eigen::MatrixXd rows = weight_.middleRows(begin, end - begin);
    Grid grid;
    if (!options_.per_channel && options_.fit == nullptr) grid = find_grid(rows.reshaped(), options_);
    for (Eigen::Index c = 0; c < columns_; ++c) {
      if (options_.fit != nullptr) {
        const Eigen::VectorXf column = rows.col(c).cast<float>();
        grid =
            options_.fit({column.data(), static_cast<size_t>(column.size())},
                         std::span(importance_).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
      } else if (options_.per_channel) {
        grid = find_grid(rows.col(c), options_);
      }
      result_.scale(group, c) = grid.scale;
      result_.zero(group, c) = grid.zero;
    }
  }

  void round_block(Eigen::Index begin, Eigen::Index end, const Eigen::MatrixXd& upper) {
    Eigen::MatrixXd errors(end - begin, columns_);
    for (Eigen::Index i = begin; i < end; ++i) {
      const bool is_static = options_.has_static_groups;
      const Eigen::Index group = (is_static ? order_[static_cast<size_t>(i)] : i) / group_size_;
      if (options_.group_size > 0 && !is_static && i % group_size_ == 0) {
        const Eigen::Index last = std::min(i + group_size_, depth_);
        // The errors of this block have not been propagated to the rows after it yet.
        if (options_.propagate && last > end) tell({begin, i}, {end, last}, errors, upper);
        find_grids(group, i, last);
        if (options_.propagate && last > end) weight_.middleRows(end, last - end) = saved_;
      }
      for (Eigen::Index c = 0; c < columns_; ++c) {
        const Grid grid{result_.scale(group, c), result_.zero(group, c)};
        const double code = grid.scale == 0 ? grid.zero : code_of(weight_(i, c), grid, largest_code(options_));
        result_.codes(i, c) = static_cast<int>(code);
        result_.values(i, c) = static_cast<float>(grid.scale * (code - grid.zero));
      }
      if (!options_.propagate) continue;
      errors.row(i - begin) = (weight_.row(i) - view(result_.values).row(i).cast<double>()) / upper(i, i);
      const Eigen::Index rest = end - i - 1;
      if (rest > 0)
        weight_.middleRows(i + 1, rest) -= (upper.row(i).segment(i + 1, rest).transpose() * errors.row(i - begin));
    }
    if (options_.propagate && end < depth_)
      weight_.bottomRows(depth_ - end) -= (upper.block(begin, end, end - begin, depth_ - end).transpose() * errors);
  }

  /// Rows [begin, end).
  struct RowRange {
    Eigen::Index begin, end;
    Eigen::Index size() const { return end - begin; }
  };

  /// Applies the errors of the rows `done` to `rows` for the search of grids; the old ones are saved.
  void tell(RowRange done, RowRange rows, const Eigen::MatrixXd& errors, const Eigen::MatrixXd& upper) {
    saved_ = weight_.middleRows(rows.begin, rows.size());
    if (done.size() > 0)
      weight_.middleRows(rows.begin, rows.size()) -=
          (upper.block(done.begin, rows.begin, done.size(), rows.size()).transpose() * errors.topRows(done.size()));
  }

  /// Rows back where they were.
  void restore(const std::vector<Eigen::Index>& order) {
    if (!options_.by_importance) return;
    const GptqResult sorted = result_;
    for (Eigen::Index i = 0; i < depth_; ++i) {
      const Eigen::Index to = order[static_cast<size_t>(i)];
      view(result_.values).row(to) = view(sorted.values).row(i);
      view(result_.codes).row(to) = view(sorted.codes).row(i);
    }
  }

  GptqOptions options_;
  Eigen::Index depth_, columns_, group_size_;
  Eigen::MatrixXd weight_, saved_;
  std::vector<float> importance_;    // diagonal of the Hessian, in the order of the rows
  std::vector<Eigen::Index> order_;  // the row that is processed at each place
  GptqResult result_;
};

}  // namespace

void Hessian::add(const float* inputs, int64_t rows, int64_t batch) {
  const double before = samples_;
  samples_ += static_cast<double>(batch);
  auto matrix = view(matrix_);
  matrix *= before / samples_;
  const Eigen::MatrixXd scaled =
      Eigen::Map<const RowMajor<float>>(inputs, rows, matrix_.rows).cast<double>() * std::sqrt(2.0 / samples_);
  matrix.noalias() += scaled.transpose() * scaled;
}

Result<GptqResult> gptq(const Dense<float>& weight, const Dense<double>& hessian, const GptqOptions& options) {
  if (!view(hessian).allFinite() || !view(weight).allFinite())
    return bad_data("the weight or its inputs contain NaN or infinities");
  return Solver(view(weight).cast<double>(), options).run(view(hessian));
}

namespace {

constexpr double kHessianBytes = 1 << 30;  // held at once

int64_t depth_of(const ir::Model& model, const GptqTarget& target) {
  return model.graph.value(target.weight).constant->dims()[0];
}

Status run_some(const GptqSamples& samples, const ir::Model& model, std::span<const GptqTarget> targets,
                const UseHessian& use) {
  std::vector<Hessian> hessians;
  for (const GptqTarget& target : targets) hessians.emplace_back(depth_of(model, target));
  const auto observe = [&](size_t t, const std::vector<float>& values, int64_t first_dimension) {
    // Weighed by the size of the first axis, as the reference does; only a common factor depends on it.
    const int64_t rows = static_cast<int64_t>(values.size()) / std::max<int64_t>(1, depth_of(model, targets[t]));
    if (!values.empty()) hessians[t].add(values.data(), rows, first_dimension);
    return Status();
  };
  QQ_RETURN_IF_ERROR(observe_inputs(samples, model, targets, "GPTQ", observe));
  for (size_t t = 0; t < targets.size(); ++t) QQ_RETURN_IF_ERROR(use(targets[t], hessians[t].matrix()));
  return Status();
}

}  // namespace

Status observe_inputs(const GptqSamples& samples, const ir::Model& model, std::span<const GptqTarget> targets,
                      const char* purpose, const ObserveInput& observe) {
  exec::SessionOptions options;
  for (const GptqTarget& target : targets)
    options.fetches.insert(options.fetches.end(), target.inputs.begin(), target.inputs.end());
  exec::Session session(model, samples.environment, std::move(options));
  for (size_t i = 0; i < samples.count; ++i) {
    QQ_TRY(const calib::Sample sample, samples.data.read(i));
    QQ_TRY(const std::vector<ir::Tensor>* const values,
           session.run(sample.inputs).context(cat(purpose, ", sample ", sample.name)));
    size_t next = 0;
    for (size_t t = 0; t < targets.size(); ++t) {
      for (const ir::ValueId input : targets[t].inputs) {
        const ir::Tensor& found = (*values)[next++];
        if (found.rank() < 1 || found.dims().back() != depth_of(model, targets[t]))
          return internal_error(purpose, ": '", model.graph.value(input).name, "' does not fit its matrix");
        QQ_TRY(const std::vector<float> floats, ir::float_values(found));
        QQ_RETURN_IF_ERROR(observe(t, floats, found.dims()[0]));
      }
    }
    if (samples.progress && !samples.progress(i + 1, samples.count)) return Status(Code::kInterrupted, "interrupted");
  }
  return Status();
}

namespace {

/// Sums of squares per column. Rows are added in order, so that no sum depends on the number of threads.
struct Squares {
  std::vector<double> sums;
  double rows = 0;

  void add(std::span<const float> values) {
    const size_t depth = sums.size();
    for (size_t begin = 0; begin + depth <= values.size(); begin += depth, ++rows) {
      for (size_t k = 0; k < depth; ++k) {
        const auto value = static_cast<double>(values[begin + k]);
        sums[k] += value * value;
      }
    }
  }
  std::vector<float> means() const {
    std::vector<float> made(sums.size());
    for (size_t k = 0; k < sums.size(); ++k) made[k] = static_cast<float>(sums[k] / std::max(rows, 1.0));
    return made;
  }
};

/// Draws the share of one sample from its rows, evenly.
void keep_rows(std::span<const float> values, size_t depth, size_t share, std::vector<float>& rows) {
  const size_t found = values.size() / depth, count = std::min(share, found);
  for (size_t i = 0; i < count; ++i) {
    const auto row = values.subspan((2 * i + 1) * found / (2 * count) * depth, depth);
    rows.insert(rows.end(), row.begin(), row.end());
  }
}

}  // namespace

Result<std::vector<std::vector<float>>> input_moments(const GptqSamples& samples, const ir::Model& model,
                                                      const std::vector<GptqTarget>& targets, KeptInputs* kept) {
  std::vector<Squares> squares(targets.size());
  std::vector<size_t> shares(targets.size(), 0);  // rows that each sample may add
  std::vector<ir::ValueId> seen;
  for (size_t t = 0; t < targets.size(); ++t) {
    squares[t].sums.resize(static_cast<size_t>(depth_of(model, targets[t])));
    const ir::ValueId input = targets[t].inputs.front();
    if (kept == nullptr || std::ranges::find(seen, input) != seen.end()) continue;
    seen.push_back(input);
    shares[t] = (static_cast<size_t>(kept->most) + samples.count - 1) / std::max<size_t>(1, samples.count);
  }
  if (kept != nullptr) kept->rows.assign(targets.size(), {});
  const auto observe = [&](size_t t, const std::vector<float>& values, int64_t /*first_dimension*/) {
    squares[t].add(values);
    if (shares[t] == 0) return Status();
    const size_t depth = squares[t].sums.size();
    const size_t left = static_cast<size_t>(kept->most) - kept->rows[t].size() / depth;
    keep_rows(values, depth, std::min(shares[t], left), kept->rows[t]);
    return Status();
  };
  QQ_RETURN_IF_ERROR(observe_inputs(samples, model, targets, "moments of inputs", observe));
  std::vector<std::vector<float>> moments(squares.size());
  std::ranges::transform(squares, moments.begin(), &Squares::means);
  return moments;
}

Result<GptqOptions> gptq_options(const config::Settings& settings, int bits, const config::GptqSettings& defaults) {
  QQ_TRY(config::GptqSettings given, config::read_gptq_settings(settings, defaults));
  GptqOptions options{given, bits};
  // The reference reads the zeros of a factor when it propagates errors, so its codes equal plain rounding.
  options.propagate = settings.quirk(config::Quirk::kPropagateGptqErrors);
  return options;
}

Dense<float> dense_of(const ir::Tensor& matrix) {
  Dense<float> dense(matrix.dims()[0], matrix.dims()[1]);
  dense.data = ir::float_values(matrix).value();
  return dense;
}

GptqSamples gptq_samples(const config::Settings& settings, const calib::DataReader& data,
                         const exec::Environment& environment, Progress progress) {
  const size_t count = settings.quirk(config::Quirk::kUseAllGptqSamples) ? data.size() : 1;
  return {data, environment, count, std::move(progress)};
}

Status for_each_hessian(const GptqSamples& samples, const ir::Model& model, const std::vector<GptqTarget>& targets,
                        const UseHessian& use) {
  for (size_t begin = 0; begin < targets.size();) {
    double bytes = 0;
    size_t end = begin;
    for (; end < targets.size(); ++end) {
      const auto depth = static_cast<double>(depth_of(model, targets[end]));
      bytes += depth * depth * sizeof(double);
      if (end > begin && bytes > kHessianBytes) break;
    }
    QQ_RETURN_IF_ERROR(run_some(samples, model, std::span(targets).subspan(begin, end - begin), use));
    begin = end;
  }
  return Status();
}

}  // namespace quarkq::pass
