// SPDX-License-Identifier: MIT
// MaxPool and AveragePool of images on a tape.
#include <algorithm>
#include <limits>

#include "exec/compile.h"
#include "planning/tune/tape_op.h"

namespace quarkq::planning::finetune {
namespace {

constexpr int64_t kChannels = 16;  ///< Channels of one piece: windows overlap, channels do not.

/// Windows over an image with channels last; height and width are 1 where the image has fewer axes.
struct Windows {
  int64_t images = 1, channels = 1, height = 1, width = 1, rows = 1, columns = 1;
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, pad[2] = {0, 0}, pad_end[2] = {0, 0}, dilation[2] = {1, 1};

  /// Returns the index of the input's first channel, or -1 in the padding.
  int64_t at(int64_t image, int64_t row, int64_t column, int64_t k) const {
    const int64_t y = row * stride[0] - pad[0] + k / kernel[1] * dilation[0];
    const int64_t x = column * stride[1] - pad[1] + k % kernel[1] * dilation[1];
    if (y < 0 || y >= height || x < 0 || x >= width) return -1;
    return ((image * height + y) * width + x) * channels;
  }
  int64_t kernel_size() const { return kernel[0] * kernel[1]; }
  int64_t positions() const { return images * rows * columns; }

  /// Calls f(position, offset of its first channel, row, column of the window, image).
  template <typename F>
  void for_positions(const F& f) const {
    for (int64_t i = 0; i < positions(); ++i) f(i / (rows * columns), i / columns % rows, i % columns, i * channels);
  }
};

Result<Windows> windows_of(const TapeNode& node) {
  const TapeValue* const input = node.inputs.empty() ? nullptr : node.inputs[0];
  if (input == nullptr || input->size == 0 || !input->channels_last || input->dims.size() != 4)
    return node.cannot("is a pool of this kind");
  const ir::Node& n = node.node;
  if (n.string_or("auto_pad", "NOTSET") != "NOTSET") return node.cannot("has automatic padding");
  const std::vector<int64_t> kernel = n.ints_or("kernel_shape", {}), strides = n.ints_or("strides", {1, 1}),
                             pads = n.ints_or("pads", {0, 0, 0, 0}), dilations = n.ints_or("dilations", {1, 1});
  if (kernel.size() != 2 || strides.size() != 2 || pads.size() != 4 || dilations.size() != 2)
    return node.cannot("has attributes that do not fit an image");
  const ir::Tensor zeros = ir::Tensor::from<float>(input->dims, std::vector<float>(static_cast<size_t>(input->size)));
  QQ_TRY(const std::vector<ir::Tensor> made, exec::evaluate_node(node.graph, node.model.opsets, n.id, {&zeros}));
  if (made.empty() || made[0].rank() != 4) return node.cannot("is not computed");
  Windows w{input->dims[0], input->dims[1], input->dims[2], input->dims[3], made[0].dims()[2], made[0].dims()[3]};
  for (const size_t i : {size_t{0}, size_t{1}}) {
    w.kernel[i] = kernel[i];
    w.stride[i] = strides[i];
    w.pad[i] = pads[i];
    w.pad_end[i] = pads[i + 2];
    w.dilation[i] = dilations[i];
  }
  return w;
}

ir::Shape result_dims(const Windows& w) { return {w.images, w.channels, w.rows, w.columns}; }

/// Sets the gradient of channels [begin, end) to 0.
void clear(float* dx, const Windows& w, int64_t begin, int64_t end) {
  const int64_t size = w.images * w.height * w.width * w.channels;
  for (int64_t i = 0; i < size; i += w.channels) std::fill(dx + i + begin, dx + i + end, 0.0f);
}

class MaxPoolOp : public TapeOp {
 public:
  MaxPoolOp(const TapeNode& node, const Windows& windows)
      : input_(*node.inputs[0]), output_(node.output()), w_(windows) {}

  void forward(const TapePass& /*pass*/) override {
    float* const y = output_.storage.data();
    parallel_for(w_.images * w_.rows, [&](int64_t line) {
      for (int64_t column = 0; column < w_.columns; ++column) {
        float* const to = y + (line * w_.columns + column) * w_.channels;
        std::fill_n(to, w_.channels, -std::numeric_limits<float>::infinity());
        for (int64_t k = 0; k < w_.kernel_size(); ++k) {
          const int64_t from = w_.at(line / w_.rows, line % w_.rows, column, k);
          if (from < 0) continue;
          const float* const x = input_.data + from;
          for (int64_t c = 0; c < w_.channels; ++c) to[c] = x[c] > to[c] ? x[c] : to[c];
        }
      }
    });
  }

