// SPDX-License-Identifier: MIT
// Source: "Naming Files, Paths, and Namespaces" in Microsoft's documentation of Win32.
#include "base/windows_names.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"

namespace quarkq {
namespace {

constexpr std::string_view kSeparators = "/\\";
constexpr std::string_view kDevices[] = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"};
/// Followed by one of kNumbers. Windows takes the superscripts of Latin-1 for digits.
constexpr std::string_view kPorts[] = {"COM", "LPT"};
constexpr std::string_view kNumbers[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "\u00B9", "\u00B2", "\u00B3"};

/// Returns "NUL" for "nul.tar.gz": the extension does not count, nor do spaces before it.
std::string stem_of(std::string_view part) {
  std::string stem(part.substr(0, part.find('.')));
  while (stem.ends_with(' ')) stem.pop_back();
  for (char& letter : stem) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return stem;
}

bool is_reserved(std::string_view part) {
  const std::string stem = stem_of(part);
  if (std::ranges::find(kDevices, stem) != std::end(kDevices)) return true;
  return std::ranges::any_of(kPorts, [&](std::string_view port) {
    return stem.starts_with(port) && std::ranges::find(kNumbers, stem.substr(port.size())) != std::end(kNumbers);
  });
}

bool is_bad_character(char c) {
  return static_cast<unsigned char>(c) < ' ' || std::string_view("<>:\"|?*").find(c) != std::string_view::npos;
}

std::string fault_of_part(std::string_view part) {
  if (part.empty() || part == "." || part == "..") return "";
  if (is_reserved(part)) return cat("found the name ", part, ", which is a device on Windows; choose another name");
  if (part.ends_with('.') || part.ends_with(' '))
    return cat("found the name '", part, "', Windows removes dots and spaces at the end; choose another name");
  const auto* const bad = std::ranges::find_if(part, is_bad_character);
  if (bad == part.end()) return "";
  return cat("found the character ", std::string(1, *bad), " in the name ", part,
             ", which Windows does not allow; choose another name");
}

/// Removes "C:", "\\?\" and "\\server\share": their characters have a meaning of their own.
std::string_view without_root(std::string_view path) {
  for (const std::string_view prefix : {"\\\\?\\UNC\\", "\\\\?\\", "//?/"}) {
    if (path.starts_with(prefix)) path.remove_prefix(prefix.size());
  }
  const bool has_drive = path.size() >= 2 && path[1] == ':' && std::isalpha(static_cast<unsigned char>(path[0])) != 0;
  if (has_drive) path.remove_prefix(2);
  return path;
}

}  // namespace

std::string windows_name_fault(std::string_view path) {
  path = without_root(path);
  while (!path.empty()) {
    const size_t end = std::min(path.find_first_of(kSeparators), path.size());
    if (std::string fault = fault_of_part(path.substr(0, end)); !fault.empty()) return fault;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return "";
}

bool is_windows_device(std::string_view path) {
  return path.starts_with("\\\\.\\") || path.starts_with("//./") ||
         (path.find_first_of(kSeparators) == std::string_view::npos && path.find('.') == std::string_view::npos &&
          is_reserved(path));
}

}  // namespace quarkq
