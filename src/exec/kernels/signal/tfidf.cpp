// SPDX-License-Identifier: MIT
// TfIdfVectorizer over numbers: counts the n-grams of a pool in each row. The pool is a tree with a branch per item.
#include <map>

#include "base/index.h"
#include "exec/kernels/shared/support.h"
#include "exec/op_def.h"

namespace quarkq::exec {
namespace {

constexpr int64_t kWidest = int64_t{1} << 26;  ///< columns

struct Branch {
  std::map<int64_t, size_t> next;  ///< by item
  int64_t output = -1;             ///< column that counts the n-gram that ends here
};

struct Vectorizer {
  std::vector<Branch> tree = {Branch()};  ///< the first is the root
  int64_t shortest = 1, longest = 1, skips = 0, width = 0;
  bool counts = true;          ///< TF and TFIDF, else IDF: whether an n-gram occurs
  std::vector<float> weights;  ///< by column; empty: 1
};

void add_gram(Vectorizer& v, const int64_t* items, int64_t length, int64_t output) {
  size_t branch = 0;
  for (int64_t i = 0; i < length; ++i) {
    const auto [entry, is_new] = v.tree[branch].next.emplace(items[i], v.tree.size());
    branch = entry->second;
    if (is_new) v.tree.emplace_back();
  }
  v.tree[branch].output = output;
}

/// N-grams of a row of `length` items that lie `distance` apart, of at least `shortest` items.
struct GramWalk {
  int64_t length = 0, distance = 1, shortest = 1;
};

template <typename T>
void count_grams(const Vectorizer& v, const T* row, const GramWalk& walk, std::vector<int64_t>& counts) {
  for (int64_t start = 0; start < walk.length; ++start) {
    size_t branch = 0;
    int64_t place = start;
    for (int64_t size = 1; size <= v.longest && place < walk.length; ++size, place += walk.distance) {
      const auto found = v.tree[branch].next.find(static_cast<int64_t>(row[place]));
      if (found == v.tree[branch].next.end()) break;
      branch = found->second;
      if (size >= walk.shortest && v.tree[branch].output >= 0) ++counts[as_index(v.tree[branch].output)];
    }
  }
}

template <typename T>
Kernel vectorizer_kernel(Vectorizer v, int64_t rows, int64_t length) {
  return [v = std::move(v), rows, length](const Run& run) {
    std::vector<int64_t> counts(as_index(v.width));
    for (int64_t r = 0; r < rows; ++r) {
      std::fill(counts.begin(), counts.end(), 0);
      const int64_t most = std::min(v.skips, std::max<int64_t>(length, 1) - 1) + 1;
      for (int64_t distance = 1; distance <= most; ++distance) {
        // Single items do not depend on the distance and are counted once.
        const int64_t shortest = distance == 1 ? v.shortest : std::max<int64_t>(v.shortest, 2);
        if (shortest > v.longest) break;
        count_grams(v, run.in<T>(0) + r * length, {length, distance, shortest}, counts);
      }
      for (int64_t c = 0; c < v.width; ++c) {
        const auto count =
            static_cast<float>(v.counts ? counts[as_index(c)] : std::min<int64_t>(counts[as_index(c)], 1));
        run.out<float>(0)[r * v.width + c] = v.weights.empty() ? count : count * v.weights[as_index(c)];
      }
    }
    return Status();
  };
}

/// Reads pool_int64s, cut by ngram_counts into pools of 1-grams, 2-grams, ...
Status read_pool(const Prepare& p, Vectorizer& v) {
  const ir::Node& node = p.node();
  const auto pool = node.ints_or("pool_int64s", {}), starts = node.ints_or("ngram_counts", {}),
             outputs = node.ints_or("ngram_indexes", {});
  if (pool.empty() || starts.empty() || outputs.empty()) {
    return p.cannot("pool_int64s, ngram_counts or ngram_indexes is empty; pools of strings are not supported");
  }
  for (const int64_t output : outputs) {
    if (output < 0 || output >= kWidest) {
      return p.corrupt("ngram_indexes has an entry ", output, ", allowed: 0 to ", kWidest - 1);
    }
    v.width = std::max(v.width, output + 1);
  }
  size_t gram = 0;
  for (size_t k = 0; k < starts.size(); ++k) {
    const auto total = static_cast<int64_t>(pool.size()), size = static_cast<int64_t>(k) + 1;
    const int64_t begin = starts[k], end = k + 1 < starts.size() ? starts[k + 1] : total;
    if (begin < 0 || begin > end || end > total || (end - begin) % size != 0) {
      return p.corrupt("ngram_counts cuts ", total, " items at ", begin, " and ", end, " into ", size, "-grams");
    }
    for (int64_t i = begin; i < end; i += size, ++gram) {
      if (gram >= outputs.size()) return p.corrupt("ngram_indexes has ", outputs.size(), " entries for more n-grams");
      if (size >= v.shortest && size <= v.longest) add_gram(v, pool.data() + i, size, outputs[gram]);
    }
  }
  return Status();
}

Result<Vectorizer> read_vectorizer(const Prepare& p) {
  const ir::Node& node = p.node();
  Vectorizer v;
  v.shortest = node.int_or("min_gram_length", 1);
  v.longest = node.int_or("max_gram_length", 1);
  v.skips = node.int_or("max_skip_count", 0);
  if (v.shortest < 1 || v.longest < v.shortest || v.skips < 0) {
    return p.corrupt("counts ", v.shortest, "- to ", v.longest, "-grams with ", v.skips, " skips");
  }
  QQ_RETURN_IF_ERROR(read_pool(p, v));
  const std::string mode = node.string_or("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    return p.corrupt("mode is '", mode, "', allowed: TF, IDF, TFIDF");
  }
  v.counts = mode != "IDF";
  const auto* weights = node.get<std::vector<float>>("weights");
  if (mode == "TF" || weights == nullptr || weights->empty()) return v;
  if (static_cast<int64_t>(weights->size()) < v.width) {
    return p.corrupt(weights->size(), " weights for ", v.width, " columns");
  }
  v.weights = *weights;
  return v;
}

Result<Kernel> prepare_tfidf(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kInt32, ElementType::kInt64}));
  const Spec& x = p.in(0);
  if (x.rank() < 1 || x.rank() > 2) return p.corrupt("input 0 has rank ", x.rank(), ", allowed: 1, 2");
  QQ_TRY(Vectorizer v, read_vectorizer(p));
  const int64_t rows = x.rank() == 2 ? x.dims[0] : 1;
  ir::Shape dims = {v.width};
  if (x.rank() == 2) dims.insert(dims.begin(), rows);
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  p.out(0, ElementType::kFloat, std::move(dims));
  if (x.type == ElementType::kInt32) return vectorizer_kernel<int32_t>(std::move(v), rows, x.dims.back());
  return vectorizer_kernel<int64_t>(std::move(v), rows, x.dims.back());
}

}  // namespace

std::span<const OpDef> tfidf_ops() {
  static constexpr OpDef kOps[] = {{"TfIdfVectorizer", "", 9, LayoutRule::kPlain, prepare_tfidf}};
  return kOps;
}

}  // namespace quarkq::exec
