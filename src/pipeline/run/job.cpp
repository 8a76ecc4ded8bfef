// SPDX-License-Identifier: MIT
#include "pipeline/run/job.h"

#include <algorithm>

#include "base/file_system.h"
#include "base/isa.h"
#include "base/paths.h"
#include "calib/data_reader.h"
#include "calib/sample_readers.h"
#include "config/named_files.h"
#include "config/print.h"
#include "config/resolve.h"
#include "ir/check_graph.h"
#include "ir/dump.h"
#include "ir/edit.h"
#include "ir/tensor_store.h"
#include "onnx_io/check_model.h"
#include "onnx_io/infer.h"
#include "onnx_io/load.h"
#include "pass/output_guard.h"
#include "pipeline/run/conversions.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/model_interface.h"
#include "pipeline/run/use_backend.h"
#include "qdq/import/lift.h"
#include "quarkq/status.h"

namespace quarkq::pipeline {

namespace {

void add_weights(const ir::Graph& graph, ContentHash& hash) {
  for (const ir::ValueId id : graph.initializers()) {
    const ir::Tensor& tensor = *graph.value(id).constant;
    hash.add(graph.value(id).name);
    if (tensor.type() != ElementType::kString) hash.add(tensor.raw(), static_cast<size_t>(tensor.bytes()));
  }
}

/// Models of this size and more are handled so that weights stay on disk; below, memory is not what a run lacks.
constexpr uint64_t kLargeModel = uint64_t{256} << 20;
constexpr size_t kResidentWeights = size_t{128} << 20;  // enough for the largest tensor of most models

/// What is computed from weights goes to a temporary file beside the model, or where temporary files belong.
std::shared_ptr<SpillFile> make_spill_file(const std::string& path) {
  for (const std::string& place : {paths::folder_of(paths::absolute(path)), paths::temporary_folder()}) {
    Result<std::shared_ptr<SpillFile>> made = SpillFile::create(place);
    if (made.ok()) return std::move(made).value();
  }
  return nullptr;
}

void limit_residency(const ModelFile& source, ir::Model& model) {
  std::shared_ptr<SpillFile> file = source.stays_in_memory ? nullptr : make_spill_file(source.path);
  ir::GraphEdit(model.graph).set_weight_store(std::make_shared<ir::WeightStore>(std::move(file), kResidentWeights));
}

/// Settings of places and speed do not change statistics.
bool matters(const std::string& name) {
  constexpr const char* kPlaces[] = {"calibration",   "evaluation",       "preprocess",  "quarkq",         "tmp_dir",
                                     "TmpDir",        "SaveAndRestore",   "EvalMetrics", "EvalDataReader", "debug_mode",
                                     "print_summary", "TensorsRangeFile", "crypto_mode", "target"};
  const std::string block = name.substr(0, name.find('.'));
  return std::none_of(std::begin(kPlaces), std::end(kPlaces), [&](const char* place) { return block == place; });
}

/// 0: no limit.
size_t sample_limit(const config::Settings& settings) {
  return static_cast<size_t>(std::max<int64_t>(0, settings.ranges.calib_data_size.value_or(0)));
}

/// Of settings as they were asked for, or as they were resolved.
template <typename AnySettings>
Result<calib::DataOptions> options_of(const AnySettings& settings) {
  calib::DataOptions options;
  options.kind = settings.calibration.reader.value_or("");
  QQ_TRY(options.raw, config::read_raw_formats(settings.calibration.raw));
  if (!settings.preprocess.is_null()) {
    QQ_TRY(options.preprocess, config::read_preprocess(settings.preprocess));
  }
  return options;
}

}  // namespace

Result<ir::Model> load_model(const ModelFile& file, onnx_io::LoadReport* report) {
  if (file.is_in_memory()) return onnx_io::load_bytes(**file.bytes, file.path, report);
  onnx_io::LoadReport own;
  onnx_io::LoadReport& told = report == nullptr ? own : *report;
  QQ_TRY(ir::Model model, onnx_io::load(file.path, &told));
  if (file_size(file.path) + told.external_bytes >= kLargeModel) limit_residency(file, model);
  return model;
}

Status add_file(const ModelFile& file, ContentHash& hash) {
  if (file.is_in_memory()) {
    hash.add((*file.bytes)->data(), (*file.bytes)->size());
    return Status();
  }
  QQ_TRY(const auto mapped, MappedFile::open(file.path));
  hash.add(mapped->data(), mapped->size());
  return Status();
}

Result<Job> open_job(const ModelFile& given, const AskedSettings& request, exec::Environment environment,
                     Diagnostics& diagnostics) {
  const std::string& model_path = given.path;
  QQ_TRY(const config::QuantConfig asked, config::load_config(request.config, request.sets));
  ModelFile file = given;
  file.stays_in_memory = config::asks_crypto(asked);
  onnx_io::LoadReport loaded;
  QQ_TRY(ir::Model model, load_whole(file, loaded));
  diagnostics.add(loaded.findings);
  QQ_RETURN_IF_ERROR(onnx_io::check_model(model).context(model_path));
  if (file.requantizes) {
    QQ_TRY(model, qdq::strip(model).context(model_path));
  }
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, diagnostics));
  QQ_RETURN_IF_ERROR(use_user_operators(asked, environment));
  QQ_RETURN_IF_ERROR(use_backend(asked, environment));
  QQ_RETURN_IF_ERROR(type_user_operators(model, environment, diagnostics).context(model_path));
  QQ_RETURN_IF_ERROR(ir::check_attributes(model.graph, model.opsets).context(model_path));  // ranks are known now
  QQ_TRY(const config::PassList passes, config::asked_pass_list(asked));
  QQ_RETURN_IF_ERROR(run_listed(passes.before, {model, environment, diagnostics}).context(model_path));
  QQ_TRY(config::Settings settings, config::resolve(asked, model_facts(model), diagnostics));
  config::validate(settings, config::Asked::kByUser, diagnostics);
  config::LegalizeBlock pinned = settings.legalize;
  if (settings.is_of_default_target("legalize.batch")) pinned.batch.reset();  // pin_default_batch()
  std::optional<ir::Model> unpinned;
  if (pinned.batch == 1) unpinned = model;
  QQ_RETURN_IF_ERROR(pin_shapes(model, pinned, diagnostics).context(model_path));
  if (unpinned) take_batch_of_one(model, environment, diagnostics);
  const uint64_t bytes = file.is_in_memory() ? (*file.bytes)->size() : file_size(model_path) + loaded.external_bytes;
  QQ_TRY(CutTailPtr tail, cut_tail(model, settings, diagnostics));
  return Job{std::move(model), std::move(settings), std::move(environment), bytes,
             file.requantizes, std::move(tail),     std::move(unpinned)};
}

