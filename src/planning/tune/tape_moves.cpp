// SPDX-License-Identifier: MIT
// Operators of a tape that copy elements: Concat, Slice, Reshape, Transpose, nearest Resize, ... The executor runs the
// node on numbered elements, which gives the source of each element of the result.
#include <algorithm>
#include <numeric>

#include "exec/compile.h"
#include "exec/layout.h"
#include "ir/constants.h"
#include "planning/tune/tape_op.h"

namespace quarkq::planning::finetune {
namespace {

constexpr int64_t kMostFloats = int64_t{1} << 24;  ///< Upper bound on the numbers that float32 represents exactly.
constexpr int64_t kLongestRun = 16384;

exec::Layout layout_of(bool channels_last) {
  return channels_last ? exec::Layout::kChannelsLast : exec::Layout::kPlain;
}

/// Consecutive elements that are copied.
struct Run {
  int64_t to = 0, from = 0;
  int32_t length = 0;
};

/// The elements that a result copies from one source, and how often each of them is read.
struct Copies {
  std::vector<Run> runs;
  enum class Reads : uint8_t { kOnce, kAtMostOnce, kOften } reads = Reads::kOnce;
};

/// A value of the tape or a constant.
struct Source {
  TapeValue* value = nullptr;
  std::vector<float> constant;
  int64_t first = 0, size = 0;  ///< Number of its first element, and number of elements.
  const float* data() const { return value != nullptr ? value->data : constant.data(); }
};

class MoveOp : public TapeOp {
 public:
  MoveOp(std::vector<Source> sources, std::vector<TapeValue*> outputs)
      : sources_(std::move(sources)), outputs_(std::move(outputs)), copies_(sources_.size()) {
    for (auto& list : copies_) list.resize(outputs_.size());
  }

  /// `numbers` has the number of each element of output `output`, in the order in memory. 0: the element is zero.
  Status set(size_t output, std::span<const int64_t> numbers) {
    size_t s = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const int64_t number = numbers[i];
      if (number == 0) continue;
      if (number < sources_[s].first || number >= sources_[s].first + sources_[s].size) {
        s = 0;
        while (s < sources_.size() && number >= sources_[s].first + sources_[s].size) ++s;
        if (s == sources_.size()) return unsupported("its elements are not copies");
      }
      add(copies_[s][output].runs, static_cast<int64_t>(i), number - sources_[s].first);
    }
    return Status();
  }

  void finish() {
    for (size_t s = 0; s < sources_.size(); ++s) count_reads(s);
    has_zeros_.resize(outputs_.size());
    for (size_t o = 0; o < outputs_.size(); ++o) {
      int64_t filled = 0;
      for (const auto& list : copies_)
        for (const Run& run : list[o].runs) filled += run.length;
      has_zeros_[o] = filled < outputs_[o]->size;
    }
    is_identity_ = sources_.size() == 1 && outputs_.size() == 1 && sources_[0].value != nullptr &&
                   sources_[0].size == outputs_[0]->size && !has_zeros_[0];
    for (const Run& run : is_identity_ ? copies_[0][0].runs : std::vector<Run>())
      is_identity_ = is_identity_ && run.to == run.from;
  }

  void forward(const TapePass& /*pass*/) override {
    for (size_t o = 0; o < outputs_.size(); ++o) {
      float* const y = outputs_[o]->storage.data();
      if (has_zeros_[o]) std::fill_n(y, outputs_[o]->size, 0.0f);
      for (size_t s = 0; s < sources_.size(); ++s) {
        const float* const x = sources_[s].data();
        for_runs(copies_[s][o].runs, [=](const Run& run) { std::copy_n(x + run.from, run.length, y + run.to); });
      }
    }
  }

  void backward(const TapePass& pass) override {
    if (is_identity_) {
      if (sources_[0].value->needs_gradient) hand_over(*outputs_[0], *sources_[0].value);
      return;
    }
    for (size_t s = 0; s < sources_.size(); ++s)
      if (sources_[s].value != nullptr && sources_[s].value->needs_gradient) add_gradient(s, pass.pool);
  }

 private:
  static void add(std::vector<Run>& runs, int64_t to, int64_t from) {
    if (!runs.empty()) {
      Run& last = runs.back();
      if (last.to + last.length == to && last.from + last.length == from && last.length < kLongestRun) {
        ++last.length;
        return;
      }
    }
    runs.push_back({to, from, 1});
  }

