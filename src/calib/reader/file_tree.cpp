// SPDX-License-Identifier: MIT
#include "calib/reader/file_tree.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/file_system.h"
#include "base/residency.h"
#include "calib/reader/archives.h"

namespace quarkq::calib {

namespace {

class DiskTree : public FileTree {
 public:
  Result<std::vector<std::string>> files(const std::string& folder) const override { return list_files(folder, ""); }
  Result<std::vector<std::string>> folders(const std::string& folder) const override { return list_folders(folder); }
  bool has_file(const std::string& path) const override { return file_exists(path); }
  bool has_folder(const std::string& path) const override { return is_folder(path); }
  Result<FileBytes> open(const std::string& path) const override {
    const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
    if (!file.ok()) return bad_data(file.status().message());
    return FileBytes{file.value(), file.value()->data(), file.value()->size()};
  }
};

}  // namespace

std::shared_ptr<const FileTree> disk_tree() { return std::make_shared<DiskTree>(); }

// A tar archive as folders: open_tar().

namespace {

// Deflate packs zeros a thousand to one; samples do not consist of zeros. The unpacked archive goes to TMPDIR, which
// may be memory.
constexpr uint64_t kTarBombBytes = uint64_t{64} << 20, kTarBombRatio = 100;
constexpr size_t kStepBytes = size_t{1} << 20;

class TarTree : public FileTree {
 public:
  TarTree(std::string path, std::shared_ptr<const MappedFile> file, std::map<std::string, TarMember> members)
      : path_(std::move(path)), file_(std::move(file)), members_(std::move(members)) {
    folders_[""];
    for (const auto& [member, place] : members_) {
      std::string folder;
      for (size_t at = member.find('/'); at != std::string::npos; at = member.find('/', at + 1)) {
        const std::string inner = member.substr(0, at);
        folders_[folder].folders.insert(inner.substr(folder.empty() ? 0 : folder.size() + 1));
        folder = inner;
      }
      folders_[folder].files.push_back(member.substr(folder.empty() ? 0 : folder.size() + 1));
    }
  }

  Result<std::vector<std::string>> files(const std::string& folder) const override {
    const auto found = folders_.find(inside(folder));
    if (found == folders_.end()) return bad_data(folder, ": no such folder");
    return sorted(found->second.files);
  }
  Result<std::vector<std::string>> folders(const std::string& folder) const override {
    const auto found = folders_.find(inside(folder));
    if (found == folders_.end()) return bad_data(folder, ": no such folder");
    return sorted({found->second.folders.begin(), found->second.folders.end()});
  }
  bool has_file(const std::string& path) const override { return members_.contains(inside(path)); }
  bool has_folder(const std::string& path) const override { return folders_.contains(inside(path)); }
  Result<FileBytes> open(const std::string& path) const override {
    const auto found = members_.find(inside(path));
    if (found == members_.end()) return bad_data(path, ": no such file");
    return FileBytes{file_, file_->data() + found->second.start, found->second.bytes};
  }

 private:
  struct Folder {
    std::vector<std::string> files;
    std::set<std::string> folders;
  };

  /// The path within the archive; what is outside becomes a path that no member has.
  std::string inside(const std::string& path) const {
    if (path == path_) return "";
    return path.starts_with(path_ + "/") ? path.substr(path_.size() + 1) : "/";
  }
  static std::vector<std::string> sorted(std::vector<std::string> names) {
    std::sort(names.begin(), names.end(), natural_less);
    return names;
  }

  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, TarMember> members_;
  std::map<std::string, Folder> folders_;
};

/// A file that is gone when its descriptor is closed.
class UnnamedFile {
 public:
  static Result<UnnamedFile> make() {
    QQ_TRY(const int fd, open_temporary_file());
    return UnnamedFile(fd);
  }
  UnnamedFile(UnnamedFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UnnamedFile& operator=(UnnamedFile&&) = delete;
  ~UnnamedFile() {
    if (fd_ >= 0) platform::close_file(fd_);
  }

  Status write(const std::byte* data, size_t bytes) {
    while (bytes > 0) {
      const int64_t part = platform::write_some(fd_, data, bytes);
      if (part < 0 && errno == EINTR) continue;
      if (part <= 0)
        return io_error("temporary file: writing failed, ", std::strerror(errno), "; TMPDIR sets its folder");
      data += part;
      bytes -= static_cast<size_t>(part);
    }
    return Status();
  }
  Result<std::shared_ptr<const MappedFile>> map() const { return MappedFile::of(fd_, "temporary file"); }

 private:
  explicit UnnamedFile(int fd) : fd_(fd) {}
  int fd_;
};

Result<std::shared_ptr<const MappedFile>> unpacked(const MappedFile& packed, const std::string& path) {
  QQ_TRY(UnnamedFile file, UnnamedFile::make());
  Inflater inflater(packed.data(), packed.size(), Inflater::Form::kGzip);
  std::vector<std::byte> step(kStepBytes);
  uint64_t written = 0;
  while (!inflater.is_done()) {
    const size_t count = inflater.fill(step.data(), step.size());
    if (inflater.failed() || count == 0) return bad_data(path, ": damaged or truncated gzip archive");
    written += count;
    if (written > kTarBombBytes && written / kTarBombRatio > packed.size()) {
      return bad_data(path, ": ", packed.size(), " packed bytes contain more than ", kTarBombRatio, " times as much");
    }
    QQ_RETURN_IF_ERROR(file.write(step.data(), count));
  }
  if (inflater.left() > 0) return bad_data(path, ": gzip archive of several parts, one is allowed");
  return file.map();
}

}  // namespace

bool is_tar_name(const std::string& path) {
  return path.ends_with(".tar") || path.ends_with(".tar.gz") || path.ends_with(".tgz");
}

Result<std::shared_ptr<const FileTree>> open_tar(const std::string& path) {
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file.ok()) return bad_data(file.status().message());
  if (!path.ends_with(".tar")) {
    QQ_TRY(file, unpacked(*file.value(), path));
  }
  QQ_TRY(auto members, read_tar(file.value()->data(), file.value()->size(), path));
  return std::shared_ptr<const FileTree>(std::make_shared<TarTree>(path, file.value(), std::move(members)));
}

}  // namespace quarkq::calib
