// SPDX-License-Identifier: MIT
// The reader of files, whatever their format: open_data().
#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/file_system.h"
#include "base/paths.h"
#include "calib/image/read_image.h"
#include "calib/npy.h"
#include "calib/reader/file_formats.h"
#include "calib/reader/fit_samples.h"
#include "calib/reader/sample_files.h"
#include "calib/sample_readers.h"

namespace quarkq::calib {

namespace {

/// One after the other along axis 0. `paths`: by tensor, for messages.
Result<ir::Tensor> stack(const std::vector<ir::Tensor>& tensors, const std::vector<std::string>& paths) {
  ir::Shape dims = tensors[0].dims();
  for (size_t i = 1; i < tensors.size(); ++i) {
    const ir::Shape& other = tensors[i].dims();
    if (dims.empty() || other.size() != dims.size() || !std::equal(other.begin() + 1, other.end(), dims.begin() + 1)) {
      return bad_data(paths[i], ": shape ", shape_text(other), " cannot be stacked into one batch with ",
                      shape_text(tensors[0].dims()), " of ", paths[0]);
    }
    dims[0] += other[0];
  }
  const Result<int64_t> count = ir::element_count(dims);
  if (!count.ok()) return bad_data(paths[0], ": ", count.status().message());
  ir::Tensor out = ir::Tensor::allocate(tensors[0].type(), dims);
  std::byte* to = out.mutable_raw();
  for (const ir::Tensor& tensor : tensors) {
    std::memcpy(to, tensor.raw(), static_cast<size_t>(tensor.bytes()));
    to += tensor.bytes();
  }
  return out;
}

class FileReader : public DataReader {
 public:
  FileReader(std::shared_ptr<const FileTree> tree, DataOptions options, std::vector<InputSpec> inputs,
             std::vector<SampleFiles> samples, std::vector<DataNote> notes)
      : tree_(std::move(tree)),
        options_(std::move(options)),
        inputs_(std::move(inputs)),
        samples_(std::move(samples)),
        notes_(std::move(notes)) {}

  size_t size() const override { return samples_.size(); }
  std::vector<DataNote> notes() const override { return notes_; }

  /// Looks at the headers of the files, so that a wrong one is found before the model is prepared. Files beyond
  /// kMostChecked bytes are checked when they are read.
  Status check_headers() const {
    constexpr size_t kMostChecked = size_t{256} << 20;
    size_t checked = 0;
    for (const SampleFiles& files : samples_) {
      for (size_t i = 0; i < inputs_.size(); ++i) {
        InputSpec single = inputs_[i];
        if (files.paths[i].size() > 1 && !single.dims.empty()) single.dims[0] = -1;
        for (const std::string& path : files.paths[i]) {
          const FileFormat* format = format_of(path, options_.kind);
          if (format->check == nullptr) continue;
          QQ_TRY(FileBytes bytes, tree_->open(path));
          checked += format->reads_all_to_check ? bytes.size : 0;
          if (checked > kMostChecked) return Status();
          QQ_RETURN_IF_ERROR(format->check({path, std::move(bytes), single, options_, inputs_.size() == 1}));
        }
      }
    }
    return Status();
  }

  Result<Sample> read(size_t index) const override {
    const SampleFiles& files = samples_[index];
    Sample sample;
    sample.name = files.name;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      QQ_TRY(ir::Tensor tensor, read_input(files.paths[i], inputs_[i]));
      sample.inputs.push_back(std::move(tensor));
      sample.files.push_back(files.paths[i][0]);
    }
    return sample;
  }

 private:
  Result<ir::Tensor> read_input(const std::vector<std::string>& paths, const InputSpec& input) const {
    if (paths.size() == 1) return read_file(paths[0], input);
    InputSpec single = input;  // a part of the batch
    if (!single.dims.empty()) single.dims[0] = -1;
    std::vector<ir::Tensor> parts;
    for (const std::string& path : paths) {
      QQ_TRY(ir::Tensor part, read_file(path, single));
      parts.push_back(std::move(part));
    }
    QQ_TRY(ir::Tensor whole, stack(parts, paths));
    Result<ir::Tensor> fitted = fit_to_input(std::move(whole), input, paths[0]);
    if (fitted.ok() || !options_.preprocess) return fitted;
    return Status(fitted.status().code(), fitted.status().message() + batch_hint(*options_.preprocess, input));
  }

  Result<ir::Tensor> read_file(const std::string& path, const InputSpec& input) const {
    const FileFormat* format = format_of(path, options_.kind);
    QQ_CHECK(format != nullptr);
    QQ_TRY(FileBytes bytes, tree_->open(path));
    QQ_TRY(ir::Tensor tensor, format->read({path, std::move(bytes), input, options_, inputs_.size() == 1}));
    return fit_to_input(std::move(tensor), input, path);
  }

  std::shared_ptr<const FileTree> tree_;
  DataOptions options_;
  std::vector<InputSpec> inputs_;
  std::vector<SampleFiles> samples_;
  std::vector<DataNote> notes_;
};

/// Fails if an input is not a tensor: sample files can only store tensors.
Status check_tensors(const std::vector<InputSpec>& inputs) {
  for (const InputSpec& input : inputs) {
    if (input.container.empty()) continue;
    return bad_data("input ", input.name, " is a", input.container == "optional" ? "n " : " ", input.container,
                    ", which sample files cannot store; use a preset that needs no samples, such as BF16, or cut the ",
                    "model so that this input is a tensor");
  }
  return Status();
}

/// Marks inputs that are spelt alike in file names, so that none is read for another.
void find_ambiguous(std::vector<InputSpec>& inputs) {
  std::map<std::string, int> uses;
  for (const InputSpec& input : inputs) {
    const std::string spelling = file_spelling(input.name);
    ++uses[spelling];
  }
  for (InputSpec& input : inputs) input.is_ambiguous = uses[file_spelling(input.name)] > 1;
}

/// Adds a note about photos of unsupported kinds next to supported ones.
void note_unreadable(const FileTree& tree, const DataOptions& options, std::vector<DataNote>& notes) {
  const std::string photos = unreadable_photos(tree, options.folder);
  if (photos.empty()) return;
  notes.push_back({"samples-left-out", options.folder,
                   cat(photos, " are left out, because quarkq reads .jpg, .png and .bmp; convert them to .png")});
}

Result<std::unique_ptr<DataReader>> open_files(std::shared_ptr<const FileTree> tree, const DataOptions& options,
                                               std::vector<InputSpec> inputs) {
  const bool has_list = !options.list_file.empty();
  QQ_TRY(std::vector<SampleFiles> singles,
         has_list ? read_list_file(options, inputs) : list_folder(*tree, options, inputs));
  QQ_RETURN_IF_ERROR(check_images(singles, options, inputs));
  std::vector<DataNote> notes;
  note_unused_recipe(singles, options, notes);
  if (!has_list) note_unreadable(*tree, options, notes);
  QQ_TRY(std::vector<SampleFiles> samples, stack_images(std::move(singles), options, inputs, notes));
  if (options.limit > 0 && samples.size() > options.limit) samples.resize(options.limit);
  auto reader =
      std::make_unique<FileReader>(std::move(tree), options, std::move(inputs), std::move(samples), std::move(notes));
  QQ_RETURN_IF_ERROR(reader->check_headers());
  return std::unique_ptr<DataReader>(std::move(reader));
}

/// Where texts are all that the folder holds.
std::string advice_for_texts(const FileTree& tree, const std::string& folder) {
  const Result<std::vector<std::string>> files = tree.files(folder);
  if (!files.ok()) return "";
  const auto is_sample = [](const std::string& name) { return format_of(name, "") != nullptr; };
  if (std::ranges::any_of(files.value(), is_sample)) return "";
  for (const std::string& name : files.value()) {
    if (std::string advice = tokenize_first(name); !advice.empty()) return advice;
  }
  return "";
}

}  // namespace

Result<std::unique_ptr<DataReader>> open_data(const DataOptions& options, std::vector<InputSpec> inputs) {
  const bool has_list = !options.list_file.empty();
  if (has_list && !options.folder.empty()) {
    return invalid_argument("calibration: found dir and list, allowed is only one of the two");
  }
  QQ_RETURN_IF_ERROR(check_kind(options.kind));
  QQ_RETURN_IF_ERROR(check_tensors(inputs));
  find_ambiguous(inputs);
  if (inputs.empty()) {
    return bad_data(has_list ? options.list_file : options.folder, ": the model has no inputs to feed");
  }
  std::shared_ptr<const FileTree> tree = disk_tree();
  const bool is_file = file_exists(options.folder), is_archive = is_file && is_tar_name(options.folder);
  if (is_archive) {
    QQ_TRY(tree, open_tar(options.folder));
  }
  const auto open = [&](std::vector<InputSpec> given) {
    if (is_file && !is_archive) return open_single_file(options, std::move(given));
    auto opened = open_or_cut(std::move(given), options.limit, [&](std::vector<InputSpec> fed, size_t limit) {
      DataOptions limited = options;
      limited.limit = limit;
      return open_files(tree, limited, std::move(fed));
    });
    const std::string advice = opened.ok() ? "" : advice_for_texts(*tree, options.folder);
    return advice.empty() ? std::move(opened) : bad_data(opened.status().message(), advice);
  };
  const std::optional<std::vector<TokenFill>> fills = has_list ? std::nullopt : token_fills(inputs);
  if (!fills || !holds_tokens_alone(*tree, options, inputs, *fills)) return open(std::move(inputs));
  const auto place = std::ranges::find(*fills, TokenFill::kTokens) - fills->begin();
  QQ_TRY(std::unique_ptr<DataReader> tokens, open({inputs[static_cast<size_t>(place)]}));
  return fill_from_tokens(std::move(tokens), std::move(inputs), *fills);
}

// One file as a data set: open_single_file().

namespace {

/// Rows of one array for one input. A plain .npy file stays where it is and is read row by row.
struct Rows {
  ir::Tensor array;
  int64_t each = 0;  ///< along axis 0 in a sample; 0: the array is one sample
  size_t count = 1;

  ir::Tensor at(size_t index) const { return each == 0 ? array : array.rows(static_cast<int64_t>(index) * each, each); }
};

/// A row of tokens that is longer than the input takes, as [windows, length]; what is left over is left out.
ir::Tensor in_windows(ir::Tensor array, const InputSpec& input) {
  const bool is_row = array.rank() == 1 && is_integer(array.type()) && is_integer(input.type);
  if (!is_row || !input.has_shape || input.dims.size() != 2 || input.dims[1] < 1) return array;
  const int64_t length = input.dims[1], batch = std::max<int64_t>(input.dims[0], 1);
  const int64_t windows = array.size() / length / batch * batch;
  if (windows < batch || array.size() == batch * length) return array;
  const std::byte* const data = array.raw();
  return ir::Tensor::adopt(array.type(), {windows, length}, std::make_shared<ir::Tensor>(array), data);
}

Result<Rows> rows_of(ir::Tensor array, const InputSpec& input, const std::string& path) {
  Rows rows{in_windows(std::move(array), input)};
  const ir::Shape& dims = rows.array.dims();
  if (!input.has_shape || dims.size() < 2 || dims.size() != input.dims.size()) return rows;
  const int64_t batch = input.dims[0] > 0 ? input.dims[0] : 1;
  if (dims[0] <= batch) return rows;
  if (dims[0] % batch != 0) {
    return bad_data(path, ": ", dims[0], " rows for input ", input.name, ", its batch of ", batch,
                    " needs a multiple of that");
  }
  rows.each = batch;
  rows.count = static_cast<size_t>(dims[0] / batch);
  return rows;
}

class RowReader : public DataReader {
 public:
  RowReader(std::string path, std::vector<InputSpec> inputs, std::vector<Rows> rows, size_t size)
      : path_(std::move(path)), inputs_(std::move(inputs)), rows_(std::move(rows)), size_(size) {}

  void note(DataNote found) { notes_.push_back(std::move(found)); }
  std::vector<DataNote> notes() const override { return notes_; }

  size_t size() const override { return size_; }

  Result<Sample> read(size_t index) const override {
    Sample sample;
    const bool is_one = rows_[0].count == 1;
    sample.name = is_one ? stem_of(path_) : cat(stem_of(path_), "_", index);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const std::string place = is_one ? path_ : cat(path_, " row ", index);
      QQ_TRY(ir::Tensor tensor, fit_to_input(rows_[i].at(index), inputs_[i], place));
      sample.inputs.push_back(std::move(tensor));
      sample.files.push_back(place);
    }
    return sample;
  }

 private:
  std::string path_;
  std::vector<InputSpec> inputs_;
  std::vector<Rows> rows_;
  size_t size_;
  std::vector<DataNote> notes_;
};

}  // namespace

Result<std::unique_ptr<DataReader>> open_single_file(const DataOptions& options, std::vector<InputSpec> inputs) {
  const std::string& path = options.folder;
  const FileFormat* format = format_of(paths::name_of(path), options.kind);
  if (format == nullptr) {
    return bad_data(path, ": not a sample file, allowed are a folder, ", suffixes_text(options.kind),
                    ", .tar, .tar.gz, .tgz; a list of files is given as calibration.list", tokenize_first(path));
  }
  if (inputs.size() > 1 && !format->has_all_inputs) {
    return bad_data(path, ": one file for ", inputs.size(), " inputs must be .npz");
  }
  QQ_RETURN_IF_ERROR(check_images({{"", {{path}}}}, options, {inputs[0]}));
  QQ_TRY(const FileBytes bytes, disk_tree()->open(path));
  std::vector<Rows> rows;
  for (const InputSpec& input : inputs) {
    QQ_TRY(ir::Tensor array,
           std::string_view(format->kind) == "npy"
               ? adopt_npy(bytes.owner, {bytes.data, bytes.size}, path)
               : format->read({path, bytes, input, options, inputs.size() == 1, /*is_one_sample=*/false}));
    QQ_TRY(Rows own, rows_of(std::move(array), input, path));
    rows.push_back(std::move(own));
    if (rows.back().count != rows[0].count) {
      return bad_data(path, ": ", rows.back().count, " samples for input ", input.name, ", ", rows[0].count,
                      " for input ", inputs[0].name);
    }
  }
  const size_t size = options.limit > 0 ? std::min(options.limit, rows[0].count) : rows[0].count;
  auto reader = std::make_unique<RowReader>(path, std::move(inputs), std::move(rows), size);
  std::vector<DataNote> notes;
  note_unused_recipe({{"", {{path}}}}, options, notes);
  for (DataNote& note : notes) reader->note(std::move(note));
  return std::unique_ptr<DataReader>(std::move(reader));
}

}  // namespace quarkq::calib
