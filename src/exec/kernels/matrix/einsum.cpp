// SPDX-License-Identifier: MIT
// Einsum: operands are joined from left to right. Each join brings two operands into the order [shared, own, summed]
// and [shared, summed, own] and is one batched matrix product; labels that only one operand has are summed before.
#include "exec/kernels/matrix/einsum.h"

#include <string>

#include "base/index.h"
#include "exec/kernels/matrix/matmul.h"
#include "exec/kernels/shared/tensor_copy.h"
#include "exec/kernels/shared/type_bridges.h"
#include "exec/op_def.h"

namespace quarkq::exec {

namespace {

bool has_letter(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// A tensor on the way: where it is and how its labels lie. Labels of size 1 are left out.
struct Operand {
  int buffer = 0;
  Labels labels;
  std::vector<int64_t> strides;  ///< elements, by label
};

/// One thing that is done at a run. Buffers: inputs first, then those in scratch memory; kOutput is output 0.
constexpr int kOutput = -1;
struct Action {
  enum class Kind : uint8_t { kCopy, kSum, kProduct } kind = Kind::kCopy;
  int from = 0, other = 0, to = 0;
  CopyPlan copy;
  int64_t rows = 0, columns = 0;  ///< kSum: over the columns of a matrix
  BatchProduct product;
};

struct EinsumPlan {
  std::vector<Action> actions;
  std::vector<int64_t> scratch_counts;  ///< elements of each buffer in scratch memory
  int inputs = 0;
};

class Planner {
 public:
  Planner(const Prepare& p, const EinsumEquation& equation, int64_t element_bytes)
      : p_(p), equation_(equation), element_bytes_(element_bytes) {
    plan_.inputs = static_cast<int>(p.input_count());
  }

  Result<EinsumPlan> plan(bool is_float) {
    const size_t count = equation_.terms.size();
    QQ_TRY(Operand current, summed(input(0), wanted_after(0)));
    for (size_t i = 1; i < count; ++i) {
      Labels kept = wanted_after(i);
      kept.insert(kept.end(), current.labels.begin(), current.labels.end());
      QQ_TRY(const Operand next, summed(input(i), kept));
      QQ_TRY(current, joined(current, next, wanted_after(i), is_float));
    }
    Labels output;
    for (const int label : equation_.output) {
      if (size(label) != 1) output.push_back(label);
    }
    const bool made_here = !plan_.actions.empty() && plan_.actions.back().to == current.buffer;
    if (made_here && current.labels == output) {
      plan_.actions.back().to = kOutput;
    } else {
      QQ_RETURN_IF_ERROR(add_copy(current, output, kOutput));
    }
    return std::move(plan_);
  }

 private:
  int64_t size(int label) const { return equation_.sizes.at(label); }

  Result<int64_t> count(const Labels& labels) const {
    ir::Shape dims;
    for (const int label : labels) dims.push_back(size(label));
    return ir::element_count(dims).context(p_.label());
  }

  /// Labels that inputs after `i` or the output still need.
  Labels wanted_after(size_t i) const {
    Labels labels = equation_.output;
    for (size_t k = i + 1; k < equation_.terms.size(); ++k) {
      const Operand other = input(k);
      labels.insert(labels.end(), other.labels.begin(), other.labels.end());
    }
    return labels;
  }

  /// A repeated label walks the diagonal; a dimension of 1 under a longer label is no dimension at all.
  Operand input(size_t i) const {
    Operand operand{static_cast<int>(i), {}, {}};
    const ir::Shape& dims = p_.in(i).dims;
    const std::vector<int64_t> strides = row_major_strides(dims);
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] == 1) continue;
      const int label = equation_.terms[i][d];
      const auto found = std::find(operand.labels.begin(), operand.labels.end(), label);
      if (found != operand.labels.end()) {
        operand.strides[as_index(found - operand.labels.begin())] += strides[d];
        continue;
      }
      operand.labels.push_back(label);
      operand.strides.push_back(strides[d]);
    }
    return operand;
  }

