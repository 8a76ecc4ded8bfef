// SPDX-License-Identifier: MIT
// Inputs, arrays and files that tests of sample readers share.
#pragma once

#include "calib/data_reader.h"
#include "calib/npy.h"
#include "unit/base/temp_folder.h"
#include "unit/calib/file_bytes.h"

namespace quarkq::test {

#define QQ_EXPECT_MENTIONS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

inline calib::InputSpec input(const std::string& name, ir::Shape dims, ElementType type = ElementType::kFloat) {
  return {name, type, true, std::move(dims)};
}

/// first, first + 1, ...
inline ir::Tensor floats(const ir::Shape& dims, float first = 0) {
  ir::Tensor tensor = ir::Tensor::zeros(ElementType::kFloat, dims);
  for (float& value : tensor.mutable_data<float>()) value = first++;
  return tensor;
}

inline void save(const TempFolder& folder, const std::string& file, const ir::Tensor& tensor) {
  ASSERT_TRUE(calib::write_npy(folder / file, tensor).ok());
}

/// floats({1}, value) as the bytes of a .npy file.
inline std::string npy_of(float value) { return npy_bytes(npy_header("<f4", "(1,)"), raw_bytes<float>({value})); }

/// A serialized TensorProto: dims {1}, FLOAT, raw data.
inline std::string pb_of(float value) { return std::string("\x08\x01\x10\x01\x4A\x04", 6) + raw_bytes<float>({value}); }

inline calib::DataOptions in_folder(const std::string& folder, const std::string& kind = "") {
  calib::DataOptions options;
  options.folder = folder;
  options.kind = kind;
  return options;
}

/// The message of a refusal with kBadData.
inline std::string refusal(const calib::DataOptions& options, std::vector<calib::InputSpec> inputs) {
  const auto reader = calib::open_data(options, std::move(inputs));
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.status().code(), Code::kBadData) << reader.status().message();
  return reader.status().message();
}

/// First value of each input of each sample: {{s0 i0, s0 i1}, {s1 i0, s1 i1}, ...}.
inline std::vector<std::vector<float>> first_values(const calib::DataOptions& options,
                                                    const std::vector<calib::InputSpec>& inputs) {
  const auto reader = calib::open_data(options, inputs);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  std::vector<std::vector<float>> values;
  for (size_t i = 0; reader.ok() && i < reader.value()->size(); ++i) {
    const Result<calib::Sample> sample = reader.value()->read(i);
    EXPECT_TRUE(sample.ok()) << sample.status().message();
    values.emplace_back();
    if (!sample.ok()) continue;
    for (const ir::Tensor& tensor : sample.value().inputs) values.back().push_back(tensor.data<float>()[0]);
  }
  return values;
}

/// Names of the samples in order.
inline std::vector<std::string> sample_names(const calib::DataOptions& options,
                                             const std::vector<calib::InputSpec>& inputs) {
  const auto reader = calib::open_data(options, inputs);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  std::vector<std::string> names;
  for (size_t i = 0; reader.ok() && i < reader.value()->size(); ++i) {
    names.push_back(reader.value()->read(i).value().name);
  }
  return names;
}

}  // namespace quarkq::test
