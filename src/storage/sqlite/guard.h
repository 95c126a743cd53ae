// What must hold around the database's file before it is opened.
#pragma once

#include <string>

#include "base/result.h"

namespace cubeplane::storage::sqlite {

// The name of a network or user-space file system by statfs' magic ("NFS"); "" for a local one. SQLite's
// write-ahead log needs shared memory and locks that those do not keep.
std::string_view NetworkFileSystem(long magic);

// kInvalid when `folder` lies on such a file system; kNotFound when there is no such folder.
Result<void> CheckFileSystem(const std::string& folder);

// fsync of a folder, so that a new name in it survives a loss of power.
Result<void> SyncFolder(const std::string& folder);

// "a/b" -> "a", "b" -> ".".
std::string FolderOf(const std::string& path);

// Holds "<database>.lock" as long as it lives: one cubeplane per database. Not inherited by programs we
// start.
class FileLock {
 public:
  // kUnavailable when another process has it, with that process' id in the sentence.
  static Result<FileLock> Take(const std::string& database);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace cubeplane::storage::sqlite
