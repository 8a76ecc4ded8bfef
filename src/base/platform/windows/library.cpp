// SPDX-License-Identifier: MIT
#include "base/platform/library.h"

#include <windows.h>

#include "base/platform/process.h"
#include "base/platform/windows/wide.h"

namespace quarkq::platform {

OpenedLibrary open_library(const std::string& path) {
  OpenedLibrary opened;
  const std::wstring file = wide_path(path);
  const bool is_absolute = file.find(L':') != std::wstring::npos || file.starts_with(L"\\");
  // Libraries next to it are found, too.
  opened.handle = LoadLibraryExW(file.c_str(), nullptr, is_absolute ? LOAD_WITH_ALTERED_SEARCH_PATH : 0);
  if (opened.handle == nullptr) opened.why = path + ": " + text_of_error(GetLastError());
  return opened;
}

void* symbol_of(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

std::string own_file() {
  constexpr DWORD kLongest = 32768;
  HMODULE own = nullptr;
  constexpr DWORD kFlags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (GetModuleHandleExW(kFlags, reinterpret_cast<const wchar_t*>(&own_file), &own) == 0) return "";
  std::wstring file(kLongest, L'\0');
  file.resize(GetModuleFileNameW(own, file.data(), kLongest));
  return narrow(file);
}

void stay_loaded() {
  HMODULE own = nullptr;
  constexpr DWORD kFlags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
  GetModuleHandleExW(kFlags, reinterpret_cast<const wchar_t*>(&own_file), &own);
}

std::string library_suffix() { return ".dll"; }
std::string library_file(const std::string& name) { return name + ".dll"; }

/// Not by its bare name: System32 has an old onnxruntime.dll of the system's own.
std::vector<std::string> places_of_library(const std::string& package, const std::string& name,
                                           const std::string& own_packages) {
  const std::string inside = "/" + package + "/" + library_file(name);
  std::vector<std::string> all;
  if (!own_packages.empty()) all.push_back(own_packages + inside);
  struct Place {
    const char *variable, *packages;
  };
  constexpr Place kPlaces[] = {{"VIRTUAL_ENV", "/Lib/site-packages"},
                               {"CONDA_PREFIX", "/Lib/site-packages"},
                               {"APPDATA", "/Python/Python3*/site-packages"},
                               {"LOCALAPPDATA", "/Programs/Python/Python3*/Lib/site-packages"}};
  for (const auto& [variable, packages] : kPlaces) {
    if (const std::string folder = environment(variable); !folder.empty()) all.push_back(folder + packages + inside);
  }
  return all;
}

}  // namespace quarkq::platform
