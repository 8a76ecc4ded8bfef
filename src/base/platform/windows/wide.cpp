// SPDX-License-Identifier: MIT
#include "base/platform/windows/wide.h"

#include <windows.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"

namespace quarkq::platform {
namespace {

/// Directories have a limit of 248 characters, so that a name of 8.3 fits; files 260.
constexpr size_t kLongPath = 247;

struct ErrorRow {
  DWORD code;
  int error;
};
constexpr ErrorRow kErrors[] = {{ERROR_FILE_NOT_FOUND, ENOENT},
                                {ERROR_PATH_NOT_FOUND, ENOENT},
                                {ERROR_INVALID_NAME, ENOENT},
                                {ERROR_BAD_PATHNAME, ENOENT},
                                {ERROR_BAD_NETPATH, ENOENT},
                                {ERROR_BAD_NET_NAME, ENOENT},
                                {ERROR_INVALID_DRIVE, ENOENT},
                                {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
                                {ERROR_ACCESS_DENIED, EACCES},
                                {ERROR_SHARING_VIOLATION, EBUSY},
                                {ERROR_WRITE_PROTECT, EROFS},
                                {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
                                {ERROR_IO_PENDING, EWOULDBLOCK},
                                {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
                                {ERROR_OUTOFMEMORY, ENOMEM},
                                {ERROR_COMMITMENT_LIMIT, ENOMEM},
                                {ERROR_FILE_EXISTS, EEXIST},
                                {ERROR_ALREADY_EXISTS, EEXIST},
                                {ERROR_DISK_FULL, ENOSPC},
                                {ERROR_HANDLE_DISK_FULL, ENOSPC},
                                {ERROR_BROKEN_PIPE, EPIPE},
                                {ERROR_NO_DATA, EPIPE},
                                {ERROR_DIRECTORY, ENOTDIR},
                                {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
                                {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
                                {ERROR_NOT_SUPPORTED, EINVAL},
                                {ERROR_INVALID_PARAMETER, EINVAL},
                                {ERROR_NOT_SAME_DEVICE, EXDEV},
                                {ERROR_INVALID_HANDLE, EBADF},
                                {ERROR_USER_MAPPED_FILE, EBUSY},
                                {ERROR_DELETE_PENDING, EBUSY}};

}  // namespace

std::wstring wide(std::string_view text) {
  const int bytes = static_cast<int>(text.size());
  std::wstring result(static_cast<size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, nullptr, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, result.data(), static_cast<int>(result.size()));
  return result;
}

std::string narrow(std::wstring_view text) {
  const int length = static_cast<int>(text.size());
  const int bytes = WideCharToMultiByte(CP_UTF8, 0, text.data(), length, nullptr, 0, nullptr, nullptr);
  std::string result(static_cast<size_t>(bytes), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), length, result.data(), bytes, nullptr, nullptr);
  return result;
}

std::wstring wide_path(std::string_view path) {
  std::wstring result = wide(path);
  std::ranges::replace(result, L'/', L'\\');
  if (result.size() < kLongPath || result.starts_with(L"\\\\?\\") || result.starts_with(L"\\\\.\\")) return result;
  std::wstring full(GetFullPathNameW(result.c_str(), 0, nullptr, nullptr), L'\0');
  full.resize(GetFullPathNameW(result.c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr));
  if (full.empty()) return result;
  return full.starts_with(L"\\\\") ? L"\\\\?\\UNC" + full.substr(1) : L"\\\\?\\" + full;
}

int fail_with_errno() {
  const DWORD code = GetLastError();
  const auto* const row = std::ranges::find(kErrors, code, &ErrorRow::code);
  errno = row == std::end(kErrors) ? EIO : row->error;
  return -1;
}

std::string text_of_error(unsigned long code) {
  wchar_t* text = nullptr;
  const DWORD flags = FORMAT_MESSAGE_ALLOCATE_BUFFER | FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
  const DWORD length = FormatMessageW(flags, nullptr, code, 0, reinterpret_cast<wchar_t*>(&text), 0, nullptr);
  if (length == 0) return cat("error ", code);
  std::string result = narrow({text, length});
  LocalFree(text);
  while (!result.empty() && std::string_view(" .\r\n").find(result.back()) != std::string_view::npos) result.pop_back();
  return result;
}

}  // namespace quarkq::platform
