// SPDX-License-Identifier: MIT
// Embeddings by the cosine of their angles: correlation with scores of pairs, search, and nearest neighbours.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "calib/npy.h"
#include "metrics/scorer.h"
#include "metrics/truth/relations.h"

namespace quarkq::metrics {
namespace {

constexpr double kMostGrade = 10000;  // Far above the grades in use, which are 1 to 10.

/// Rows of unit length. A row without a length, or with NaN, has NaN.
class Embeddings {
 public:
  /// Adds a tensor [rows, width] or [width]. Fails with kBadData for other shapes and another width.
  Status add(const ir::Tensor& values) {
    const ir::Shape& dims = values.dims();
    const bool is_row = dims.size() == 1 || dims.size() == 2;
    if (!is_row || values.size() == 0)
      return bad_data("found shape ", shape_text(dims),
                      ", needed are embeddings [rows, width]; pool them in the model");
    const auto width = static_cast<size_t>(dims.back());
    if (width_ != 0 && width != width_)
      return bad_data("its embeddings have ", width, " numbers, those before ", width_);
    width_ = width;
    QQ_TRY(const std::vector<double> all, ir::to_double(values));
    for (size_t begin = 0; begin < all.size(); begin += width) {
      double squares = 0;
      for (size_t i = 0; i < width; ++i) squares += all[begin + i] * all[begin + i];
      for (size_t i = 0; i < width; ++i) values_.push_back(all[begin + i] / std::sqrt(squares));
    }
    return Status();
  }

  size_t rows() const { return width_ == 0 ? 0 : values_.size() / width_; }
  size_t width() const { return width_; }

  /// Returns the first row that has no direction, or nullopt.
  std::optional<size_t> undirected() const {
    const auto found = std::ranges::find_if(values_, [](double one) { return std::isnan(one); });
    if (found == values_.end()) return std::nullopt;
    return static_cast<size_t>(found - values_.begin()) / width_;
  }

  double similarity(size_t a, size_t b) const {
    const auto first = values_.begin() + static_cast<std::ptrdiff_t>(a * width_);
    return std::inner_product(first, first + static_cast<std::ptrdiff_t>(width_),
                              values_.begin() + static_cast<std::ptrdiff_t>(b * width_), 0.0);
  }

  /// Returns `candidates` without `row`, the most similar first; equal ones in their order, NaN last.
  std::vector<size_t> ranked(size_t row, const std::vector<size_t>& candidates) const {
    std::vector<std::pair<double, size_t>> scored;
    for (const size_t one : candidates) {
      if (one == row) continue;
      const double found = similarity(row, one);
      scored.emplace_back(std::isnan(found) ? -INFINITY : found, one);
    }
    std::ranges::stable_sort(scored, std::greater<>(), &std::pair<double, size_t>::first);
    std::vector<size_t> made;
    made.reserve(scored.size());
    for (const auto& [score, one] : scored) made.push_back(one);
    return made;
  }

  /// Returns the most similar other row. Returns the row itself if its similarities are NaN.
  size_t nearest(size_t row) const {
    size_t best = row;
    double most = -INFINITY;
    for (size_t i = 0; i < rows(); ++i) {
      if (i == row) continue;
      const double found = similarity(row, i);
      if (!(found > most)) continue;
      most = found;
      best = i;
    }
    return best;
  }

 private:
  size_t width_ = 0;
  std::vector<double> values_;
};

/// Returns ranks from 0, where a value of weight n has n places; equal values share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& values, const std::vector<double>& weights) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  double before = 0;
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    double weight = 0;
    for (; end < order.size() && values[order[end]] == values[order[begin]]; ++end) weight += weights[order[end]];
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = before + (weight - 1) / 2;
    before += weight;
    begin = end;
  }
  return ranks;
}

double mean_of(const std::vector<double>& values, const std::vector<double>& weights) {
  return std::inner_product(values.begin(), values.end(), weights.begin(), 0.0) /
         std::accumulate(weights.begin(), weights.end(), 0.0);
}

double correlation(const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& weights) {
  const double mean_a = mean_of(a, weights), mean_b = mean_of(b, weights);
  double products = 0, squares_a = 0, squares_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    products += weights[i] * (a[i] - mean_a) * (b[i] - mean_b);
    squares_a += weights[i] * (a[i] - mean_a) * (a[i] - mean_a);
    squares_b += weights[i] * (b[i] - mean_b) * (b[i] - mean_b);
  }
  return products / std::sqrt(squares_a * squares_b);
}