  int new_buffer(int64_t elements) {
    plan_.scratch_counts.push_back(elements);
    return plan_.inputs + static_cast<int>(plan_.scratch_counts.size()) - 1;
  }

  Operand dense(int buffer, Labels labels) const {
    Operand operand{buffer, std::move(labels), {}};
    operand.strides.resize(operand.labels.size());
    int64_t step = 1;
    for (size_t i = operand.labels.size(); i-- > 0; step *= size(operand.labels[i])) operand.strides[i] = step;
    return operand;
  }

  Status add_copy(const Operand& from, const Labels& order, int to) {
    const Operand target = dense(to, order);
    CopySpec spec;
    for (size_t i = 0; i < order.size(); ++i) {
      const auto found = std::find(from.labels.begin(), from.labels.end(), order[i]);
      if (found == from.labels.end()) return internal_error(p_.label(), ": einsum lost a label");
      spec.dims.push_back(size(order[i]));
      spec.from_strides.push_back(from.strides[as_index(found - from.labels.begin())]);
      spec.to_strides.push_back(target.strides[i]);
    }
    Action action;
    action.from = from.buffer;
    action.to = to;
    action.copy = plan_copy(spec, element_bytes_);
    plan_.actions.push_back(std::move(action));
    return Status();
  }

  /// The operand with its labels in `order` and no gaps.
  Result<Operand> arranged(const Operand& operand, const Labels& order) {
    const Operand target = dense(operand.buffer, order);
    if (operand.labels == order && operand.strides == target.strides) return operand;
    QQ_TRY(const int64_t elements, count(order));
    const int buffer = new_buffer(elements);
    QQ_RETURN_IF_ERROR(add_copy(operand, order, buffer));
    return dense(buffer, order);
  }

  /// The operand summed over all labels that are not in `kept`.
  Result<Operand> summed(const Operand& operand, const Labels& kept) {
    Labels stays, summed;
    for (const int label : operand.labels) (has_letter(kept, label) ? stays : summed).push_back(label);
    if (summed.empty()) return operand;
    Labels order = stays;
    order.insert(order.end(), summed.begin(), summed.end());
    QQ_TRY(const Operand from, arranged(operand, order));
    Action action;
    action.kind = Action::Kind::kSum;
    action.from = from.buffer;
    QQ_TRY(action.rows, count(stays));
    QQ_TRY(action.columns, count(summed));
    action.to = new_buffer(action.rows);
    const int buffer = action.to;
    plan_.actions.push_back(std::move(action));
    return dense(buffer, stays);
  }

  Result<Operand> joined(const Operand& a, const Operand& b, const Labels& wanted, bool is_float) {
    Labels shared, inner, own_a, own_b;
    for (const int label : a.labels) {
      (!has_letter(b.labels, label) ? own_a : has_letter(wanted, label) ? shared : inner).push_back(label);
    }
    for (const int label : b.labels) {
      if (!has_letter(a.labels, label)) own_b.push_back(label);
    }
    const auto join = [](const Labels& x, const Labels& y, const Labels& z) {
      Labels all = x;
      all.insert(all.end(), y.begin(), y.end());
      all.insert(all.end(), z.begin(), z.end());
      return all;
    };
    QQ_TRY(const Operand left, arranged(a, join(shared, own_a, inner)));
    QQ_TRY(const Operand right, arranged(b, join(shared, inner, own_b)));
    const Labels result = join(shared, own_a, own_b);
    Action action;
    action.kind = Action::Kind::kProduct;
    action.from = left.buffer;
    action.other = right.buffer;
    QQ_TRY(action.product.batch, count(shared));
    QQ_TRY(action.product.m, count(own_a));
    QQ_TRY(action.product.k, count(inner));
    QQ_TRY(action.product.n, count(own_b));
    if (is_float) QQ_RETURN_IF_ERROR(action.product.prepare_float().context(p_.label()));
    QQ_TRY(const int64_t elements, count(result));
    action.to = new_buffer(elements);
    const int buffer = action.to;
    plan_.actions.push_back(std::move(action));
    return dense(buffer, result);
  }

