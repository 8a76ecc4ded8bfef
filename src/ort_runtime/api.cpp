// SPDX-License-Identifier: MIT
#if __has_include(<onnxruntime_c_api.h>)

#include "ort_runtime/api.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <vector>

namespace quarkq::ort_runtime {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Names and patterns, in the order in which they are tried.
std::vector<std::string> places() {
  std::vector<std::string> all;
  if (const std::string file = environment("QUARKQ_ONNXRUNTIME"); !file.empty()) return {file};
  all.insert(all.end(), {"libonnxruntime.so.1", "libonnxruntime.so"});
  const std::string inside = "/onnxruntime/capi/libonnxruntime.so*";
  if (const std::string venv = environment("VIRTUAL_ENV"); !venv.empty())
    all.push_back(venv + "/lib/python3*/site-packages" + inside);
  if (const std::string home = environment("HOME"); !home.empty())
    all.push_back(home + "/.local/lib/python3*/site-packages" + inside);
  for (const char* prefix : {"/usr/local/lib/python3*/dist-packages", "/usr/local/lib/python3*/site-packages",
                             "/usr/lib/python3/dist-packages"})
    all.push_back(prefix + inside);
  return all;
}

std::vector<std::string> expanded(const std::string& place) {
  if (place.find('*') == std::string::npos) return {place};
  std::vector<std::string> files;
  glob_t found{};
  if (glob(place.c_str(), 0, nullptr, &found) == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return files;
}

struct Opened {
  void* handle = nullptr;
  std::string why;  ///< of the last file that is there and does not load
};

Opened open_library() {
  Opened opened;
  for (const std::string& place : places()) {
    for (const std::string& file : expanded(place)) {
      opened.handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (opened.handle != nullptr) return opened;
      if (const char* why = dlerror(); why != nullptr && file.find('/') != std::string::npos) opened.why = why;
    }
  }
  return opened;
}

Result<const OrtApi*> find_api() {
  const Opened opened = open_library();
  if (opened.handle == nullptr) {
    return unsupported(
        "ONNX Runtime was not found; install it (pip install onnxruntime, in the active environment) or ",
        "name its library in QUARKQ_ONNXRUNTIME=/path/to/libonnxruntime.so",
        opened.why.empty() ? "" : cat(" (", opened.why, ")"));
  }
  using GetBase = const OrtApiBase*(ORT_API_CALL*)();
  void* const symbol = dlsym(opened.handle, "OrtGetApiBase");
  if (symbol == nullptr) return unsupported("ONNX Runtime: the library found has no OrtGetApiBase");
  const OrtApiBase* base = reinterpret_cast<GetBase>(symbol)();
  const OrtApi* api = base == nullptr ? nullptr : base->GetApi(kApiVersion);
  if (api == nullptr)
    return unsupported("ONNX Runtime ", base == nullptr ? "?" : base->GetVersionString(),
                       " was found, 1.17 or newer is needed");
  return api;
}

}  // namespace

Result<const OrtApi*> load_api() {
  static const Result<const OrtApi*> api = find_api();
  return api;
}

}  // namespace quarkq::ort_runtime

#endif
