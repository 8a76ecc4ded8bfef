// SPDX-License-Identifier: MIT
// Folders of .npy files.
#include "calib/data_reader.h"

#include "unit/calib/sample_support.h"

namespace quarkq::calib {
namespace {

using ir::Shape;
using ir::Tensor;

using test::floats;
using test::in_folder;
using test::input;
using test::refusal;
using test::save;

TEST(NpyFolderTest, OneInputReadsTheFolderItselfInNaturalOrder) {
  const test::TempFolder folder;
  for (const char* name : {"img10.npy", "img9.npy", "img1.npy"}) save(folder, name, floats({1, 2}));
  folder.write("readme.txt", "no sample");
  const auto reader = open_data(in_folder(folder.path()), {input("x", {1, 2})});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ASSERT_EQ(reader.value()->size(), 3u);
  EXPECT_EQ(reader.value()->read(0).value().name, "img1");
  EXPECT_EQ(reader.value()->read(1).value().name, "img9");
  EXPECT_EQ(reader.value()->read(2).value().name, "img10");
}

TEST(NpyFolderTest, LimitTakesTheFirstSamples) {
  const test::TempFolder folder;
  for (int i = 0; i < 5; ++i) save(folder, cat(i, ".npy"), floats({1}, static_cast<float>(i)));
  DataOptions options = in_folder(folder.path());
  for (const auto& [limit, size] : {std::pair<size_t, size_t>{2, 2}, {9, 5}, {0, 5}}) {
    options.limit = limit;
    EXPECT_EQ(open_data(options, {input("x", {1})}).value()->size(), size);
  }
}

TEST(NpyFolderTest, SeveralInputsArePairedByFileName) {
  const test::TempFolder folder;
  for (const char* name : {"s1", "s2"}) {
    save(folder, cat("a/", name, ".npy"), floats({1}, name[1] == '1' ? 10.0f : 20.0f));
    save(folder, cat("b/", name, ".npy"), floats({1}, name[1] == '1' ? 11.0f : 21.0f));
  }
  const auto reader = open_data(in_folder(folder.path()), {input("b", {1}), input("a", {1})});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const Sample sample = reader.value()->read(1).value();
  EXPECT_EQ(sample.name, "s2");
  EXPECT_EQ(sample.inputs[0].data<float>()[0], 21.0f);  // in input order, not folder order
  EXPECT_EQ(sample.inputs[1].data<float>()[0], 20.0f);
}

TEST(NpyFolderTest, OneInputMayHaveItsOwnFolder) {
  const test::TempFolder folder;
  save(folder, "x/0.npy", floats({1}));
  EXPECT_TRUE(open_data(in_folder(folder.path()), {input("x", {1})}).ok());
}

TEST(NpyFolderTest, SlashAndColonOfAnInputNameMayBeUnderscores) {
  const test::TempFolder folder;
  save(folder, "net_x_0/0.npy", floats({1}));
  save(folder, "y_0/0.npy", floats({1}));
  const auto reader = open_data(in_folder(folder.path()), {input("net/x:0", {1}), input("y:0", {1})});
  EXPECT_TRUE(reader.ok()) << reader.status().message();
}

TEST(NpyFolderTest, MissingPartnerNamesFileAndBothFolders) {
  const test::TempFolder folder;
  save(folder, "a/0.npy", floats({1}));
  save(folder, "a/1.npy", floats({1}));
  save(folder, "b/0.npy", floats({1}));
  const std::string text = refusal(in_folder(folder.path()), {input("a", {1}), input("b", {1})});
  QQ_EXPECT_MENTIONS(text, folder.path() + "/b: has no partner of " + folder.path() + "/a/1.npy");
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), {input("b", {1}), input("a", {1})}),
                     folder.path() + "/b: has no partner of " + folder.path() + "/a/1.npy");
}

TEST(NpyFolderTest, WrongFoldersAreExplained) {
  const test::TempFolder folder;
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder / "none"), {input("x", {1})}), "no such folder");
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), {input("x", {1})}),
                     "no samples here, looked for .npy, .npz, .pb");
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), {}), "no inputs");
  save(folder, "image/0.npy", floats({1}));
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), {input("image", {1}), input("mask", {1})}),
                     "no folder for input mask");
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), {input("images", {1}), input("mask", {1})}),
                     "did you mean image?");
}

TEST(NpyFolderTest, FoldersOfAModelWithOneInputAreClasses) {
  const test::TempFolder folder;
  save(folder, "cat/0.npy", floats({1}));
  save(folder, "dog/0.npy", floats({1}));
  const auto reader = open_data(in_folder(folder.path()), {input("images", {1})});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ASSERT_EQ(reader.value()->size(), 2u);
  EXPECT_EQ(reader.value()->read(0).value().name, "cat/0");
  EXPECT_EQ(reader.value()->read(1).value().name, "dog/0");
}

TEST(NpyFolderTest, UnfitFilesAreNamedWithFoundAndWanted) {
  const test::TempFolder folder;
  save(folder, "0.npy", Tensor::from<int32_t>({1, 3, 4}, std::vector<int32_t>(12)));
  save(folder, "1.npy", floats({1, 3, 5}));
  const std::vector<InputSpec> inputs = {input("x", {-1, 3, 4})};
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), inputs),
                     folder.path() + "/1.npy: shape [1,3,5], input x takes [?,3,4]");
  folder.write("1.npy", "nothing of the kind");
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), inputs), "1.npy: not a .npy file");
  DataOptions first = in_folder(folder.path());
  first.limit = 1;
  const auto reader = open_data(first, inputs);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(reader.value()->read(0).value().inputs[0].type(), ElementType::kFloat);
}

}  // namespace
}  // namespace quarkq::calib
