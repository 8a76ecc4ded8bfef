// SPDX-License-Identifier: MIT
#include "onnx_io/save.h"

#include <sys/resource.h>

#include <csignal>

#include "io_test_support.h"
#include "ir/edit.h"
#include "onnx_io/external_data.h"

namespace quarkq::onnx_io {
namespace {

using SaveTest = ScratchTest;

/// y = x + w0 + w1 + ...; initializer i has sizes[i] floats, all i.
ir::Model model_with_weights(const std::vector<int64_t>& sizes) {
  ir::Model model;
  model.set_opset("", 17);
  model.graph.name = "weights";
  ir::GraphEdit edit(model.graph);
  ir::ValueId sum = edit.add_value("x", {ElementType::kFloat, false, {}, {}});
  edit.add_graph_input(sum);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const ir::ValueId weight = edit.add_initializer(
        cat("w", i), ir::Tensor::from<float>({sizes[i]}, std::vector<float>(static_cast<size_t>(sizes[i]), float(i))));
    const ir::ValueId next = edit.add_value(cat("s", i), {ElementType::kFloat, false, {}, {}});
    edit.add_node({.op = "Add", .domain = "", .name = cat("add", i), .inputs = {sum, weight}, .outputs = {next}});
    sum = next;
  }
  edit.add_graph_output(sum);
  return model;
}

TEST_F(SaveTest, WritesTheSameBytesTwice) {
  const ir::Model model = model_with_weights({10, 3000});
  ASSERT_TRUE(save(model, at("a.onnx")).ok());
  ASSERT_TRUE(save(model, at("b.onnx")).ok());
  EXPECT_EQ(read_bytes(at("a.onnx")), read_bytes(at("b.onnx")));
  EXPECT_EQ(read_bytes(at("a.onnx")), to_bytes(model));
  EXPECT_EQ(full_dump(load(at("a.onnx")).value()), full_dump(model));
}

TEST_F(SaveTest, PutsLargeWeightsBesideTheModel) {
  const ir::Model model = model_with_weights({100, 300, 300, 300000, 256});
  const Result<SaveReport> report = save(model, at("m.onnx"), {.external_data = true});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(files(), (std::vector<std::string>{"m.onnx", "m.onnx.data"}));
  // 1200 bytes at 0, 1200 at 1216 (64-aligned), 1.2 MB at 4096 (a page), 1024 after it (64-aligned).
  EXPECT_EQ(report.value().data_bytes, (4096u + 1200000u + 63u) / 64u * 64u + 1024u);
  const Result<ir::Model> again = load(at("m.onnx"));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(full_dump(again.value()), full_dump(model));
}

TEST_F(SaveTest, WritesNoDataFileWithoutLargeWeights) {
  const Result<SaveReport> report = save(model_with_weights({4}), at("m.onnx"), {.external_data = true});
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report.value().external_data);
  EXPECT_EQ(files(), std::vector<std::string>{"m.onnx"});
}

