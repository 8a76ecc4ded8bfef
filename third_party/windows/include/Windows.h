// SPDX-License-Identifier: MIT
// The onnx library spells the name of this header as on file systems that ignore case.
#include <windows.h>
