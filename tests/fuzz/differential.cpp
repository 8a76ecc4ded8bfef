// SPDX-License-Identifier: MIT
#include "fuzz/differential.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "calib/statistics_set.h"
#include "exec/environment.h"
#include "fuzz/model_inputs.h"
#include "ir/dump.h"
#include "numeric/linear_quant.h"
#include "onnx_io/load.h"
#include "onnx_io/save.h"
#include "pipeline/run/pass_runner.h"

namespace quarkq::fuzz {
namespace {

/// Takes values from the front of the bytes; zeros when there are no more.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  template <typename T>
  T take() {
    T value{};
    const size_t count = std::min(sizeof value, size_);
    if (count > 0) std::memcpy(&value, data_, count);
    data_ += count;
    size_ -= count;
    return value;
  }
  std::vector<float> floats(size_t most) {
    std::vector<float> values(std::min(most, size_ / sizeof(float)));
    for (float& value : values) value = take<float>();
    return values;
  }
  size_t left() const { return size_; }

 private:
  const uint8_t* data_;
  size_t size_;
};

// ---- loops ----------------------------------------------------------------------------------------------------------

/// The quantizing and dequantizing loops of one type on one instruction set.
template <typename Q>
struct Loops {
  void (*fake)(const float*, float*, int64_t, const numeric::LinearParams&);
  void (*quantize)(const float*, Q*, int64_t, const numeric::LinearParams&);
  void (*dequantize)(const Q*, float*, int64_t, float, int32_t);
};

template <typename Q>
void check_loops(const Loops<Q>& loops, const std::vector<float>& x, const numeric::LinearParams& params) {
  const auto count = static_cast<int64_t>(x.size());
  std::vector<float> fake(x.size()), back(x.size());
  std::vector<Q> codes(x.size());
  loops.fake(x.data(), fake.data(), count, params);
  loops.quantize(x.data(), codes.data(), count, params);
  loops.dequantize(codes.data(), back.data(), count, params.scale, static_cast<int32_t>(params.zero_point));
  for (size_t i = 0; i < x.size(); ++i) {
    QQ_CHECK(codes[i] == numeric::quantize(x[i], params));
    const auto wanted = std::bit_cast<uint32_t>(numeric::dequantize(codes[i], params));
    QQ_CHECK(std::bit_cast<uint32_t>(back[i]) == wanted && std::bit_cast<uint32_t>(fake[i]) == wanted);
  }
}

#define QQ_LOOPS(isa, suffix) \
  { numeric::isa::fake_quantize, numeric::isa::quantize_to_##suffix, numeric::isa::dequantize_##suffix }
#define QQ_CHECK_TYPE(type, suffix)                                                    \
  do {                                                                                 \
    check_loops<type>(QQ_LOOPS(sse41, suffix), x, params);                             \
    if (isa() >= Isa::kAvx2) check_loops<type>(QQ_LOOPS(avx2, suffix), x, params);     \
    if (isa() >= Isa::kAvx512) check_loops<type>(QQ_LOOPS(avx512, suffix), x, params); \
  } while (false)

constexpr ElementType kTypes[] = {ElementType::kInt8, ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16,
                                  ElementType::kInt32};

// ---- models ---------------------------------------------------------------------------------------------------------

/// Results of the model; nothing when it is refused.
std::optional<std::vector<ir::Operand>> results_of(const ir::Model& model, const std::vector<ir::Operand>& inputs,
                                                   int threads) {
  exec::set_threads(threads);
  auto found = run_limited(model, inputs);
  exec::set_threads(1);
  return found;
}

bool have_same_bits(const ir::Operand& a, const ir::Operand& b) {
  if (a.kind != b.kind || a.sequence.size() != b.sequence.size()) return false;
  for (size_t i = 0; i < a.sequence.size(); ++i) {
    if (!a.sequence[i].same_as(b.sequence[i])) return false;
  }
  return !a.is_tensor() || a.tensor.same_as(b.tensor);
}

}  // namespace

void run_quantize_loops(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  const ElementType type = kTypes[bytes.take<uint8_t>() % std::size(kTypes)];
  const uint8_t forms = bytes.take<uint8_t>();
  numeric::LinearParams params;
  params.overflow = forms % 2 == 0 ? numeric::Overflow::kLowest : numeric::Overflow::kSaturate;
  const float scale = std::fabs(bytes.take<float>());
  params.scale = std::isfinite(scale) && scale > 0 ? scale : 0.1f;
  params.range =
      numeric::integer_range(type, forms % 4 < 2 ? numeric::RangeKind::kFull : numeric::RangeKind::kSymmetric);
  const auto width = static_cast<uint64_t>(params.range.max - params.range.min) + 1;
  params.zero_point = params.range.min + static_cast<int64_t>(bytes.take<uint32_t>() % width);
  std::vector<float> x = bytes.floats(4096);
  const size_t drawn = x.size();
  for (size_t i = 0; i < drawn; ++i) x.push_back((std::floor(x[i]) + 0.5f) * params.scale);  // ties
  switch (type) {
    case ElementType::kInt8: QQ_CHECK_TYPE(int8_t, i8); return;
    case ElementType::kUInt8: QQ_CHECK_TYPE(uint8_t, u8); return;
    case ElementType::kInt16: QQ_CHECK_TYPE(int16_t, i16); return;
    case ElementType::kUInt16: QQ_CHECK_TYPE(uint16_t, u16); return;
    default: QQ_CHECK_TYPE(int32_t, i32);
  }
}

std::vector<std::string> quantize_loop_seeds() {
  std::vector<std::string> seeds;
  for (size_t type = 0; type < std::size(kTypes); ++type) {
    for (const float scale : {0.1f, 0.0078125f, 17.3f, 1e-30f}) {
      std::string seed = {static_cast<char>(type), static_cast<char>(type)};
      seed.append(reinterpret_cast<const char*>(&scale), sizeof scale).append(4, '\x05');
      for (int i = -40; i < 40; ++i) {
        const float value = static_cast<float>(i) * 3.7f * scale;
        seed.append(reinterpret_cast<const char*>(&value), sizeof value);
      }
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

void run_merged_statistics(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  const auto parts = static_cast<size_t>(bytes.take<uint8_t>() % 3 + 2);
  const uint64_t shares = bytes.take<uint64_t>();
  const bool with_bins = bytes.take<uint8_t>() % 4 != 0;
  const auto set_of = [&] {
    calib::StatisticsSet set;
    set.origin.samples = 64;
    set.origin.isa = {"avx2"};
    set.with_bins = with_bins;
    set.tensors.emplace("x", calib::ValueStatistics(with_bins));
    return set;
  };
  calib::StatisticsSet whole = set_of();
  std::vector<calib::StatisticsSet> shared(parts, set_of());
  for (uint64_t sample = 0; sample < 64 && bytes.left() >= sizeof(float); ++sample) {
    const std::vector<float> values = bytes.floats(bytes.take<uint8_t>() % 40 + 1);
    calib::StatisticsSet& part = shared[(shares >> sample) % parts];
    for (calib::StatisticsSet* set : {&whole, &part}) {
      set->tensors.at("x").add(values.data(), static_cast<int64_t>(values.size()), sample);
      set->samples[sample] = cat("s", sample);
    }
  }
  calib::StatisticsSet merged = std::move(shared.back());
  for (size_t i = 0; i + 1 < parts; ++i) {
    const std::string file = calib::encode_statistics(shared[i]);
    Result<calib::StatisticsSet> read =
        calib::parse_statistics(reinterpret_cast<const std::byte*>(file.data()), file.size(), "part");
    QQ_CHECK(read.ok() && calib::merge_statistics(merged, std::move(read).value(), "part", false).ok());
  }
  QQ_CHECK(calib::encode_statistics(merged) == calib::encode_statistics(whole));
}

std::vector<std::string> merged_statistics_seeds() {
  std::string seed("\x01\x5A\xA5\x11\x22\x33\x44\x55\x66\x01", 10);
  for (int i = -300; i < 300; ++i) {
    const float value = std::ldexp(static_cast<float>(i), i % 40);
    seed.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return {seed, std::string("\0", 1) + seed};
}

void run_save_load(const uint8_t* data, size_t size) {
  const Result<ir::Model> model = onnx_io::load_bytes({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!model.ok()) return;
  const std::string saved = onnx_io::to_bytes(model.value());
  const Result<ir::Model> again = onnx_io::load_bytes(saved, "saved");
  QQ_CHECK(again.ok());
  QQ_CHECK(ir::dump(again.value()) == ir::dump(model.value()));
  QQ_CHECK(onnx_io::to_bytes(again.value()) == saved);
}

void run_threads(const uint8_t* data, size_t size) {
  Result<ir::Model> model = onnx_io::load_bytes({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!model.ok()) return;
  for (const ir::NodeId id : model.value().graph.order()) {
    const ir::Node& node = model.value().graph.node(id);
    if (node.op.starts_with("Random") || node.op == "Multinomial" || node.op == "Bernoulli") return;
  }
  Diagnostics ignored;
  if (!pipeline::prepare_for_run(model.value(), ignored).ok()) return;
  const auto inputs = make_inputs(model.value());
  if (!inputs) return;
  const auto one = results_of(model.value(), *inputs, 1), three = results_of(model.value(), *inputs, 3);
  QQ_CHECK(one.has_value() == three.has_value());
  for (size_t i = 0; one && i < one->size(); ++i) QQ_CHECK(have_same_bits((*one)[i], (*three)[i]));
}

}  // namespace quarkq::fuzz
