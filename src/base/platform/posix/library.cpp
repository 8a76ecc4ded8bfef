// SPDX-License-Identifier: MIT
#include "base/platform/library.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/platform/process.h"

namespace quarkq::platform {

OpenedLibrary open_library(const std::string& path) {
  OpenedLibrary opened;
  opened.handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened.handle != nullptr) return opened;
  if (const char* why = ::dlerror(); why != nullptr) opened.why = why;
  return opened;
}

void* symbol_of(void* library, const char* name) { return ::dlsym(library, name); }

std::string own_file() {
  Dl_info own{};
  if (::dladdr(reinterpret_cast<void*>(&own_file), &own) == 0 || own.dli_fname == nullptr) return "";
  std::filesystem::path file = own.dli_fname;
  std::error_code failed;
  // For the program itself this is the name by which it was called, which the search path may have found.
  file = std::filesystem::canonical(file.has_parent_path() ? file : "/proc/self/exe", failed);
  return failed ? "" : file.string();
}

void stay_loaded() {}
std::string library_suffix() { return ".so"; }
std::string library_file(const std::string& name) { return "lib" + name + ".so"; }

std::vector<std::string> places_of_library(const std::string& package, const std::string& name,
                                           const std::string& own_packages) {
  const std::string file = library_file(name), inside = "/" + package + "/" + file + "*";
  std::vector<std::string> all = {file + ".1", file};
  if (!own_packages.empty()) all.push_back(own_packages + inside);
  if (const std::string venv = environment("VIRTUAL_ENV"); !venv.empty())
    all.push_back(venv + "/lib/python3*/site-packages" + inside);
  if (const std::string home = environment("HOME"); !home.empty())
    all.push_back(home + "/.local/lib/python3*/site-packages" + inside);
  for (const char* prefix : {"/usr/local/lib/python3*/dist-packages", "/usr/local/lib/python3*/site-packages",
                             "/usr/lib/python3/dist-packages"})
    all.push_back(prefix + inside);
  return all;
}

}  // namespace quarkq::platform
