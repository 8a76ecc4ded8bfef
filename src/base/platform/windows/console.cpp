// SPDX-License-Identifier: MIT
#include "base/platform/console.h"

#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <shellapi.h>

#include <cstdlib>
#include <cstring>

#include "base/platform/windows/wide.h"

namespace quarkq::platform {
namespace {

UINT given_code_page = 0;

HANDLE stream_handle(std::FILE* stream) { return reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(stream))); }

/// Consoles of Windows 10 understand the escape sequences of terminals once they are told to.
void prepare_console(std::FILE* stream) {
  DWORD mode = 0;
  if (GetConsoleMode(stream_handle(stream), &mode) == 0) return;
  SetConsoleMode(stream_handle(stream), mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

}  // namespace

std::vector<std::string> utf8_arguments(int, char**) {
  int count = 0;
  wchar_t** const words = CommandLineToArgvW(GetCommandLineW(), &count);
  std::vector<std::string> arguments;
  for (int i = 1; i < count; ++i) arguments.push_back(narrow(words[i]));
  LocalFree(words);
  return arguments;
}

void prepare_streams() {
  for (std::FILE* const stream : {stdin, stdout, stderr}) {
    if (_fileno(stream) < 0) static_cast<void>(!std::freopen("NUL", stream == stderr ? "w" : "r", stream));
    // Results are the same bytes as on other systems: no carriage returns are added.
    if (_fileno(stream) >= 0) _setmode(_fileno(stream), _O_BINARY);
  }
  prepare_console(stdout);
  prepare_console(stderr);
  given_code_page = GetConsoleOutputCP();
  if (given_code_page != 0 && given_code_page != CP_UTF8 && SetConsoleOutputCP(CP_UTF8) != 0)
    static_cast<void>(std::atexit([] { SetConsoleOutputCP(given_code_page); }));
}

bool is_terminal(std::FILE* stream) {
  DWORD mode = 0;
  return GetConsoleMode(stream_handle(stream), &mode) != 0;
}

std::optional<size_t> terminal_columns(std::FILE* stream) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  if (GetConsoleScreenBufferInfo(stream_handle(stream), &info) == 0) return std::nullopt;
  const int columns = info.srWindow.Right - info.srWindow.Left + 1;
  return columns > 0 ? std::optional(static_cast<size_t>(columns)) : std::nullopt;
}

void write_error(const char* text) {
  DWORD done = 0;
  WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, static_cast<DWORD>(std::strlen(text)), &done, nullptr);
}

}  // namespace quarkq::platform
