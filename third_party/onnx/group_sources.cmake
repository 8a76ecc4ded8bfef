# SPDX-License-Identifier: MIT
# Compiles onnx's sources in groups: their common headers take most of the time. onnx has a switch for one single group, which does
# not compile in 1.19.1 and would keep one core busy. Included by its project() through CMAKE_PROJECT_onnx_INCLUDE.
function(quarkq_group_onnx_sources)
  set_target_properties(onnx PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  # Specializations after their first use, names defined twice, and a header without a guard.
  set_source_files_properties(
    onnx/defs/schema.cc onnx/defs/tensor_proto_util.cc onnx/defs/controlflow/old.cc onnx/inliner/inliner.cc onnx/defs/function.cc
    TARGET_DIRECTORY onnx PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
cmake_language(DEFER CALL quarkq_group_onnx_sources)
