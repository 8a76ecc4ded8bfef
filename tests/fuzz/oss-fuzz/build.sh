#!/bin/bash -eu
# SPDX-License-Identifier: MIT
# What OSS-Fuzz runs in its image, with $CC, $CXX, $CFLAGS, $LIB_FUZZING_ENGINE and $OUT set: one program for each row of
# tests/fuzz/targets.cpp, named quarkq_fuzz_<target>, which is how it knows its target, with its seeds beside it.
cd "$SRC/quarkq"
# The onnx library without the engine's flags: its archive is pinned and built as for a release.
env -u CFLAGS -u CXXFLAGS third_party/onnx/build.sh build/deps/onnx
cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 \
  -DQUARKQ_BUILD_TESTS=ON -DQUARKQ_FUZZER=ON \
  -DQUARKQ_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" -DCMAKE_C_FLAGS="$CFLAGS" -DCMAKE_CXX_FLAGS="$CXXFLAGS" \
  -DCMAKE_C_FLAGS_RELWITHDEBINFO=-DNDEBUG -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-DNDEBUG
ninja -C build/fuzz quarkq_fuzz quarkq_fuzz_replay

# The image that runs the targets has no packages. RPATH, because libraries of libraries are not looked for in RUNPATH.
mkdir -p "$OUT/lib"
ldd build/fuzz/tests/quarkq_fuzz | awk '$3 ~ "^/" {print $3}' | grep -vE '/(libc|libm|libdl|libpthread|librt)\.so' | xargs -I{} cp -L {} "$OUT/lib"
models=$(find build/deps/onnx/work -name model.onnx -size -8k)
packed=$(mktemp -d)
tar -xJf tests/fuzz/corpora.tar.xz -C "$packed"
build/fuzz/tests/quarkq_fuzz_replay --list | while read -r target from_files; do
  cp build/fuzz/tests/quarkq_fuzz "$OUT/quarkq_fuzz_$target"
  patchelf --force-rpath --set-rpath '$ORIGIN/lib' "$OUT/quarkq_fuzz_$target"
  seeds=$(mktemp -d)
  if [ -n "$from_files" ]; then
    number=0
    for model in $models; do cp "$model" "$seeds/$((number += 1))"; done
  else
    build/fuzz/tests/quarkq_fuzz_replay --seeds "$target" "$seeds"
  fi
  if [ -d "$packed/$target" ]; then
    for input in "$packed/$target"/*; do cp "$input" "$seeds/packed-${input##*/}"; done
  fi
  zip -q -j -r "$OUT/quarkq_fuzz_${target}_seed_corpus.zip" "$seeds"
  # As corpora.py sets them: packages are not instrumented, and shapes may claim any size.
  printf '[libfuzzer]\nrss_limit_mb = 4096\ntimeout = 60\n[asan]\ndetect_container_overflow=0\nallocator_may_return_null=1\n' \
    >"$OUT/quarkq_fuzz_$target.options"
done