  template <typename F>
  static void for_runs(const std::vector<Run>& runs, const F& f) {
    constexpr int64_t kRuns = 256;
    parallel_pieces(static_cast<int64_t>(runs.size()), kRuns, {}, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(runs[static_cast<size_t>(i)]);
    });
  }

  void count_reads(size_t s) {
    std::vector<uint8_t> reads(static_cast<size_t>(sources_[s].size));
    uint8_t most = 0, least = 1;
    for (const Copies& copies : copies_[s])
      for (const Run& run : copies.runs)
        for (int64_t i = 0; i < run.length; ++i) {
          uint8_t& count = reads[static_cast<size_t>(run.from + i)];
          count = static_cast<uint8_t>(std::min(2, count + 1));
          most = std::max(most, count);
        }
    for (const uint8_t count : reads) least = std::min(least, count);
    using Reads = Copies::Reads;
    const Reads kind = most > 1 ? Reads::kOften : least == 0 ? Reads::kAtMostOnce : Reads::kOnce;
    for (Copies& copies : copies_[s]) {
      copies.reads = kind;
      if (kind == Reads::kOften) sort_by_source(copies);
    }
  }

  /// Sorts runs by source, so that all runs of one source element follow each other.
  static void sort_by_source(Copies& copies) {
    std::stable_sort(copies.runs.begin(), copies.runs.end(),
                     [](const Run& a, const Run& b) { return a.from < b.from; });
  }

  void add_gradient(size_t s, FloatPool& pool) {
    GradientPlace place(*sources_[s].value, pool);
    float* const dx = place.data();
    const Copies::Reads reads = copies_[s][0].reads;
    if (reads != Copies::Reads::kOnce)
      in_chunks(sources_[s].size, [=](int64_t begin, int64_t end) { std::fill(dx + begin, dx + end, 0.0f); });
    for (size_t o = 0; o < outputs_.size(); ++o) {
      const float* const dy = outputs_[o]->gradient.data();
      const std::vector<Run>& runs = copies_[s][o].runs;
      if (reads == Copies::Reads::kOften) {
        add_often(runs, dy, dx);
      } else {
        for_runs(runs, [=](const Run& run) { std::copy_n(dy + run.to, run.length, dx + run.from); });
      }
    }
  }

  /// Runs are divided between threads where no later run reads what an earlier one does.
  static void add_often(const std::vector<Run>& runs, const float* dy, float* dx) {
    constexpr size_t kRuns = 256;
    std::vector<size_t> bounds = {0};
    int64_t reach = 0;
    for (size_t i = 0; i < runs.size(); ++i) {
      if (i >= bounds.back() + kRuns && runs[i].from >= reach) bounds.push_back(i);
      reach = std::max(reach, runs[i].from + runs[i].length);
    }
    bounds.push_back(runs.size());
    parallel_for(static_cast<int64_t>(bounds.size()) - 1, [&](int64_t part) {
      for (size_t i = bounds[static_cast<size_t>(part)]; i < bounds[static_cast<size_t>(part) + 1]; ++i)
        for (int64_t k = 0; k < runs[i].length; ++k) dx[runs[i].from + k] += dy[runs[i].to + k];
    });
  }

  std::vector<Source> sources_;
  std::vector<TapeValue*> outputs_;
  std::vector<std::vector<Copies>> copies_;  ///< [source][output].
  std::vector<bool> has_zeros_;
  bool is_identity_ = false;
};

/// Returns a tensor of type T, in ONNX order, that has the numbers from `first` on in the order in memory.
template <typename T>
ir::Tensor numbered(const ir::Shape& dims, bool channels_last, int64_t first) {
  const exec::Layout layout = layout_of(channels_last);
  std::vector<T> numbers(static_cast<size_t>(ir::checked_count(dims)));
  std::iota(numbers.begin(), numbers.end(), static_cast<T>(first));
  return exec::in_onnx_order(ir::Tensor::from<T>(exec::stored_dims(dims, layout), numbers), layout);
}

/// Evaluates the node on numbered elements of type T.
template <typename T>
Result<std::vector<ir::Tensor>> evaluate(const TapeNode& node, std::vector<Source>& sources) {
  const bool joins = node.node.op == "Concat", pads = node.node.op == "Pad";
  std::vector<ir::Tensor> numbers(node.inputs.size());
  std::vector<const ir::Tensor*> inputs(node.inputs.size(), nullptr);
  int64_t first = 1;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    TapeValue* const value = node.inputs[i];
    const std::optional<ir::Tensor>& constant = node.constants[i];
    if (value != nullptr || (joins && constant)) {
      Source source{value, {}, first, value != nullptr ? value->size : constant->size()};
      numbers[i] = numbered<T>(value != nullptr ? value->dims : constant->dims(), node.channels_last, first);
      if (value == nullptr) {
        const ir::Tensor stored = exec::in_layout(*constant, layout_of(node.channels_last));
        QQ_TRY(source.constant, ir::float_values(stored));
      }
      first += source.size;
      sources.push_back(std::move(source));
      inputs[i] = &numbers[i];
    } else if (constant && !(pads && i == 2)) {
      inputs[i] = &*constant;
    }
  }
  return exec::evaluate_node(node.graph, node.model.opsets, node.node.id, inputs);
}

bool pads_with_zeros(const TapeNode& node) {
  if (node.node.float_or("value", 0) != 0) return false;
  if (node.constants.size() < 3 || !node.constants[2]) return true;
  const Result<std::vector<double>> value = ir::to_double(*node.constants[2]);
  return value.ok() && std::ranges::all_of(value.value(), [](double one) { return one == 0; });
}

template <typename T>
TapeOpResult make_move(const TapeNode& node) {
  if (node.inputs.empty()) return node.cannot("has no input");
  if (node.node.op == "Pad" && !pads_with_zeros(node)) return node.cannot("pads with another value than 0");
  std::vector<Source> sources;
  Result<std::vector<ir::Tensor>> results = evaluate<T>(node, sources);
  if (!results.ok()) return node.cannot(results.status().message().c_str());
  if (results.value().size() < node.outputs.size() || sources.empty()) return node.cannot("is not computed");
  for (size_t i = 0; i < node.outputs.size(); ++i) shape_output(node, results.value()[i].dims(), i);
  auto op = std::make_unique<MoveOp>(std::move(sources), node.outputs);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ir::Tensor stored = exec::in_layout(results.value()[i], layout_of(node.channels_last));
    const auto found = stored.template data<T>();
    const std::vector<int64_t> numbers(found.begin(), found.end());
    if (const Status status = op->set(i, numbers); !status.ok()) return node.cannot(status.message().c_str());
  }
  op->finish();
  return std::unique_ptr<TapeOp>(std::move(op));
}

/// Linear Resize of images: each result is a mean of four neighbours.
class LinearResizeOp : public TapeOp {
 public:
  /// `rows` and `columns` are the coordinates in the input of each row and column of the result.
  LinearResizeOp(const TapeNode& node, std::vector<float> rows, std::vector<float> columns)
      : input_(*node.inputs[0]), output_(node.output()), rows_(std::move(rows)), columns_(std::move(columns)) {}

  void forward(const TapePass& /*pass*/) override {
    const int64_t channels = input_.dims[1];
    parallel_for(input_.dims[0] * output_.dims[2], [&](int64_t line) {
      float* y = output_.storage.data() + line * output_.dims[3] * channels;
      for (size_t w = 0; w < columns_.size(); ++w, y += channels) {
        const Corners at = corners(line, w);
        for (int64_t c = 0; c < channels; ++c) {
          float sum = 0;
          for (size_t k = 0; k < 4; ++k) sum += at.share[k] * input_.data[at.place[k] + c];
          y[c] = sum;
        }
      }
    });
  }

