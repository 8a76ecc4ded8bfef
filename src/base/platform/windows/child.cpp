// SPDX-License-Identifier: MIT
#include <windows.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/platform/process.h"
#include "base/platform/windows/wide.h"

namespace quarkq::platform {
namespace internal {

/// Closes what it holds.
struct Handle {
  HANDLE value = nullptr;
  Handle() = default;
  explicit Handle(HANDLE given) : value(given == INVALID_HANDLE_VALUE ? nullptr : given) {}
  Handle(Handle&& other) noexcept : value(std::exchange(other.value, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(value, other.value);
    return *this;
  }
  ~Handle() { close(); }
  void close() {
    if (value != nullptr) CloseHandle(value);
    value = nullptr;
  }
};

}  // namespace internal

namespace {

using internal::Handle;

struct Pipe {
  Handle read_end, write_end;
};

SECURITY_ATTRIBUTES inherited() { return {sizeof(SECURITY_ATTRIBUTES), nullptr, TRUE}; }

Result<Pipe> make_inherited_pipe() {
  SECURITY_ATTRIBUTES attributes = inherited();
  HANDLE read_end = nullptr, write_end = nullptr;
  if (CreatePipe(&read_end, &write_end, &attributes, 0) == 0)
    return resource_error("cannot make a pipe: ", text_of_error(GetLastError()));
  SetHandleInformation(read_end, HANDLE_FLAG_INHERIT, 0);
  return Pipe{Handle(read_end), Handle(write_end)};
}

/// Appends a word so that CommandLineToArgvW() and the C library read the same one: backslashes before a quote are
/// doubled.
void append_word(std::wstring& line, const std::wstring& word) {
  if (!line.empty()) line += L' ';
  if (!word.empty() && word.find_first_of(L" \t\n\v\"") == std::wstring::npos) {
    line += word;
    return;
  }
  line += L'"';
  size_t backslashes = 0;
  for (const wchar_t c : word) {
    if (c == L'"') line.append(backslashes + 1, L'\\');
    backslashes = c == L'\\' ? backslashes + 1 : 0;
    line += c;
  }
  line.append(backslashes, L'\\');
  line += L'"';
}

/// Ends its processes when the last handle is closed, also by the end of this program.
Handle make_job() {
  Handle job(CreateJobObjectW(nullptr, nullptr));
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
  SetInformationJobObject(job.value, JobObjectExtendedLimitInformation, &limits, sizeof limits);
  return job;
}

/// The new process inherits these handles and no others.
class InheritedHandles {
 public:
  explicit InheritedHandles(std::array<HANDLE, 3> handles) : handles_(handles) {
    SIZE_T bytes = 0;
    InitializeProcThreadAttributeList(nullptr, 1, 0, &bytes);
    memory_.resize(bytes);
    auto* const list = get();
    InitializeProcThreadAttributeList(list, 1, 0, &bytes);
    UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles_.data(), sizeof handles_, nullptr,
                              nullptr);
  }
  ~InheritedHandles() { DeleteProcThreadAttributeList(get()); }
  InheritedHandles(const InheritedHandles&) = delete;
  InheritedHandles& operator=(const InheritedHandles&) = delete;
  LPPROC_THREAD_ATTRIBUTE_LIST get() { return reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(memory_.data()); }

 private:
  std::array<HANDLE, 3> handles_;
  std::vector<std::byte> memory_;
};

/// Appends what is there. Closes the stream at its end.
bool read_available(Handle& stream, std::string& text) {
  if (stream.value == nullptr) return false;
  DWORD available = 0, done = 0;
  if (PeekNamedPipe(stream.value, nullptr, 0, nullptr, &available, nullptr) == 0) {
    stream.close();
    return true;
  }
  std::array<char, 4096> buffer;
  if (available == 0) return false;
  const DWORD wanted = std::min<DWORD>(available, static_cast<DWORD>(buffer.size()));
  if (ReadFile(stream.value, buffer.data(), wanted, &done, nullptr) == 0) stream.close();
  text.append(buffer.data(), done);
  return true;
}

}  // namespace

struct Child::State {
  Handle job, process, out, errors;
};

Child::Child(std::unique_ptr<State> state) : state_(std::move(state)) {}
Child::Child(Child&&) noexcept = default;

Child::~Child() {
  if (state_ != nullptr && state_->process.value != nullptr) TerminateJobObject(state_->job.value, 1);
}

Result<Child> Child::start(const std::vector<std::string>& words) {
  Child child(std::make_unique<State>());
  QQ_TRY(Pipe out, make_inherited_pipe());
  QQ_TRY(Pipe errors, make_inherited_pipe());
  SECURITY_ATTRIBUTES attributes = inherited();
  const Handle nothing(CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ, &attributes, OPEN_EXISTING, 0, nullptr));
  InheritedHandles handles({nothing.value, out.write_end.value, errors.write_end.value});
  STARTUPINFOEXW startup{};
  startup.StartupInfo.cb = sizeof startup;
  startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
  startup.StartupInfo.hStdInput = nothing.value;
  startup.StartupInfo.hStdOutput = out.write_end.value;
  startup.StartupInfo.hStdError = errors.write_end.value;
  startup.lpAttributeList = handles.get();
  std::wstring line;
  for (const std::string& word : words) append_word(line, wide(word));
  child.state_->job = make_job();
  PROCESS_INFORMATION made{};
  // Suspended, so that it has no children before it is in the job.
  constexpr DWORD kFlags = CREATE_SUSPENDED | EXTENDED_STARTUPINFO_PRESENT | CREATE_NEW_PROCESS_GROUP;
  if (CreateProcessW(nullptr, line.data(), nullptr, nullptr, TRUE, kFlags, nullptr, nullptr, &startup.StartupInfo,
                     &made) == 0)
    return invalid_argument(words[0], ": cannot be started: ", text_of_error(GetLastError()));
  child.state_->process = Handle(made.hProcess);
  const Handle thread(made.hThread);
  AssignProcessToJobObject(child.state_->job.value, made.hProcess);
  ResumeThread(thread.value);
  child.state_->out = std::move(out.read_end);
  child.state_->errors = std::move(errors.read_end);
  return child;
}

/// Anonymous pipes cannot be waited for, so they are polled.
bool Child::read(std::string& output, std::string& errors, int milliseconds) {
  constexpr int kStep = 2;
  State& state = *state_;
  for (int waited = 0; waited <= milliseconds; waited += kStep) {
    const bool has_output = read_available(state.out, output), has_errors = read_available(state.errors, errors);
    if (state.out.value == nullptr && state.errors.value == nullptr) return false;
    if (has_output || has_errors) return true;
    Sleep(kStep);
  }
  return true;
}

Result<std::optional<int>> Child::ended() {
  DWORD code = 0;
  if (WaitForSingleObject(state_->process.value, 0) != WAIT_OBJECT_0) return std::optional<int>();
  GetExitCodeProcess(state_->process.value, &code);
  TerminateJobObject(state_->job.value, 1);  // its remaining children
  state_->process.close();
  return std::optional<int>(static_cast<int>(code));
}

}  // namespace quarkq::platform
