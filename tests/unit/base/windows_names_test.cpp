// SPDX-License-Identifier: MIT
#include "base/windows_names.h"

#include <gtest/gtest.h>

namespace quarkq {
namespace {

TEST(WindowsNamesTest, PlainPathsHaveNoFault) {
  for (const char* path :
       {"out.onnx", "a/b/out.onnx", R"(C:\Users\a b\out.onnx)", "c:relative.onnx", "../out", "./out", "/", "",
        R"(\\server\share\out.onnx)", R"(\\?\C:\out.onnx)", R"(\\?\UNC\server\share\out.onnx)", "console.onnx",
        "com.onnx", "COM10", "lpt0.txt", "nulls", ".hidden", "\u00fcber/\u6a21\u578b.onnx"})
    EXPECT_EQ(windows_name_fault(path), "") << path;
}

TEST(WindowsNamesTest, RejectsDevicesInEveryPart) {
  for (const char* path : {"NUL", "con", "Aux.onnx", "a/PRN/b.onnx", R"(C:\x\nul.tar.gz)", "com1", "LPT9.txt",
                           "nul .onnx", "conin$", "CONOUT$.txt", "COM\u00B9", "lpt\u00B3.a"})
    EXPECT_NE(windows_name_fault(path).find("device on Windows"), std::string::npos) << path;
}

TEST(WindowsNamesTest, RejectsEndsThatWindowsRemoves) {
  for (const char* path : {"out.", "out ", "a./out.onnx", R"(a \out.onnx)", "..."})
    EXPECT_NE(windows_name_fault(path).find("removes dots and spaces"), std::string::npos) << path;
}

TEST(WindowsNamesTest, RejectsCharacters) {
  for (const char* path : {"ab:c.onnx", "out?.onnx", "out*", "a|b", "a<b", "a>b", "a\"b", "a\tb", "C:\\a:stream"})
    EXPECT_NE(windows_name_fault(path).find("does not allow"), std::string::npos) << path;
}

TEST(WindowsNamesTest, TheMessageNamesThePart) {
  EXPECT_EQ(windows_name_fault("models/aux.onnx"),
            "found the name aux.onnx, which is a device on Windows; choose another name");
}

TEST(WindowsNamesTest, DevicesAreNamesWithoutExtensionOrFolder) {
  for (const char* path : {"NUL", "con", R"(\\.\PhysicalDrive0)", "//./pipe/a", "CONOUT$"})
    EXPECT_TRUE(is_windows_device(path)) << path;
  for (const char* path : {"nul.onnx", "a/nul", "null", "", R"(\\?\C:\a)"})
    EXPECT_FALSE(is_windows_device(path)) << path;
}

}  // namespace
}  // namespace quarkq
