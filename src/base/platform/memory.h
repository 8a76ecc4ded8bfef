// SPDX-License-Identifier: MIT
// Mappings of files, and the peak of this process' memory. base/machine.h has the memory in use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarkq::platform {

/// Returns the multiple of bytes at which a mapping may begin.
size_t mapping_unit();

/// kFileLater: other processes see what is written to the file later. kOwnView: that may be seen or not.
enum class View : uint8_t { kOwnView, kFileLater };

/// Maps a part of a file for reading; `offset` is a multiple of mapping_unit(). Returns null and sets errno on failure.
/// REQUIRES: bytes > 0.
const std::byte* map_file(int fd, uint64_t offset, size_t bytes, View view);
void unmap(const std::byte* data, size_t bytes);

/// Drops the resident pages of a mapping. Later reads load them from the file again.
void drop_pages(const std::byte* data, size_t bytes);

/// Returns the space of a part of a file to the disk, if the file system can. The size of the file is unchanged.
void release_space(int fd, uint64_t offset, size_t bytes);

/// Returns memory that was freed to the system, if the allocator keeps it.
void return_free_memory();

/// Returns the largest resident memory of this process so far, in bytes; 0 if the system does not report it.
uint64_t peak_memory();

}  // namespace quarkq::platform
