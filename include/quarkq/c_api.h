/* SPDX-License-Identifier: MIT
 * The library for other languages: one function for every verb. The request is JSON with the members of the verb's C++
 * request (docs/c-api.md). The report is the JSON that `quarkq <verb> --json` prints (docs/schemas). Models, samples,
 * results and progress are passed as pointers and callbacks. Strings are UTF-8 and zero-terminated. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define QUARKQ_C_EXPORT __attribute__((visibility("default")))
#else
#define QUARKQ_C_EXPORT
#endif

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using): C names */

/* One input or output of one sample, equivalent to quarkq::SampleTensor. */
typedef struct quarkq_tensor {
  const char* name; /* may be empty if the model has one input */
  const char* type; /* ONNX name: "FLOAT", "UINT8", ... */
  const int64_t* dims;
  size_t rank;
  const void* data;
  size_t bytes;
} quarkq_tensor;

typedef struct quarkq_bytes {
  const void* data; /* null: none */
  size_t size;
} quarkq_bytes;

/* Samples in memory, accessed by index; count 0: none. `read` sets `tensors` to the `count` inputs of sample `index`,
 * which must stay valid until it is called again. It may be called from any thread and more than once for a sample, but
 * never concurrently. A return value other than 0 ends the call. */
typedef struct quarkq_samples {
  size_t count;
  int (*read)(void* context, size_t index, const quarkq_tensor** tensors, size_t* count);
  void* context;
} quarkq_samples;

typedef struct quarkq_progress {
  const char* phase;
  const char* unit;
  size_t done, total;   /* total 0: unknown */
  size_t number, count; /* phase `number` of `count`, starting at 1; 0: a single phase */
} quarkq_progress;

/* Null functions are not called. Each function may be called from any thread, but not concurrently with itself. */
typedef struct quarkq_callbacks {
  void* context;
  int (*on_progress)(void* context, const quarkq_progress* progress); /* returns 0 to interrupt */
  /* Higher is better. A return value other than 0 ends the call. */
  int (*metric)(void* context, size_t sample, const quarkq_tensor* expected, const quarkq_tensor* found, size_t count,
                double* value);
  /* "run": receives the outputs of a sample. A return value other than 0 ends the call. */
  int (*on_result)(void* context, const char* sample, const quarkq_tensor* outputs, size_t count);
} quarkq_callbacks;

typedef struct quarkq_call_arguments {
  size_t size;      /* sizeof(quarkq_call_arguments): a library with another layout rejects the call */
  const char* verb; /* "quantize", "calibrate", "merge", "optimize", "convert", "analyze", "run", "evaluate", "score",
                       "tune", "inspect", "check", "report" */
  const char* request;    /* a JSON object; unknown members are rejected */
  quarkq_bytes model;     /* replaces the file named by "model"; in "evaluate" the float model */
  quarkq_bytes quantized; /* "evaluate": the quantized model */
  quarkq_samples samples, evaluation;
  quarkq_callbacks callbacks;
} quarkq_call_arguments;

/* The result of a call, freed by quarkq_free(). Pointers into it are valid until then. */
typedef struct quarkq_result quarkq_result;

/* Returns NULL only if there is no memory for a result. The functions below accept NULL and report exit code 7. */
QUARKQ_C_EXPORT quarkq_result* quarkq_call(const quarkq_call_arguments* arguments);
QUARKQ_C_EXPORT void quarkq_free(quarkq_result* result);

/* Returns the exit code of the command line for the outcome; 0: done. */
QUARKQ_C_EXPORT int quarkq_exit_code(const quarkq_result* result);
/* Returns the report as JSON; "" on failure. */
QUARKQ_C_EXPORT const char* quarkq_report(const quarkq_result* result);
/* Returns the error message; "" on success. */
QUARKQ_C_EXPORT const char* quarkq_message(const quarkq_result* result);
/* Returns a JSON list of the findings before the failure; "[]" on success. */
QUARKQ_C_EXPORT const char* quarkq_findings(const quarkq_result* result);
/* Returns the serialized model of "quantize" and "convert" with "in_memory". */
QUARKQ_C_EXPORT quarkq_bytes quarkq_model(const quarkq_result* result);
/* Return the tail of a model that "quantize" with "in_memory" cut (docs/targets.md), and both as one model; empty if
   the model is whole. */
QUARKQ_C_EXPORT quarkq_bytes quarkq_tail(const quarkq_result* result);
QUARKQ_C_EXPORT quarkq_bytes quarkq_joined(const quarkq_result* result);

/* Returns "MAJOR.MINOR.PATCH". */
QUARKQ_C_EXPORT const char* quarkq_version(void);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif
