// SPDX-License-Identifier: MIT
// One file as a data set: open_single_file().
#include <algorithm>
#include <filesystem>

#include "calib/npy.h"
#include "calib/reader/file_formats.h"
#include "calib/reader/sample_files.h"
#include "calib/reader/token_samples.h"

namespace quarkq::calib {
namespace {

/// Rows of one array for one input. A plain .npy file stays where it is and is read row by row.
struct Rows {
  ir::Tensor array;
  int64_t each = 0;  ///< along axis 0 in a sample; 0: the array is one sample
  size_t count = 1;

  ir::Tensor at(size_t index) const {
    if (each == 0) return array;
    ir::Shape dims = array.dims();
    dims[0] = each;
    const auto bytes = static_cast<size_t>(array.bytes()) / (count == 0 ? 1 : count);
    return ir::Tensor::adopt(array.type(), std::move(dims), std::make_shared<ir::Tensor>(array),
                             array.raw() + index * bytes);
  }
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
  const FileFormat* format = format_of(std::filesystem::path(path).filename().string(), options.kind);
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
