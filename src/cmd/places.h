// Where an installation keeps its things, and who owns them.
//
//   DATA/                 root:service 1771 (root) or the user's own
//     instance.json       id of this installation, its port; made once
//     lock                held by `up`
//     ledger.db engine.db the service user's
//     keys/ logs/         the service user's, 0700
//     pods/ projects/     the node process's
//     endpoint.json       where the API is, for the command line
//   RUN/                  /run/cubeplane/<instance> (root), $XDG_RUNTIME_DIR/cubeplane/<instance>, else
//   /tmp/cubeplane-<uid>/<instance>
//     api.sock platform.sock node.sock pods/ gateway/
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"

namespace cubeplane::cmd {

struct ServiceUser {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
};

struct Places {
  std::string data, run;
  std::string instance;        // UUID
  std::string short_instance;  // its last 8 hex digits: names sockets, cookies, control groups
  ServiceUser service;         // who the control plane runs as; the caller itself without root
  bool root = false;
  std::string gateway_run() const { return run + "/gateway"; }
  std::string api_socket() const { return run + "/api.sock"; }
  std::string platform_socket() const { return run + "/platform.sock"; }
  std::string node_socket() const { return run + "/node.sock"; }
  std::string endpoint_file() const { return data + "/endpoint.json"; }
};

// Makes or opens DATA and RUN and hands ownership out. With root, before it is given up. Errors: kForbidden
// (the folder holds other things, or belongs to somebody else), kInvalid (a path that is too long, an unknown
// service user).
Result<Places> Prepare(const std::string& data, const std::string& service_user, const Clock& clock,
                       Random& random);
// What `down` needs: kNotFound when there is no installation.
Result<Places> Open(const std::string& data);

// An exclusive hold on DATA, for as long as any process that inherited it lives. kAlreadyExists names the
// holder.
class DataLock {
 public:
  static Result<DataLock> Take(const Places& places);
  // The process that holds it; nullopt when none does.
  static std::optional<pid_t> Holder(const Places& places);
  DataLock(DataLock&& other) noexcept;
  DataLock& operator=(DataLock&&) = delete;
  ~DataLock();

 private:
  explicit DataLock(int fd) : fd_(fd) {}
  int fd_;
};

// The secret of that name in DATA/keys: read, or made of 32 random bytes. Hexadecimal.
Result<std::string> KeyFile(const Places& places, const std::string& name, Random& random);

// A whole small file at once: written aside, synced, renamed.
Result<void> WriteFile(const std::string& path, const std::string& text, mode_t mode);
Result<std::string> ReadFile(const std::string& path, size_t max_bytes);

// The first port from `from` on that nobody listens on at the moment, on 127.0.0.1 nor on ::1. kAlreadyExists
// when none of 200 is free.
Result<uint16_t> FreePort(uint16_t from);

}  // namespace cubeplane::cmd