  /// The first greatest element of a window gets its gradient.
  void backward(const TapePass& pass) override {
    if (!input_.needs_gradient) return;
    GradientPlace place(input_, pass.pool);
    float* const dx = place.data();
    const float *const dy = output_.gradient.data(), *const y = output_.data;
    parallel_pieces(w_.channels, kChannels, {}, [&](int64_t begin, int64_t end) {
      clear(dx, w_, begin, end);
      float left[kChannels];
      w_.for_positions([&](int64_t image, int64_t row, int64_t column, int64_t at) {
        for (int64_t c = begin; c < end; ++c) left[c - begin] = dy[at + c];
        for (int64_t k = 0; k < w_.kernel_size(); ++k) {
          const int64_t from = w_.at(image, row, column, k);
          if (from < 0) continue;
          for (int64_t c = begin; c < end; ++c) {
            const bool is_greatest = input_.data[from + c] == y[at + c];
            dx[from + c] += is_greatest ? left[c - begin] : 0.0f;
            left[c - begin] = is_greatest ? 0.0f : left[c - begin];
          }
        }
      });
    });
  }

 private:
  TapeValue &input_, &output_;
  Windows w_;
};

class AveragePoolOp : public TapeOp {
 public:
  AveragePoolOp(const TapeNode& node, const Windows& windows, bool counts_padding)
      : input_(*node.inputs[0]), output_(node.output()), w_(windows), counts_padding_(counts_padding) {}

  void forward(const TapePass& /*pass*/) override {
    float* const y = output_.storage.data();
    parallel_for(w_.images * w_.rows, [&](int64_t line) {
      for (int64_t column = 0; column < w_.columns; ++column) {
        float* const to = y + (line * w_.columns + column) * w_.channels;
        std::fill_n(to, w_.channels, 0.0f);
        for (int64_t k = 0; k < w_.kernel_size(); ++k) {
          const int64_t from = w_.at(line / w_.rows, line % w_.rows, column, k);
          if (from < 0) continue;
          for (int64_t c = 0; c < w_.channels; ++c) to[c] += input_.data[from + c];
        }
        const float share = share_at(line % w_.rows, column);
        for (int64_t c = 0; c < w_.channels; ++c) to[c] *= share;
      }
    });
  }

  void backward(const TapePass& pass) override {
    if (!input_.needs_gradient) return;
    GradientPlace place(input_, pass.pool);
    float* const dx = place.data();
    const float* const dy = output_.gradient.data();
    parallel_pieces(w_.channels, kChannels, {}, [&](int64_t begin, int64_t end) {
      clear(dx, w_, begin, end);
      w_.for_positions([&](int64_t image, int64_t row, int64_t column, int64_t at) {
        const float share = share_at(row, column);
        for (int64_t k = 0; k < w_.kernel_size(); ++k) {
          const int64_t from = w_.at(image, row, column, k);
          if (from < 0) continue;
          for (int64_t c = begin; c < end; ++c) dx[from + c] += share * dy[at + c];
        }
      });
    });
  }

 private:
  /// Number of elements of the window along one axis.
  int64_t count_along(size_t axis, int64_t position, int64_t size) const {
    const int64_t low = counts_padding_ ? -w_.pad[axis] : 0, high = size + (counts_padding_ ? w_.pad_end[axis] : 0);
    int64_t count = 0;
    for (int64_t k = 0; k < w_.kernel[axis]; ++k) {
      const int64_t at = position * w_.stride[axis] - w_.pad[axis] + k * w_.dilation[axis];
      count += at >= low && at < high ? 1 : 0;
    }
    return count;
  }
  float share_at(int64_t row, int64_t column) const {
    const int64_t count = count_along(0, row, w_.height) * count_along(1, column, w_.width);
    return count > 0 ? 1 / static_cast<float>(count) : 0.0f;
  }

  TapeValue &input_, &output_;
  Windows w_;
  bool counts_padding_;
};

}  // namespace

TapeOpResult make_max_pool_op(const TapeNode& node) {
  if (node.outputs.size() > 1) return node.cannot("returns indices");
  QQ_TRY(const Windows windows, windows_of(node));
  shape_output(node, result_dims(windows));
  return std::unique_ptr<TapeOp>(std::make_unique<MaxPoolOp>(node, windows));
}

TapeOpResult make_average_pool_op(const TapeNode& node) {
  QQ_TRY(const Windows windows, windows_of(node));
  shape_output(node, result_dims(windows));
  return std::unique_ptr<TapeOp>(
      std::make_unique<AveragePoolOp>(node, windows, node.node.int_or("count_include_pad", 0) != 0));
}

}  // namespace quarkq::planning::finetune