void take_batch_of_one(ir::Model& model, const exec::Environment& environment, Diagnostics& diagnostics) {
  const std::optional<int64_t> batch = pass::batch_above_one(model.graph);
  if (!batch) return;
  Result<ir::Model> single = pass::with_batch_of_one(model, environment);
  if (!single.ok()) {
    diagnostics.add("batch-kept", cat("batch of ", *batch), single.status().message());
    return;
  }
  model = std::move(single).value();
  diagnostics.add("shape-set", cat("batch of ", *batch), "becomes 1, call the result once for each row");
}

void begin(RunState& state, const Job& job) {
  state.model = job.model;
  state.settings = job.settings;
  state.environment = job.environment;
  state.tail = judged_tail(job.tail, job.model.graph);
}

Status check_is_float(const std::string& model_path, const Job& job, Diagnostics& diagnostics) {
  std::vector<std::string> found;
  for (const auto& [op, count] : count_quantizing_ops(job.model.graph)) found.push_back(cat(count, " ", op));
  if (found.empty()) return Status();
  const char* what = job.is_requantized ? "cannot be made float by --requantize, unsupported are "
                                        : "is quantized already, it contains ";
  const std::string text =
      cat(what, join(found, ", "), "; give the float model from which it was made",
          job.is_requantized ? "" : ", or pass --requantize to remove its Q/DQ nodes and quantize it again");
  if (job.settings.quirk(config::Quirk::kRefuseQuantized)) return unsupported(model_path, ": ", text);
  diagnostics.add("already-quantized", model_path, text);
  return Status();
}

