// SPDX-License-Identifier: MIT
#if __has_include(<onnxruntime_c_api.h>)

#include "ort_runtime/api.h"

#include <dlfcn.h>
#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string_view>

namespace quarkq::ort_runtime {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The folder of packages that quarkq's own wheel was installed in, where pip installs onnxruntime as well. Empty when
/// this code is not in site-packages/quarkq/lib or site-packages/quarkq/bin.
std::string own_packages() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<void*>(&own_packages), &own) == 0 || own.dli_fname == nullptr) return "";
  std::filesystem::path file = own.dli_fname;
  std::error_code failed;
  // Of the program itself it is the name it was called by, which the search path may have found.
  file = std::filesystem::canonical(file.has_parent_path() ? file : "/proc/self/exe", failed);
  const std::filesystem::path package = file.parent_path().parent_path();
  return failed || package.filename() != "quarkq" ? "" : package.parent_path().string();
}

/// Names and patterns, in the order in which they are tried.
std::vector<std::string> places() {
  std::vector<std::string> all;
  if (const std::string file = environment("QUARKQ_ONNXRUNTIME"); !file.empty()) return {file};
  all.insert(all.end(), {"libonnxruntime.so.1", "libonnxruntime.so"});
  const std::string inside = "/onnxruntime/capi/libonnxruntime.so*";
  if (const std::string packages = own_packages(); !packages.empty()) all.push_back(packages + inside);
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

Result<Runtime> open_runtime() {
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
  const char* const version = base == nullptr ? "?" : base->GetVersionString();
  if (api == nullptr) return unsupported("ONNX Runtime ", version, " was found, 1.17 or newer is needed");
  OrtEnv* env = nullptr;
  OrtMemoryInfo* memory = nullptr;
  QQ_ORT_CALL(*api, CreateEnv(ORT_LOGGING_LEVEL_FATAL, "quarkq", &env));
  QQ_ORT_CALL(*api, CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
  return Runtime{*api, env, memory, version};
}

/// What a library throws where it gets no memory, as its errors word it.
bool is_exhausted(std::string_view message) {
  constexpr std::string_view kWords[] = {"bad_alloc", "bad allocation", "Failed to allocate memory"};
  return std::ranges::any_of(kWords, [&](std::string_view words) { return message.find(words) != message.npos; });
}

}  // namespace

Result<const Runtime*> load_runtime() {
  static const Result<Runtime> runtime = open_runtime();
  if (!runtime.ok()) return runtime.status();
  return &runtime.value();
}

Status from_ort(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return Status();
  const Owned<OrtStatus> released(status, api.ReleaseStatus);
  const std::string message = api.GetErrorMessage(status);
  if (is_exhausted(message)) throw std::bad_alloc();
  return unsupported("ONNX Runtime: ", message);
}

Result<Owned<OrtSessionOptions>> session_options(const OrtApi& api, int threads,
                                                 const std::vector<std::string>& libraries) {
  OrtSessionOptions* made = nullptr;
  QQ_ORT_CALL(api, CreateSessionOptions(&made));
  Owned<OrtSessionOptions> options(made, api.ReleaseSessionOptions);
  QQ_ORT_CALL(api, SetIntraOpNumThreads(made, threads));
  QQ_ORT_CALL(api, SetInterOpNumThreads(made, 1));
  for (const std::string& path : libraries) {
    const Status status = from_ort(api, api.RegisterCustomOpsLibrary_V2(made, path.c_str()));
    if (!status.ok()) return invalid_argument("UserCustomOpLibPath: ", path, ": ", status.message());
  }
  return options;
}

}  // namespace quarkq::ort_runtime

#endif