/// Collects the embeddings of all samples. Derived classes score them.
class EmbeddingScorer : public Scorer {
 public:
  explicit EmbeddingScorer(std::string output) : output_(std::move(output)) {}

  Status add(const SampleResults& results) override {
    QQ_TRY(const ir::Tensor* values, results_of(results, output_));
    const size_t before = embeddings_.rows();
    QQ_RETURN_IF_ERROR(embeddings_.add(*values));
    names_.add(results.name, embeddings_.rows() - before);
    return Status();
  }

 protected:
  const Embeddings& embeddings() const { return embeddings_; }
  const RowNames& names() const { return names_; }

 private:
  std::string output_;
  Embeddings embeddings_;
  RowNames names_;
};

/// A pair counts as often as the sample of its first row.
class PairCorrelation : public EmbeddingScorer {
 public:
  PairCorrelation(std::vector<Relation> pairs, std::string output)
      : EmbeddingScorer(std::move(output)), pairs_(std::move(pairs)) {}

  Result<compare::SampledScore> score(int variant) const override {
    std::vector<double> found, wanted;
    std::vector<size_t> samples;
    for (const Relation& pair : pairs_) {
      QQ_TRY(const size_t a, names().find(pair.rows[0], pair.place));
      QQ_TRY(const size_t b, names().find(pair.rows[1], pair.place));
      found.push_back(embeddings().similarity(a, b));
      wanted.push_back(pair.numbers[0]);
      samples.push_back(names().sample_of(a));
    }
    const auto is_constant = [](const std::vector<double>& all) {
      return std::ranges::all_of(all, [&](double one) { return one == all[0]; });
    };
    if (is_constant(wanted) || is_constant(found))
      return bad_data(is_constant(wanted) ? "all scores of the pairs" : "all similarities of the pairs", " are ",
                      is_constant(wanted) ? wanted[0] : found[0], "; a correlation needs different ones");
    const size_t cost = 16 * found.size();  // most of the time is spent on sorting
    return compare::SampledScore{.value =
                                     [=](compare::Weights weights) {
                                       std::vector<double> counts;
                                       counts.reserve(samples.size());
                                       for (const size_t sample : samples) counts.push_back(weights[sample]);
                                       if (std::ranges::any_of(found, [](double one) { return std::isnan(one); }))
                                         return static_cast<double>(NAN);
                                       if (variant != 0) return correlation(found, wanted, counts);
                                       return correlation(ranks_of(found, counts), ranks_of(wanted, counts), counts);
                                     },
                                 .cost = cost,
                                 .counted = std::set<size_t>(samples.begin(), samples.end()).size(),
                                 .pairs = found.size()};
  }

 private:
  std::vector<Relation> pairs_;
};

/// Grades of the documents that are relevant to a query, by row.
using Grades = std::map<size_t, double>;

class Retrieval : public EmbeddingScorer {
 public:
  Retrieval(std::vector<Relation> pairs, std::string output, bool has_gain)
      : EmbeddingScorer(std::move(output)), pairs_(std::move(pairs)), has_gain_(has_gain) {}

  /// `variant`: the number of results that count.
  Result<compare::SampledScore> score(int variant) const override {
    std::map<size_t, Grades> queries;
    std::set<size_t> found;
    for (const Relation& pair : pairs_) {
      QQ_TRY(const size_t query, names().find(pair.rows[0], pair.place));
      QQ_TRY(const size_t document, names().find(pair.rows[1], pair.place));
      const auto [grade, is_new] = queries[query].emplace(document, pair.numbers[0]);
      if (!is_new && grade->second != pair.numbers[0])
        return bad_data(pair.place, ": grades a document with ", pair.numbers[0], ", an earlier line with ",
                        grade->second, "; keep one of them");
      found.insert(document);
    }
    std::vector<size_t> candidates;  // queries only if the truth lists them as documents
    for (size_t row = 0; row < embeddings().rows(); ++row) {
      if (found.contains(row) || !queries.contains(row)) candidates.push_back(row);
    }
    std::vector<compare::Parts> samples(names().samples());
    bool is_counted = false;
    for (const auto& [query, grades] : queries) {
      const std::optional<double> one = of_query(query, grades, candidates, static_cast<size_t>(variant));
      if (!one) continue;
      samples[names().sample_of(query)].top += *one;
      ++samples[names().sample_of(query)].bottom;
      is_counted = true;
    }
    if (!is_counted) return bad_data("no query has anything relevant: all scores are 0");
    return compare::ratio_of(std::move(samples));
  }