  const Prepare& p_;
  const EinsumEquation& equation_;
  int64_t element_bytes_;
  EinsumPlan plan_;
};

template <typename T>
void sum_columns(const T* x, T* y, int64_t rows, int64_t columns) {
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;  // unsigned: wraps
  for_rows(rows, columns, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      Sum sum = 0;
      for (int64_t c = 0; c < columns; ++c) sum += static_cast<Sum>(x[r * columns + c]);
      y[r] = static_cast<T>(sum);
    }
  });
}

/// Where the buffers in scratch memory begin, and the end of all.
std::vector<size_t> buffer_offsets(const EinsumPlan& plan, int64_t element_bytes, size_t own) {
  std::vector<size_t> offsets = {(own + 63) / 64 * 64};
  for (const int64_t count : plan.scratch_counts) {
    offsets.push_back(offsets.back() + (static_cast<size_t>(count * element_bytes) + 63) / 64 * 64);
  }
  return offsets;
}

template <typename T>
Kernel einsum_kernel(EinsumPlan plan, std::vector<size_t> offsets) {
  return [plan = std::move(plan), offsets = std::move(offsets)](const Run& run) {
    const auto buffer = [&](int id) -> const std::byte* {
      return id < plan.inputs ? run.inputs[as_index(id)] : run.scratch + offsets[as_index(id - plan.inputs)];
    };
    for (const Action& action : plan.actions) {
      std::byte* to = action.to == kOutput ? run.outputs[0] : run.scratch + offsets[as_index(action.to - plan.inputs)];
      const auto* a = reinterpret_cast<const T*>(buffer(action.from));
      auto* y = reinterpret_cast<T*>(to);
      if (action.kind == Action::Kind::kCopy) {
        run_copy(action.copy, buffer(action.from), to);
      } else if (action.kind == Action::Kind::kSum) {
        sum_columns(a, y, action.rows, action.columns);
      } else if constexpr (std::is_same_v<T, float>) {
        action.product.run(a, reinterpret_cast<const T*>(buffer(action.other)), y, run.scratch);
      } else {
        action.product.run_plain(a, reinterpret_cast<const T*>(buffer(action.other)), y);
      }
    }
    return Status();
  };
}

template <typename T>
Result<Kernel> make_kernel(Prepare& p, const EinsumEquation& equation) {
  Planner planner(p, equation, static_cast<int64_t>(sizeof(T)));
  QQ_TRY(EinsumPlan plan, planner.plan(std::is_same_v<T, float>));
  size_t own = 0;
  for (const Action& action : plan.actions) own = std::max(own, action.product.scratch_bytes());
  std::vector<size_t> offsets = buffer_offsets(plan, static_cast<int64_t>(sizeof(T)), own);
  const size_t bytes = offsets.back();
  Kernel kernel = einsum_kernel<T>(std::move(plan), std::move(offsets));
  if (bits(p.in(0).type) == 16 && is_floating(p.in(0).type)) return bridged(p, std::move(kernel), bytes);
  p.scratch(bytes);
  return kernel;
}

Result<Kernel> prepare_einsum(Prepare& p) {
  if (p.input_count() == 0) return p.corrupt("input 0 is missing");
  QQ_TRY(const EinsumEquation equation, read_equation(p));
  const ElementType type = p.in(0).type;
  for (size_t i = 1; i < p.input_count(); ++i) QQ_RETURN_IF_ERROR(p.require_input(i, {type}));
  ir::Shape dims;
  for (const int label : equation.output) dims.push_back(equation.sizes.at(label));
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  p.out(0, type, std::move(dims));
  switch (type) {
    case ElementType::kFloat:
    case ElementType::kFloat16:
    case ElementType::kBFloat16: return make_kernel<float>(p, equation);
    case ElementType::kDouble: return make_kernel<double>(p, equation);
    case ElementType::kInt32: return make_kernel<int32_t>(p, equation);
    case ElementType::kInt64: return make_kernel<int64_t>(p, equation);
    default: break;
  }
  return p.cannot("input 0 is ", name(type), ", allowed: FLOAT, FLOAT16, BFLOAT16, DOUBLE, INT32, INT64");
}

}  // namespace

