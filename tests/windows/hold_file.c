// SPDX-License-Identifier: MIT
// Opens a file, shares it with nobody, prints "held" and waits for the end of its input: hold_file FILE
#include <stdio.h>
#include <windows.h>

int wmain(int count, wchar_t **words) {
  if (count != 2) return 2;
  const HANDLE file = CreateFileW(words[1], GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);
  if (file == INVALID_HANDLE_VALUE) return 1;
  puts("held");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  CloseHandle(file);
  return 0;
}
