// SPDX-License-Identifier: MIT
#include "pipeline/report/details.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "calib/sample_run.h"
#include "config/print.h"
#include "ir/constants.h"
#include "pipeline/report/json.h"
#include "pipeline/run/facts.h"

namespace quarkq::pipeline {

namespace {

std::string outcome_of(const plan::QuantPlan& plan, ir::ValueId value) {
  const plan::QuantSlot* slot = plan.find(value);
  if (slot == nullptr) return "float";
  if (slot->state == plan::SlotState::kAbsorbed) return "absorbed";
  return cat(role_name(slot->role), " ", stage_name(slot->stage));
}

/// A tensor with several readers is decided about several times.
void add_step(const ir::Graph& graph, const plan::Decision& decision, ExplainedTensor& tensor) {
  std::string text = plan::text(decision, graph);
  const bool is_known =
      std::any_of(tensor.steps.begin(), tensor.steps.end(), [&](const ExplainStep& step) { return step.text == text; });
  if (!is_known) tensor.steps.push_back({plan::rule_name(decision.kind), std::move(text)});
}

bool is_in(const ir::Graph& graph, ir::ValueId value) {
  return static_cast<size_t>(value.index) < graph.value_count() && graph.is_alive(value);
}

/// Nodes that phase restructure made are not in earlier graphs.
bool is_known(const ir::Graph& graph, const plan::Decision& decision) {
  const bool has_node = !decision.node.valid() || static_cast<size_t>(decision.node.index) < graph.node_count();
  return is_in(graph, decision.value) && has_node && (!decision.other.valid() || is_in(graph, decision.other));
}

}  // namespace

ExplainedTensor explain_value(const ir::Graph& graph, const plan::QuantPlan& plan, ir::ValueId value) {
  ExplainedTensor tensor{graph.value(value).name, outcome_of(plan, value), {}};
  for (const plan::Decision& decision : plan.decisions) {
    if (decision.value == value && is_known(graph, decision)) add_step(graph, decision, tensor);
  }
  return tensor;
}

std::vector<ExplainedTensor> explain_all(const ir::Graph& graph, const plan::QuantPlan& plan) {
  std::map<ir::ValueId, ExplainedTensor> tensors;
  for (const plan::Decision& decision : plan.decisions) {
    if (!is_known(graph, decision)) continue;
    const auto [place, is_new] = tensors.try_emplace(decision.value);
    if (is_new) place->second = {graph.value(decision.value).name, outcome_of(plan, decision.value), {}};
    add_step(graph, decision, place->second);
  }
  std::vector<ExplainedTensor> all;
  for (auto& [value, tensor] : tensors) all.push_back(std::move(tensor));
  return all;
}

Json explained_json(const std::vector<ExplainedTensor>& tensors) {
  Json rows = Json::array();
  for (const ExplainedTensor& tensor : tensors) {
    Json steps = Json::array();
    for (const ExplainStep& step : tensor.steps) steps.push_back({{"rule", step.rule}, {"text", step.text}});
    rows.push_back({{"name", tensor.name}, {"outcome", tensor.outcome}, {"steps", std::move(steps)}});
  }
  return rows;
}

namespace {

constexpr size_t kMostPictures = 3;  // of one output
constexpr size_t kLeastSide = 16;    // smaller ones are feature maps
constexpr size_t kMostSide = 96;     // pixels of the longer side that are kept

/// Where the pixels of an image tensor lie.
struct ImageLayout {
  size_t height = 0, width = 0, channels = 0;
  size_t row = 0, column = 0, channel = 0;  ///< steps, in elements
};

/// Of [1, C, H, W] or [1, H, W, C] with 1 or 3 channels.
std::optional<ImageLayout> image_layout(const ir::Shape& dims) {
  if (dims.size() != 4 || dims[0] < 1) return std::nullopt;
  const auto is_channels = [](int64_t dim) { return dim == 1 || dim == 3; };
  ImageLayout image;
  const auto side = [&](size_t axis) { return static_cast<size_t>(dims[axis]); };
  if (is_channels(dims[1])) {
    image = {side(2), side(3), side(1), side(3), 1, side(2) * side(3)};
  } else if (is_channels(dims[3])) {
    image = {side(1), side(2), side(3), side(2) * side(3), side(3), 1};
  }
  if (image.height < kLeastSide || image.width < kLeastSide) return std::nullopt;
  return image;
}

std::vector<uint8_t> pixels(const std::vector<double>& values, const ImageLayout& image, const OutputPicture& picture) {
  std::vector<uint8_t> bytes;
  bytes.reserve(picture.width * picture.height * picture.channels);
  const double span = std::max(picture.high - picture.low, 1e-30);
  for (size_t y = 0; y < picture.height; ++y) {
    for (size_t x = 0; x < picture.width; ++x) {
      for (size_t c = 0; c < picture.channels; ++c) {
        const size_t place = y * image.height / picture.height * image.row +
                             x * image.width / picture.width * image.column + c * image.channel;
        const double level = 255 * (values[place] - picture.low) / span;
        bytes.push_back(static_cast<uint8_t>(std::isfinite(level) ? std::clamp(level, 0.0, 255.0) : 0.0));
      }
    }
  }
  return bytes;
}

OutputPicture picture_of(const compare::SampleResult& result, const ImageLayout& image) {
  OutputPicture picture{result.sample, result.output, image.width, image.height, image.channels, 0, 0, {}, {}};
  const size_t longer = std::max(image.width, image.height);
  if (longer > kMostSide) {
    picture.width = std::max<size_t>(1, image.width * kMostSide / longer);
    picture.height = std::max<size_t>(1, image.height * kMostSide / longer);
  }
  const auto [low, high] = std::ranges::minmax(result.expected);
  picture.low = low;
  picture.high = high;
  picture.expected = pixels(result.expected, image, picture);
  picture.found = pixels(result.found, image, picture);
  return picture;
}

std::string hexadecimal(const std::vector<uint8_t>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

void add_sample(const compare::SampleResult& result, ReportDetails& details) {
  details.samples.push_back({result.sample, result.output, result.cosine});
  const auto known = std::ranges::count(details.pictures, result.output, &OutputPicture::output);
  const std::optional<ImageLayout> image = image_layout(result.dims);
  if (image && static_cast<size_t>(known) < kMostPictures) details.pictures.push_back(picture_of(result, *image));
}

Json samples_json(const std::vector<SampleAgreement>& samples) {
  Json rows = Json::array();
  for (const SampleAgreement& one : samples)
    rows.push_back({{"sample", one.sample}, {"output", one.output}, {"cosine", number(one.cosine)}});
  return rows;
}

Json pictures_json(const std::vector<OutputPicture>& pictures) {
  Json rows = Json::array();
  for (const OutputPicture& one : pictures) {
    rows.push_back({{"sample", one.sample},
                    {"output", one.output},
                    {"width", one.width},
                    {"height", one.height},
                    {"channels", one.channels},
                    {"low", number(one.low)},
                    {"high", number(one.high)},
                    {"float", hexadecimal(one.expected)},
                    {"quantized", hexadecimal(one.found)}});
  }
  return rows;
}

namespace {

constexpr size_t kBins = 48;

/// Extremes and counts of the finite values.
void count_values(std::span<const float> values, TensorProfile& profile) {
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const auto exact = static_cast<double>(value);
    profile.least = std::min(profile.least.value_or(exact), exact);
    profile.most = std::max(profile.most.value_or(exact), exact);
  }
  if (!profile.least) return;
  profile.counts.assign(kBins, 0);
  const double width = *profile.most - *profile.least;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double place = width > 0 ? (static_cast<double>(value) - *profile.least) / width : 0;
    ++profile.counts[std::min(kBins - 1, static_cast<size_t>(place * kBins))];
  }
}

/// What a format with one scale makes of values: how many lie outside of its range, and which integers they take.
void count_codes(std::span<const float> values, const plan::QuantPlan& plan, const plan::Stage& stage,
                 TensorProfile& profile) {
  if (!is_integer(stage.spec.type) || bits(stage.spec.type) > 16 || !stage.params.valid()) return;
  const plan::ParamList& params = plan.params[stage.params];
  if (params.size() != 1 || !(params[0].scale > 0) || values.empty()) return;
  const numeric::IntegerRange full = numeric::integer_range(stage.spec.type, numeric::RangeKind::kFull);
  std::vector<bool> taken(static_cast<size_t>(full.max - full.min + 1));
  size_t clipped = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double code = std::nearbyint(static_cast<double>(value) / static_cast<double>(params[0].scale)) +
                        static_cast<double>(params[0].zero_point);
    const auto least = static_cast<double>(full.min), most = static_cast<double>(full.max);
    if (code < least || code > most) ++clipped;
    taken[static_cast<size_t>(std::clamp(code, least, most) - least)] = true;
  }
  profile.clipped = static_cast<double>(clipped) / static_cast<double>(values.size());
  if (values.size() < taken.size()) return;  // too few values to take all integers
  profile.unused = static_cast<double>(std::ranges::count(taken, false)) / static_cast<double>(taken.size());
}

/// Profiles of activations, from an even part of each tensor's values.
class Profiler : public calib::SampleSink {
 public:
  explicit Profiler(const plan::QuantPlan& plan) : plan_(plan) {}