std::span<const OpDef> einsum_ops() {
  static constexpr OpDef kOps[] = {{"Einsum", "", 12, LayoutRule::kPlain, prepare_einsum}};
  return kOps;
}

namespace {

constexpr std::string_view kDots = "...";

/// The labels of one term. `dotted`: how many dimensions "..." stands for.
Result<Labels> read_term(const Prepare& p, std::string_view term, int64_t dotted) {
  Labels labels;
  bool has_dots = false;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
      continue;
    }
    if (term.substr(i, kDots.size()) != kDots || has_dots) {
      return p.corrupt("term '", term, "' of the equation, allowed: letters and one ...");
    }
    has_dots = true;
    for (int64_t k = dotted; k-- > 0;) labels.push_back(kEllipsis + static_cast<int>(k));
    i += kDots.size() - 1;
  }
  return labels;
}

/// Dimensions that "..." stands for in a term of an input of `rank`.
int64_t dotted_dims(std::string_view term, int64_t rank) {
  if (term.find(kDots) == std::string_view::npos) return 0;
  return std::max<int64_t>(0, rank - static_cast<int64_t>(term.size() - kDots.size()));
}

std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    terms.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return terms;
}

Status add_sizes(const Prepare& p, size_t input, const Labels& labels, std::map<int, int64_t>& sizes) {
  const ir::Shape& dims = p.in(input).dims;
  if (labels.size() != dims.size()) {
    return p.corrupt("term ", input, " of the equation has ", labels.size(), " labels, input ", input, " is ",
                     shape_text(dims));
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto [entry, is_new] = sizes.emplace(labels[d], dims[d]);
    if (is_new || dims[d] == 1 || entry->second == dims[d]) continue;
    if (entry->second != 1) {
      return p.corrupt("dimension ", d, " of input ", input, " is ", dims[d], ", elsewhere its label has ",
                       entry->second);
    }
    entry->second = dims[d];
  }
  return Status();
}

/// Without "->": the dimensions under "...", then the letters that occur once, in alphabetical order.
Labels implied_output(const EinsumEquation& equation, int64_t dotted) {
  Labels output;
  for (int64_t k = dotted; k-- > 0;) output.push_back(kEllipsis + static_cast<int>(k));
  std::map<int, int> uses;
  for (const Labels& term : equation.terms) {
    for (const int label : term) ++uses[label];
  }
  for (const auto& [label, count] : uses) {
    if (label < kEllipsis && count == 1) output.push_back(label);
  }
  return output;
}

Status check_output(const Prepare& p, const EinsumEquation& equation) {
  Labels sorted = equation.output;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return p.corrupt("the equation names an output dimension twice");
  }
  for (const int label : sorted) {
    if (equation.sizes.count(label) == 0) return p.corrupt("the equation has an output label that no input has");
  }
  return Status();
}

}  // namespace

Result<EinsumEquation> read_equation(const Prepare& p) {
  std::string text = p.node().string_or("equation", "");
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string_view whole = text;
  const auto terms = split_terms(whole.substr(0, arrow));
  if (terms.size() != p.input_count()) {
    return p.corrupt("the equation '", text, "' has ", terms.size(), " terms, the node ", p.input_count(), " inputs");
  }
  EinsumEquation equation;
  int64_t dotted = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    QQ_RETURN_IF_ERROR(p.require_input(i));
    const int64_t own = dotted_dims(terms[i], p.in(i).rank());
    dotted = std::max(dotted, own);
    QQ_TRY(Labels labels, read_term(p, terms[i], own));
    QQ_RETURN_IF_ERROR(add_sizes(p, i, labels, equation.sizes));
    equation.terms.push_back(std::move(labels));
  }
  if (arrow == std::string::npos) {
    equation.output = implied_output(equation, dotted);
  } else {
    QQ_TRY(equation.output, read_term(p, whole.substr(arrow + 2), dotted));
  }
  QQ_RETURN_IF_ERROR(check_output(p, equation));
  return equation;
}

}  // namespace quarkq::exec