  void backward(const TapePass& pass) override {
    if (!input_.needs_gradient) return;
    GradientPlace place(input_, pass.pool);
    float* const dx = place.data();
    const int64_t channels = input_.dims[1];
    constexpr int64_t kChannels = 16;  // Pieces share no input.
    parallel_pieces(channels, kChannels, {}, [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < input_.size; i += channels) std::fill(dx + i + begin, dx + i + end, 0.0f);
      for (int64_t line = 0; line < input_.dims[0] * output_.dims[2]; ++line) {
        const float* dy = output_.gradient.data() + line * output_.dims[3] * channels;
        for (size_t w = 0; w < columns_.size(); ++w, dy += channels) {
          const Corners at = corners(line, w);
          for (size_t k = 0; k < 4; ++k)
            for (int64_t c = begin; c < end; ++c) dx[at.place[k] + c] += at.share[k] * dy[c];
        }
      }
    });
  }

 private:
  struct Corners {
    int64_t place[4];
    float share[4];
  };
  Corners corners(int64_t line, size_t column) const {
    const int64_t height = input_.dims[2], width = input_.dims[3];
    const int64_t image = line / output_.dims[2];
    const float y = rows_[static_cast<size_t>(line % output_.dims[2])], x = columns_[column];
    const int64_t y0 = std::clamp<int64_t>(static_cast<int64_t>(y), 0, height - 1), y1 = std::min(y0 + 1, height - 1);
    const int64_t x0 = std::clamp<int64_t>(static_cast<int64_t>(x), 0, width - 1), x1 = std::min(x0 + 1, width - 1);
    const float fy = y - static_cast<float>(y0), fx = x - static_cast<float>(x0);
    const auto at = [&](int64_t row, int64_t col) { return ((image * height + row) * width + col) * input_.dims[1]; };
    return {{at(y0, x0), at(y0, x1), at(y1, x0), at(y1, x1)},
            {(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx}};
  }

  TapeValue &input_, &output_;
  std::vector<float> rows_, columns_;
};

/// Evaluates the Resize on an image whose elements are their own coordinate along `axis` (2 or 3), which gives the
/// coordinate of each result: linear interpolation preserves lines.
Result<ir::Tensor> resized_coordinates(const TapeNode& node, size_t axis) {
  const ir::Shape& dims = node.inputs[0]->dims;
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::kFloat, dims);
  const auto values = tensor.mutable_data<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    values[i] = static_cast<float>(axis == 3 ? place % dims[3] : place / dims[3] % dims[2]);
  }
  std::vector<const ir::Tensor*> inputs = {&tensor};
  for (size_t i = 1; i < node.constants.size(); ++i)
    inputs.push_back(node.constants[i] ? &*node.constants[i] : nullptr);
  QQ_TRY(std::vector<ir::Tensor> made, exec::evaluate_node(node.graph, node.model.opsets, node.node.id, inputs));
  if (made.empty() || made[0].rank() != 4) return unsupported("is not computed");
  return std::move(made[0]);
}

TapeOpResult make_linear_resize(const TapeNode& node) {
  const ir::Shape& dims = node.inputs[0]->dims;
  const bool is_plain = node.node.int_or("antialias", 0) == 0 &&
                        node.node.string_or("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize";
  if (dims.size() != 4 || node.inputs[0]->size == 0 || !is_plain) return node.cannot("is a Resize of this kind");
  QQ_TRY(const ir::Tensor y, resized_coordinates(node, 2));
  QQ_TRY(const ir::Tensor x, resized_coordinates(node, 3));
  const ir::Shape& result = y.dims();
  if (result[0] != dims[0] || result[1] != dims[1]) return node.cannot("resizes batch or channels");
  std::vector<float> rows, columns;
  for (int64_t h = 0; h < result[2]; ++h) rows.push_back(y.data<float>()[static_cast<size_t>(h * result[3])]);
  for (int64_t w = 0; w < result[3]; ++w) columns.push_back(x.data<float>()[static_cast<size_t>(w)]);
  shape_output(node, result);
  return std::unique_ptr<TapeOp>(std::make_unique<LinearResizeOp>(node, std::move(rows), std::move(columns)));
}

}  // namespace

TapeOpResult make_move_op(const TapeNode& node) { return make_move<int64_t>(node); }

TapeOpResult make_resize_op(const TapeNode& node) {
  if (node.inputs.empty() || node.inputs[0] == nullptr) return node.cannot("reads a constant");
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i] != nullptr) return node.cannot("has a computed size");
  const std::string mode = node.node.string_or("mode", "nearest");
  if (mode == "linear") return make_linear_resize(node);
  if (mode != "nearest" || node.inputs[0]->size >= kMostFloats) return node.cannot("is a Resize of this kind");
  return make_move<float>(node);
}

std::unique_ptr<TapeOp> make_layout_op(TapeValue& from, TapeValue& to) {
  auto op = std::make_unique<MoveOp>(std::vector<Source>{{&from, {}, 1, from.size}}, std::vector<TapeValue*>{&to});
  const ir::Tensor plain = numbered<int64_t>(from.dims, from.channels_last, 1);
  const ir::Tensor stored = exec::in_layout(plain, layout_of(to.channels_last));
  QQ_CHECK(op->set(0, stored.data<int64_t>()).ok());
  op->finish();
  return op;
}

}  // namespace quarkq::planning::finetune