TEST_F(SaveTest, NeverOverwritesItsInput) {
  ASSERT_TRUE(save(model_with_weights({4}), at("m.onnx")).ok());
  const std::string before = read_bytes(at("m.onnx"));
  const ir::Model model = load(at("m.onnx")).value();
  for (const char* path : {"m.onnx", "./m.onnx"}) {
    const Result<SaveReport> report = save(model, at(path));
    EXPECT_EQ(report.status().code(), Code::kInvalidArgument);
  }
  std::filesystem::create_symlink("m.onnx", at("link.onnx"));
  EXPECT_EQ(save(model, at("link.onnx")).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(read_bytes(at("m.onnx")), before);
}

TEST_F(SaveTest, NeverOverwritesTheDataItReads) {
  ASSERT_TRUE(save(model_with_weights({400}), at("m.onnx"), {.external_data = true}).ok());
  std::filesystem::copy_file(at("m.onnx"), at("n.onnx"));
  const ir::Model model = load(at("n.onnx")).value();  // reads m.onnx.data
  const std::string before = full_dump(model);
  for (const char* name : {"o.onnx", "m.onnx"}) {
    ASSERT_TRUE(save(model, at(name), {.external_data = true}).ok());
    EXPECT_EQ(full_dump(load(at(name)).value()), before);
    EXPECT_EQ(full_dump(load(at("n.onnx")).value()), before);
  }
}

TEST_F(SaveTest, LeavesDataOfOtherModelsAlone) {
  write("m.onnx.data", "another model's");
  ASSERT_TRUE(save(model_with_weights({400}), at("other.onnx"), {.external_data = true}).ok());
  const std::vector<std::string> wanted = {"m.onnx", "m.onnx.1.data", "m.onnx.data", "other.onnx", "other.onnx.data"};
  for (const int64_t size : {500, 600}) {  // the second time its own file is replaced
    const ir::Model model = model_with_weights({size});
    ASSERT_TRUE(save(model, at("m.onnx"), {.external_data = true}).ok());
    EXPECT_EQ(full_dump(load(at("m.onnx")).value()), full_dump(model));
    EXPECT_EQ(read_bytes(at("m.onnx.data")), "another model's");
    EXPECT_EQ(files(), wanted);
  }
}

TEST_F(SaveTest, ReplacesItsOwnDataWithTheSameBytesAsInAnEmptyFolder) {
  const ir::Model model = model_with_weights({400});
  ASSERT_TRUE(save(model_with_weights({900, 300}), at("m.onnx"), {.external_data = true}).ok());
  ASSERT_TRUE(save(model, at("m.onnx"), {.external_data = true}).ok());
  EXPECT_EQ(files(), (std::vector<std::string>{"m.onnx", "m.onnx.data"}));
  const std::string bytes = read_bytes(at("m.onnx")), data = read_bytes(at("m.onnx.data"));
  std::filesystem::remove(at("m.onnx"));
  std::filesystem::remove(at("m.onnx.data"));
  ASSERT_TRUE(save(model, at("m.onnx"), {.external_data = true}).ok());
  EXPECT_EQ(read_bytes(at("m.onnx")), bytes);
  EXPECT_EQ(read_bytes(at("m.onnx.data")), data);
}

TEST_F(SaveTest, CleansUpAfterARunThatWasKilled) {
  // What is there when the second of three renames did not happen: the model reads its data under the second name.
  const ir::Model model = model_with_weights({400});
  ASSERT_TRUE(save(model, at("m.onnx.quarkq-new"), {.external_data = true}).ok());
  std::filesystem::rename(at("m.onnx.quarkq-new"), at("m.onnx"));  // reads m.onnx.quarkq-new.data
  write("m.onnx.data", "of the model before");
  ASSERT_TRUE(save(model_with_weights({700}), at("m.onnx"), {.external_data = true}).ok());
  EXPECT_EQ(full_dump(load(at("m.onnx")).value()), full_dump(model_with_weights({700})));
  EXPECT_EQ(files(), (std::vector<std::string>{"m.onnx", "m.onnx.data"}));
}

TEST_F(SaveTest, CleansUpTheModelOfARunThatWasKilled) {
  // As above, with the model that was to be renamed last.
  const ir::Model model = model_with_weights({400});
  ASSERT_TRUE(save(model, at("m.onnx"), {.external_data = true}).ok());
  std::filesystem::rename(at("m.onnx"), at("last"));
  std::filesystem::remove(at("m.onnx.data"));
  ASSERT_TRUE(save(model, at("m.onnx.quarkq-new"), {.external_data = true}).ok());
  std::filesystem::rename(at("m.onnx.quarkq-new"), at("m.onnx"));
  std::filesystem::rename(at("last"), at("m.onnx.quarkq-new"));
  write("m.onnx.data", "of the model before");
  ASSERT_TRUE(save(model_with_weights({700}), at("m.onnx"), {.external_data = true}).ok());
  EXPECT_EQ(files(), (std::vector<std::string>{"m.onnx", "m.onnx.data"}));
}

TEST_F(SaveTest, LeavesNothingBehindOnFailure) {
  const ir::Model model = model_with_weights({400});
  EXPECT_EQ(save(model, at("none/m.onnx")).status().code(), Code::kIo);
  EXPECT_EQ(save(model, folder).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(save(model, "").status().code(), Code::kInvalidArgument);
  std::filesystem::create_directory(at("m.onnx.data"));
  write("m.onnx.data/keep", "x");
  EXPECT_FALSE(save(model, at("m.onnx"), {.external_data = true}).ok());
  EXPECT_EQ(files(), std::vector<std::string>{"m.onnx.data"});
  EXPECT_EQ(read_bytes(at("m.onnx.data/keep")), "x");
}

TEST_F(SaveTest, PutsBackTheOldDataFileWhenTheModelFails) {
  // The model is still in the write buffer when the small data file is in place; a limit on file sizes stops it there.
  write("m.onnx.data", "old data");
  ir::Model model = model_with_weights({400});
  model.graph.extra = bytes(10, std::string(100000, 'd'));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{10000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Result<SaveReport> report = save(model, at("m.onnx"), {.external_data = true});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(report.status().code(), Code::kIo);
  EXPECT_EQ(read_bytes(at("m.onnx.data")), "old data");
  EXPECT_EQ(files(), std::vector<std::string>{"m.onnx.data"});
}

TEST_F(SaveTest, KeepsAStringTensorInside) {
  ir::Model model = model_with_weights({4});
  ir::GraphEdit(model.graph).add_initializer("text", ir::Tensor::of_strings({2}, {std::string(3000, 'a'), "b"}));
  ASSERT_TRUE(save(model, at("m.onnx"), {.external_data = true, .external_threshold = 1}).ok());
  EXPECT_EQ(full_dump(load(at("m.onnx")).value()), full_dump(model));
}

TEST_F(SaveTest, LoadsSparseDataAbove2GiBAtOnceAndPlansExternalData) {
  constexpr int64_t kBytes = int64_t{2200} << 20;
  std::filesystem::resize_file(write("big.data", ""), static_cast<uint64_t>(kBytes));
  ExternalFiles external(at("big.onnx"));
  ir::Model model = model_with_weights({4});
  Result<ir::Tensor> half = external.read({"big.data", 0, kBytes / 2}, ElementType::kFloat, {kBytes / 8});
  Result<ir::Tensor> rest = external.read({"big.data", kBytes / 2, {}}, ElementType::kFloat, {kBytes / 8});
  ASSERT_TRUE(half.ok() && rest.ok());
  EXPECT_EQ(half.value().raw() + kBytes / 2, rest.value().raw());  // one mapping serves both
  ir::GraphEdit edit(model.graph);
  edit.add_initializer("half", std::move(half).value());
  edit.add_initializer("rest", std::move(rest).value());
  const Result<SaveReport> report = plan_save(model, at("out.onnx"));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report.value().external_data);
  EXPECT_EQ(report.value().data_bytes, static_cast<uint64_t>(kBytes));
  EXPECT_LT(report.value().model_bytes, 10000u);
  EXPECT_EQ(files(), std::vector<std::string>{"big.data"});
}

TEST_F(SaveTest, ReadsMisalignedExternalDataByCopying) {
  std::string data = "abc";
  for (const float value : {1.0f, 2.0f}) data.append(reinterpret_cast<const char*>(&value), 4);
  write("odd.data", data);
  ExternalFiles external(at("m.onnx"));
  const ir::Tensor tensor = external.read({"odd.data", 3, 8}, ElementType::kFloat, {2}).value();
  EXPECT_EQ(tensor.data<float>()[1], 2.0f);
}

TEST_F(SaveTest, NewMetadataFollowsThatOfTheModelAndReplacesOldValues) {
  ir::Model model = model_with_weights({4});
  set_metadata(model, {{"author", "someone"}, {"quarkq.version", "0.0.1"}, {"last", "of the old"}});
  set_metadata(model, {{"quarkq.version", "0.1.0"}, {"quarkq.settings", "abc"}});
  const std::string bytes = to_bytes(model);
  size_t at = 0;
  for (const char* text :
       {"author", "someone", "quarkq.version", "0.1.0", "last", "of the old", "quarkq.settings", "abc"}) {
    at = bytes.find(text, at);
    ASSERT_NE(at, std::string::npos) << text;
  }
  EXPECT_EQ(bytes.find("0.0.1"), std::string::npos);
  EXPECT_EQ(bytes.find("quarkq.version"), bytes.rfind("quarkq.version"));
}

}  // namespace
}  // namespace quarkq::onnx_io