Result<config::QuantConfig> load_sample_settings(const AskedSettings& request, exec::Environment& environment) {
  std::vector<std::string> all = request.sets;
  if (!config::selects_mode(request.config, request.sets)) all.emplace_back("quant_config={}");
  QQ_TRY(config::QuantConfig asked, config::load_config(request.config, all));
  QQ_RETURN_IF_ERROR(use_backend(asked, environment));
  QQ_RETURN_IF_ERROR(use_user_operators(asked, environment));
  if (config::is_of_default_target(asked, "legalize.batch")) asked.legalize.batch.reset();
  return asked;
}

Result<calib::DataOptions> data_options(const config::QuantConfig& asked) { return options_of(asked); }

Result<calib::DataOptions> data_options(const config::Settings& settings) { return options_of(settings); }

Result<std::unique_ptr<calib::DataReader>> open_samples(const std::string& folder, const config::Settings& settings,
                                                        const ir::Graph& graph) {
  const config::CalibrationBlock& block = settings.calibration;
  QQ_TRY(calib::DataOptions options, data_options(settings));
  options.folder = !folder.empty() ? folder : block.dir.value_or("");
  options.list_file = options.folder.empty() ? block.list.value_or("") : "";
  options.limit = sample_limit(settings);
  if (!options.folder.empty() || !options.list_file.empty()) {
    return calib::refuse_empty(calib::open_data(options, calib::input_specs(graph)));
  }
  if (!settings.ranges.use_random_data) return std::unique_ptr<calib::DataReader>();
  QQ_TRY(const calib::RandomDataOptions random, config::read_random_data_settings(settings));
  return calib::make_random_reader(calib::input_specs(graph), random);
}

Result<std::unique_ptr<calib::DataReader>> open_samples(const SampleSource& source, const std::string& folder,
                                                        const Job& job) {
  if (!source) return open_samples(folder, job.settings, job.model.graph);
  calib::DataOptions options;
  options.folder = folder;
  options.limit = sample_limit(job.settings);
  return calib::refuse_empty(open_samples(source, options, job.model.graph));
}

Result<std::unique_ptr<calib::DataReader>> open_samples(const SampleSource& source, const calib::DataOptions& options,
                                                        const ir::Graph& graph) {
  if (!source) return calib::open_data(options, calib::input_specs(graph));
  if (!options.folder.empty())
    return invalid_argument("samples: found both a folder and a source in memory, pass only one of them");
  return calib::open_source(calib::input_specs(graph), source, options.limit);
}

namespace {

bool has_note(const calib::DataReader& samples, std::string_view id) {
  return std::ranges::any_of(samples.notes(), [&](const calib::DataNote& note) { return note.id.row().id == id; });
}

}  // namespace

Status pin_default_batch(Job& job, const SampleSource& source, const std::string& folder, Diagnostics& diagnostics) {
  if (!job.settings.is_of_default_target("legalize.batch")) return Status();
  config::LegalizeBlock batch;
  batch.batch = job.settings.legalize.batch;
  ir::Model pinned = job.model;
  Diagnostics notes;
  QQ_RETURN_IF_ERROR(pin_shapes(pinned, batch, notes));
  if (source || !is_random_data(source, folder, job.settings)) {
    const ir::Model whole = std::exchange(job.model, pinned);
    const Result<std::unique_ptr<calib::DataReader>> samples = open_samples(source, folder, job);
    const bool fits = samples.ok() && (samples.value() == nullptr ||
                                       (samples.value()->read(0).ok() && !has_note(*samples.value(), "samples-split")));
    if (!fits) {
      job.model = whole;
      return Status();
    }
  }
  job.model = std::move(pinned);
  diagnostics.add(notes);
  return Status();
}

