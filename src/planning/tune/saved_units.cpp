// SPDX-License-Identifier: MIT
// The file: hash of the rest, key, numbers, tensors. The hash tells a whole file from a damaged one.
#include "planning/tune/saved_units.h"

#include <cstring>

#include "base/file_system.h"
#include "base/hash.h"
#include "base/paths.h"

namespace quarkq::planning::finetune {
namespace {

constexpr size_t kHashLength = 32;
constexpr int64_t kMostDims = 16;
constexpr std::string_view kFormat = "quarkq finetuned unit 3\n";
constexpr std::string_view kTrainingFormat = "quarkq training 1\n";

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append(std::string& bytes, const ir::Tensor& tensor) {
  append(bytes, static_cast<int32_t>(tensor.type()));
  if (!tensor.is_defined()) return;
  append(bytes, tensor.rank());
  for (const int64_t dim : tensor.dims()) append(bytes, dim);
  bytes.append(reinterpret_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.bytes()));
}

/// Reads what append() wrote. After the end, or a size that cannot be, everything is zero and ok() is false.
class LayerReader {
 public:
  explicit LayerReader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T take() {
    T value{};
    take_into(&value, sizeof value);
    return value;
  }
  ir::Tensor take_tensor() {
    const auto number = take<int32_t>();
    if (number == static_cast<int32_t>(ElementType::kUndefined)) return {};
    const std::optional<ElementType> type = element_type_from_wire(number);
    const auto rank = take<int64_t>();
    ok_ = ok_ && type && bits(*type) > 0 && rank >= 0 && rank <= kMostDims;
    if (!ok_) return {};
    ir::Shape dims(static_cast<size_t>(rank));
    for (int64_t& dim : dims) dim = take<int64_t>();
    const Result<int64_t> count = ir::element_count(dims);
    ok_ = ok_ && count.ok() && storage_bytes(*type, count.value()) <= static_cast<int64_t>(rest_.size());
    if (!ok_) return {};
    ir::Tensor tensor = ir::Tensor::allocate(*type, dims);
    take_into(tensor.mutable_raw(), static_cast<size_t>(tensor.bytes()));
    return tensor;
  }
  std::string take_text() {
    const auto size = take<uint32_t>();
    ok_ = ok_ && size <= rest_.size();
    if (!ok_) return {};
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  bool has_more() const { return ok_ && !rest_.empty(); }
  bool ok() const { return ok_ && rest_.empty(); }

 private:
  void take_into(void* to, size_t bytes) {
    ok_ = ok_ && bytes <= rest_.size();
    if (!ok_) return;
    std::memcpy(to, rest_.data(), bytes);
    rest_.remove_prefix(bytes);
  }
  std::string_view rest_;
  bool ok_ = true;
};

std::string hash_of(std::string_view bytes) {
  ContentHash hash;
  hash.add(bytes);
  return hash.text();
}

/// Returns the bytes after hash, format and key. Returns nullopt if they are damaged or of another format or key.
std::optional<std::string_view> content_of(std::string_view bytes, std::string_view format, const std::string& key) {
  if (bytes.size() < kHashLength || hash_of(bytes.substr(kHashLength)) != bytes.substr(0, kHashLength)) return {};
  bytes.remove_prefix(kHashLength);
  if (!bytes.starts_with(format) || !bytes.substr(format.size()).starts_with(key)) return {};
  return bytes.substr(format.size() + key.size());
}

}  // namespace

std::string encode_saved_unit(const std::string& key, const SavedUnit& unit) {
  std::string bytes(kFormat);
  bytes += key;
  append(bytes, static_cast<uint8_t>(unit.kept));
  append(bytes, unit.error_before);
  append(bytes, unit.error_after);
  append(bytes, unit.seconds);
  append(bytes, static_cast<uint32_t>(unit.failure.size()));
  bytes += unit.failure;
  for (const LearnedConstants& layer : unit.layers) {
    append(bytes, layer.weight);
    append(bytes, layer.bias);
  }
  return hash_of(bytes) + bytes;
}

std::optional<SavedUnit> parse_saved_unit(std::string_view bytes, const std::string& key) {
  const std::optional<std::string_view> content = content_of(bytes, kFormat, key);
  if (!content) return {};
  LayerReader reader(*content);
  SavedUnit unit;
  unit.kept = reader.take<uint8_t>() != 0;
  unit.error_before = reader.take<double>();
  unit.error_after = reader.take<double>();
  unit.seconds = reader.take<double>();
  unit.failure = reader.take_text();
  while (reader.has_more()) {
    LearnedConstants& layer = unit.layers.emplace_back();
    layer.weight = reader.take_tensor();
    layer.bias = reader.take_tensor();
  }
  if (!reader.ok()) return {};
  return unit;
}

std::string encode_saved_training(const std::string& key, const SavedTraining& training) {
  const std::string best = encode_saved_unit(key, training.best);
  std::string bytes(kTrainingFormat);
  bytes += key;
  append(bytes, training.step);
  append(bytes, training.begun);
  append(bytes, training.rate_share);
  append(bytes, static_cast<uint32_t>(best.size()));
  bytes += best;
  append(bytes, ir::Tensor::from<float>({static_cast<int64_t>(training.state.size())}, training.state));
  return hash_of(bytes) + bytes;
}

std::optional<SavedTraining> parse_saved_training(std::string_view bytes, const std::string& key) {
  const std::optional<std::string_view> content = content_of(bytes, kTrainingFormat, key);
  if (!content) return {};
  LayerReader reader(*content);
  SavedTraining training;
  training.step = reader.take<int64_t>();
  training.begun = reader.take<int64_t>();
  training.rate_share = reader.take<double>();
  const std::optional<SavedUnit> best = parse_saved_unit(reader.take_text(), key);
  const ir::Tensor state = reader.take_tensor();
  if (!reader.ok() || !best || training.begun < 0 || training.step < training.begun ||
      state.type() != ElementType::kFloat)
    return {};
  training.best = *best;
  training.state.assign(state.data<float>().begin(), state.data<float>().end());
  return training;
}

namespace {

/// Calls parse(bytes of the file). Returns nullopt if the file cannot be read.
template <typename Parse>
auto parse_file(const std::string& path, const Parse& parse) -> decltype(parse({})) {
  if (!file_exists(path)) return {};
  const auto file = MappedFile::open(path);
  if (!file.ok()) return {};
  return parse(std::string_view(reinterpret_cast<const char*>(file.value()->data()), file.value()->size()));
}

}  // namespace

std::optional<SavedUnit> SavedUnits::load(size_t index, const std::string& key) const {
  if (folder_.empty()) return {};
  return parse_file(path(index), [&](std::string_view bytes) { return parse_saved_unit(bytes, key); });
}

std::optional<SavedTraining> SavedUnits::load_training(size_t index, const std::string& key) const {
  if (folder_.empty()) return {};
  return parse_file(training_path(index), [&](std::string_view bytes) { return parse_saved_training(bytes, key); });
}

Status SavedUnits::save_training(size_t index, const std::string& key, const SavedTraining& training) const {
  if (folder_.empty()) return Status();
  QQ_RETURN_IF_ERROR(make_folder());
  return write_file(training_path(index), encode_saved_training(key, training));
}

Status SavedUnits::make_folder() const { return paths::make_folders(folder_); }

Status SavedUnits::save(size_t index, const std::string& key, const SavedUnit& unit) const {
  if (folder_.empty()) return Status();
  QQ_RETURN_IF_ERROR(make_folder());
  QQ_RETURN_IF_ERROR(write_file(path(index), encode_saved_unit(key, unit)));
  paths::remove(training_path(index));
  return Status();
}

void SavedUnits::remove(size_t count) const {
  if (folder_.empty()) return;
  for (size_t i = 0; i < count; ++i) {
    paths::remove(path(i));
    paths::remove(training_path(i));
  }
  const Result<std::vector<std::string>> left = list_files(folder_, "");
  if (!left.ok()) return;
  for (const std::string& name : left.value()) {  // files of runs that were killed while writing
    if (name.starts_with("layer") && name.find(".bin.part") != std::string::npos)
      paths::remove(paths::joined(folder_, name));
  }
  paths::remove(folder_);
}

}  // namespace quarkq::planning::finetune