 private:
  static double gain(double grade, size_t rank) { return grade / std::log2(static_cast<double>(rank) + 2); }

  /// Recall, or the gain relative to the best order. Returns nullopt if nothing is relevant.
  std::optional<double> of_query(size_t query, const Grades& grades, const std::vector<size_t>& candidates,
                                 size_t most) const {
    std::vector<double> best;
    for (const auto& [document, grade] : grades) {
      if (grade > 0 && document != query) best.push_back(grade);
    }
    if (best.empty()) return std::nullopt;
    std::ranges::sort(best, std::greater<>());
    std::vector<size_t> ranked = embeddings().ranked(query, candidates);
    ranked.resize(std::min(ranked.size(), most));
    double hits = 0, gained = 0, possible = 0;
    for (size_t rank = 0; rank < ranked.size(); ++rank) {
      const auto grade = grades.find(ranked[rank]);
      const bool counts = grade != grades.end() && grade->second > 0;
      hits += counts ? 1 : 0;
      gained += counts ? gain(grade->second, rank) : 0;
      possible += rank < best.size() ? gain(best[rank], rank) : 0;
    }
    return has_gain_ ? gained / possible : hits / static_cast<double>(best.size());
  }

  std::vector<Relation> pairs_;
  bool has_gain_;
};

/// Share of rows with the same nearest row as in other embeddings of the same samples.
class Neighbours : public EmbeddingScorer {
 public:
  Neighbours(Embeddings wanted, std::string output) : EmbeddingScorer(std::move(output)), wanted_(std::move(wanted)) {}

  Result<compare::SampledScore> score(int /*variant*/) const override {
    const size_t rows = embeddings().rows();
    if (rows > wanted_.rows() || rows < 2)
      return bad_data("found ", rows, " embeddings, needed are at least 2, and as many as the ", wanted_.rows(),
                      " of --labels");
    if (rows < wanted_.rows()) return bad_data("found ", rows, " embeddings, --labels has ", wanted_.rows());
    if (embeddings().width() != wanted_.width())
      return bad_data("found embeddings of ", embeddings().width(), " numbers, --labels has ", wanted_.width());
    std::vector<compare::Parts> samples(names().samples());
    for (size_t i = 0; i < rows; ++i) {
      const size_t nearest = embeddings().nearest(i);
      compare::Parts& sample = samples[names().sample_of(i)];
      sample.top += nearest != i && nearest == wanted_.nearest(i) ? 1 : 0;
      ++sample.bottom;
    }
    return compare::ratio_of(std::move(samples));
  }

 private:
  Embeddings wanted_;
};

ScorerResult open_retrieval(const ScoringOptions& options, bool has_gain) {
  const RelationForm form{2, 0, "query,document,grade", /*least=*/0, /*most=*/kMostGrade};
  QQ_TRY(std::vector<Relation> pairs, read_relations(options.request.truth_path, form));
  return std::unique_ptr<Scorer>(std::make_unique<Retrieval>(std::move(pairs), options.request.output, has_gain));
}

}  // namespace

ScorerResult open_correlation(const ScoringOptions& options) {
  QQ_TRY(std::vector<Relation> pairs, read_relations(options.request.truth_path, {2, 1, "a,b,score"}));
  if (pairs.size() < 2) return bad_data(options.request.truth_path, ": needs two pairs or more");
  return std::unique_ptr<Scorer>(std::make_unique<PairCorrelation>(std::move(pairs), options.request.output));
}

ScorerResult open_recall(const ScoringOptions& options) { return open_retrieval(options, /*has_gain=*/false); }

ScorerResult open_gain(const ScoringOptions& options) { return open_retrieval(options, /*has_gain=*/true); }

ScorerResult open_neighbours(const ScoringOptions& options) {
  QQ_TRY(const ir::Tensor values, calib::read_npy(options.request.truth_path));
  Embeddings wanted;
  QQ_RETURN_IF_ERROR(wanted.add(values).context(options.request.truth_path));
  if (const std::optional<size_t> row = wanted.undirected())
    return bad_data(options.request.truth_path, ": row ", *row,
                    " has NaN, infinity or zeros only, allowed are finite numbers");
  return std::unique_ptr<Scorer>(std::make_unique<Neighbours>(std::move(wanted), options.request.output));
}

}  // namespace quarkq::metrics
