#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Leaves in oneDNN's sources what float32 convolutions, deconvolutions and reorders need: trim_onednn.sh SOURCE
# The whole library takes several times as long to compile. Implementations for other types, for matrix extensions and by batches of small
# products (brgemm) are removed from the lists of implementations, so that the ones of oneDNN 2.6 are chosen, as on Debian 12. Whatever is
# missed here, the linker reports.
set -euo pipefail
shopt -s nullglob
cd "${1:?usage: trim_onednn.sh SOURCE}/src/cpu"
sed -i -E '/^ *CPU_INSTANCE\w*\([^\\]*(brgemm|brdgmm|x8s8s32|bf16|fp16|amx|int8|ncsp|ip_convolution)[^\\]*\)$/d' cpu_convolution_list.cpp cpu_deconvolution_list.cpp
sed -i -E '/brgemm_matmul_copy_reorder/d' reorder/*.cpp
for file in {x64/lrn,x64/prelu,x64/rnn,x64/shuffle,x64/matmul,rnn,matmul}/*.cpp \
  x64/jit_uni_{batch_norm,tbb_batch_norm,group_norm,instance_norm,layer_norm,pool,i8i8_pool,reduction,resampling,softmax}*.cpp \
  x64/jit_uni_{eltwise,eltwise_int,binary,binary_kernel,ncsp_convolution,xf16_sum}.cpp \
  x64/{jit_brgemm,jit_brdgmm,ip_convolution}*.cpp x64/*{_amx_,x8s8s32,sparse,resampling,inner_product}*.cpp \
  x64/{gemm_bf16_,jit_avx512_core_bf16_{1x1_,}conv}*.cpp ./*{inner_product,int8,x8s8s32}*.cpp \
  ./{ref,simple,ncsp,nspc,nchw,nhwc}_{batch,group,layer,lrn,pooling,prelu,reduction,resampling,shuffle,softmax}*.cpp; do
  case $file in *_list.cpp) ;; *) rm -f "$file" ;; esac # a list without its primitive is empty
done