namespace {

bool has_static_inputs(const ir::Graph& graph) {
  return std::ranges::all_of(graph.required_inputs(), [&](ir::ValueId id) { return graph.value(id).type.is_static(); });
}

/// Adds the shapes of the sample, by input. Fails if an earlier sample has another shape.
Status add_shapes(const calib::Sample& sample, const ir::Graph& graph, config::LegalizeBlock& fixed) {
  const std::vector<ir::ValueId> inputs = graph.required_inputs();
  for (size_t i = 0; i < std::min(inputs.size(), sample.inputs.size()); ++i) {
    const ir::Value& input = graph.value(inputs[i]);
    const ir::Shape& dims = sample.inputs[i].dims();
    if (input.type.is_static()) continue;
    const auto [earlier, is_new] = fixed.shapes.emplace(input.name, dims);
    if (is_new || earlier->second == dims) continue;
    return invalid_argument("input ", input.name, ": the samples have the shapes ", join(earlier->second, ","), " and ",
                            join(dims, ","), " (", sample.name, "), the target requires one; pass --shape ", input.name,
                            "=", join(earlier->second, ","), " and samples of that shape");
  }
  return Status();
}

}  // namespace

Status pin_sample_shapes(Job& job, const SampleSource& source, const std::string& folder, Diagnostics& diagnostics) {
  if (!job.settings.takes_sample_shapes() || has_static_inputs(job.model.graph)) return Status();
  if (is_random_data(source, folder, job.settings)) return Status();
  QQ_TRY(const auto samples, open_samples(source, folder, job));
  config::LegalizeBlock fixed;
  for (size_t i = 0; samples != nullptr && i < samples->size(); ++i) {
    QQ_TRY(const calib::Sample sample, samples->read(i));
    const Status added = add_shapes(sample, job.model.graph, fixed);
    const bool is_default = job.settings.is_of_default_target("legalize.shapes_of_samples");
    const bool has_batch = !sample.inputs.empty() && sample.inputs[0].rank() > 0 && sample.inputs[0].dims()[0] != 1;
    if (is_default && (!added.ok() || has_batch)) return Status();  // a default makes no run fail
    QQ_RETURN_IF_ERROR(added);
  }
  return pin_shapes(job.model, fixed, diagnostics);
}

Status check_cut_rows(const ir::Model& model, const calib::DataReader& samples, const exec::Environment& environment) {
  if (!has_note(samples, "samples-split") || pass::batch_above_one(model.graph)) return Status();
  config::LegalizeBlock two;
  two.batch = 2;
  ir::Model pair = model;
  Diagnostics notes;
  QQ_RETURN_IF_ERROR(pin_shapes(pair, two, notes));
  if (!pass::batch_above_one(pair.graph)) return Status();
  const Result<ir::Model> single = pass::with_batch_of_one(pair, environment);
  if (single.ok()) return Status();
  return bad_data("the samples have several rows, and the target computes one at a time, but ",
                  single.status().message(), "; pass samples of one row, or --target none to keep the batch");
}

void report_notes(const calib::DataReader& samples, Diagnostics& diagnostics) {
  for (const calib::DataNote& note : samples.notes()) diagnostics.add(note.id, note.subject, note.text);
}

bool is_random_data(const SampleSource& source, const std::string& folder, const config::Settings& settings) {
  const config::CalibrationBlock& block = settings.calibration;
  return !source && folder.empty() && !block.dir && !block.list && settings.ranges.use_random_data;
}

Result<calib::StatisticsOrigin> statistics_origin(const ModelFile& file, const ir::Model& original,
                                                  const ir::Model& prepared, const config::Settings& settings,
                                                  uint64_t samples) {
  calib::StatisticsOrigin origin;
  origin.version = version();
  origin.isa = {std::string(isa_name(isa()))};
  origin.samples = samples;
  origin.preprocess = config::to_flow(settings.preprocess);
  ContentHash model, graph;
  QQ_RETURN_IF_ERROR(add_file(file, model));
  add_weights(original.graph, model);
  origin.model = model.text();
  graph.add(ir::dump(prepared, {.values = true, .rests = true}));
  add_weights(prepared.graph, graph);
  origin.graph = graph.text();
  for (const config::SettingLine& line : config::whole_settings(settings)) {
    if (line.origin != config::Origin::kDefault && matters(line.name)) {
      origin.settings[line.name] = config::to_flow(line.value);
    }
  }
  // Of the block "quarkq" the one that changes statistics, in their last bits.
  if (settings.tool.backend) origin.settings["quarkq.backend"] = *settings.tool.backend;
  return origin;
}

}  // namespace quarkq::pipeline