  Status observe(ir::ValueId tensor, uint64_t, std::span<const float> values) override {
    const std::vector<float> part = calib::thinned(values);
    TensorProfile& profile = profiles_[tensor];
    count_values(part, profile);
    if (const plan::QuantSlot* slot = plan_.find(tensor)) count_codes(part, plan_, slot->stage, profile);
    return Status();
  }
  void take(ir::ValueId tensor, TensorProfile& profile) const {
    const auto found = profiles_.find(tensor);
    if (found == profiles_.end()) return;
    profile.least = found->second.least;
    profile.most = found->second.most;
    profile.counts = found->second.counts;
    profile.clipped = found->second.clipped;
    profile.unused = found->second.unused;
  }

 private:
  const plan::QuantPlan& plan_;
  std::map<ir::ValueId, TensorProfile> profiles_;
};

/// False for what came after calibration.
bool is_known_value(const ir::Graph& graph, ir::ValueId id) {
  return static_cast<size_t>(id.index) < graph.value_count() && graph.is_alive(id);
}

Status listen_to_values(const ir::Model& model, const RunState& state, const calib::DataReader& data,
                        Profiler& profiler) {
  calib::SampleRunOptions options;
  for (const plan::QuantSlot& slot : state.plan.slots()) {
    if (!is_known_value(model.graph, slot.value)) continue;
    const ir::Value& value = model.graph.value(slot.value);
    const bool is_float = value.type.element == ElementType::kFloat || value.type.element == ElementType::kFloat16;
    if (!value.is_initializer() && is_float) options.tensors.push_back(slot.value);
  }
  options.samples = {0};
  options.allow_non_finite = true;
  return calib::SampleRun(model, data, state.environment, std::move(options)).pass(profiler);
}

void set_range(const plan::QuantPlan& plan, const plan::Stage& stage, TensorProfile& profile) {
  if (!is_integer(stage.spec.type) || !stage.params.valid()) return;
  const plan::ParamList& params = plan.params[stage.params];
  const numeric::IntegerRange full = numeric::integer_range(stage.spec.type, numeric::RangeKind::kFull);
  for (const numeric::QuantParams& one : params) {
    const double low = static_cast<double>(full.min - one.zero_point) * static_cast<double>(one.scale);
    const double high = static_cast<double>(full.max - one.zero_point) * static_cast<double>(one.scale);
    profile.low = std::min(profile.low.value_or(low), low);
    profile.high = std::max(profile.high.value_or(high), high);
  }
  profile.channels = std::max<size_t>(1, params.size());
}

Json number_or_null(std::optional<double> value) { return value ? number(*value) : Json(nullptr); }

/// Settings that are not the default, in the order of `config show`.
std::vector<SettingValue> settings_of(const config::Settings& settings) {
  std::vector<SettingValue> values;
  for (const config::SettingLine& line : config::setting_lines(settings)) {
    if (line.origin != config::Origin::kDefault)
      values.push_back({line.name, config::to_flow(line.value), config::origin_name(line.origin)});
  }
  return values;
}

Result<std::vector<TensorProfile>> profile_tensors(const RunState& state, const ir::Model& calibrated,
                                                   const calib::DataReader* data) {
  const plan::QuantPlan& plan = state.plan;
  Profiler profiler(plan);
  if (data != nullptr) QQ_RETURN_IF_ERROR(listen_to_values(calibrated, state, *data, profiler));
  std::vector<TensorProfile> profiles;
  for (const plan::QuantSlot& slot : plan.slots()) {
    if (slot.state == plan::SlotState::kAbsorbed || !is_known_value(calibrated.graph, slot.value)) continue;
    TensorProfile profile;
    profile.name = calibrated.graph.value(slot.value).name;
    profile.role = role_name(slot.role);
    profile.type = stage_name(slot.stage);
    set_range(plan, slot.stage, profile);
    if (const ir::Tensor* stored = ir::stored_floats(calibrated.graph, slot.value)) {
      QQ_TRY(const std::vector<double> exact, ir::to_double(*stored));
      const std::vector<float> values(exact.begin(), exact.end());
      count_values(values, profile);
      count_codes(values, plan, slot.stage, profile);
    }
    profiler.take(slot.value, profile);
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

}  // namespace

void add_details(RunState& state, const ir::Model& calibrated, const calib::DataReader* data, QuantizeReport& report) {
  ReportDetails& details = *report.details;
  const auto leave_out = [&](const char* what, const Status& why) {
    state.diagnostics.add("details-left-out", "", cat(what, " are not in the report: ", why.message()));
  };
  details.settings = settings_of(state.settings);
  Result<std::vector<TensorProfile>> profiles = profile_tensors(state, calibrated, data);
  if (!profiles.ok()) leave_out("values of tensors", profiles.status());
  if (profiles.ok()) details.profiles = std::move(profiles).value();
  details.decisions = explain_all(calibrated.graph, state.plan);
  if (!state.settings.traits().is_cnn_overlay || report.nothing_to_quantize) return;
  Result<CheckReport> limits = check_limits(state.model, report.output_path, kPositionLimits);
  if (!limits.ok()) leave_out("limits of the NPU", limits.status());
  if (limits.ok()) details.limits = std::move(limits).value();
}

Json details_json(const ReportDetails& details) {
  Json json = Json::object();
  json["settings"] = Json::array();
  for (const SettingValue& setting : details.settings)
    json["settings"].push_back({{"name", setting.name}, {"value", setting.value}, {"origin", setting.origin}});
  json["tensors"] = tensors_json(details.tensors);
  json["profiles"] = Json::array();
  for (const TensorProfile& profile : details.profiles) {
    Json row = {{"name", profile.name}, {"role", profile.role}, {"type", profile.type}};
    row["least"] = number_or_null(profile.least);
    row["most"] = number_or_null(profile.most);
    row["low"] = number_or_null(profile.low);
    row["high"] = number_or_null(profile.high);
    row["channels"] = profile.channels;
    row["counts"] = profile.counts;
    row["clipped"] = number_or_null(profile.clipped);
    row["unused"] = number_or_null(profile.unused);
    json["profiles"].push_back(std::move(row));
  }
  json["decisions"] = explained_json(details.decisions);
  json["samples"] = samples_json(details.samples);
  json["pictures"] = pictures_json(details.pictures);
  json["limits"] = details.limits ? limits_json(*details.limits) : Json(nullptr);
  return json;
}

}  // namespace quarkq::pipeline
