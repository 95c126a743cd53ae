#include "cmd/places.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "json/json.h"

namespace cubeplane::cmd {
namespace {

constexpr size_t kMaxRunPath = 60;  // leaves room for the sockets below it within 108 bytes
constexpr size_t kMaxSmallFile = 64u << 10;

Error Trouble(const std::string& doing) {
  const int error = errno;
  const Code code = error == ENOSPC || error == EDQUOT || error == EROFS ? Code::kStoreFull
                    : error == EACCES || error == EPERM                  ? Code::kForbidden
                                                                         : Code::kInternal;
  return Error(code, doing + ": " + std::strerror(error));
}

Result<void> MakeFolder(const std::string& path, mode_t mode, uid_t uid, gid_t gid) {
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return Fail(Trouble("making the folder " + path));
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) return Fail(Trouble("looking at " + path));
  if (!S_ISDIR(found.st_mode)) return Fail(Code::kForbidden, path + " is there and is not a folder");
  if (found.st_uid != uid && geteuid() != 0) return Fail(Code::kForbidden, path + " belongs to another user");
  if (geteuid() == 0 && lchown(path.c_str(), uid, gid) != 0) return Fail(Trouble("giving away " + path));
  if (chmod(path.c_str(), mode) != 0) return Fail(Trouble("setting the rights of " + path));
  return {};
}

Result<void> MakeParents(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) return Fail(Trouble("making the folder " + part));
  }
  return {};
}

bool IsEmpty(const std::string& path) {
  DIR* folder = opendir(path.c_str());
  if (!folder) return true;
  bool empty = true;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && name != "lost+found") empty = false;
  }
  closedir(folder);
  return empty;
}

std::string Absolute(const std::string& path) {
  if (!path.empty() && path[0] == '/') return path;
  char folder[4096];
  return std::string(getcwd(folder, sizeof folder) ? folder : "") + "/" + path;
}

std::string RunFolder(const std::string& short_instance) {
  if (geteuid() == 0) return "/run/cubeplane/" + short_instance;
  const char* xdg = std::getenv("XDG_RUNTIME_DIR");
  if (xdg && *xdg && access(xdg, W_OK) == 0) return std::string(xdg) + "/cubeplane/" + short_instance;
  return "/tmp/cubeplane-" + std::to_string(geteuid()) + "/" + short_instance;
}

Result<ServiceUser> FindServiceUser(const std::string& name) {
  if (geteuid() != 0) return ServiceUser{"", geteuid(), getegid()};
  const passwd* entry = getpwnam(name.c_str());
  if (!entry) {
    return Fail(Error(Code::kInvalid, "service_user_missing", {{"user", name}},
                      "there is no user " + name + " on this machine: make it with `useradd --system " +
                          name + "`, or name another with --service-user"));
  }
  if (entry->pw_uid == 0) return Fail(Code::kInvalid, "the service user must not be root");
  return ServiceUser{name, entry->pw_uid, entry->pw_gid};
}

void Fill(Places& places, const std::string& instance) {
  places.instance = instance;
  places.short_instance = instance.substr(instance.size() - 8);
  places.run = RunFolder(places.short_instance);
}

}  // namespace

Result<void> WriteFile(const std::string& path, const std::string& text, mode_t mode) {
  const std::string aside = path + ".new";
  const int fd = open(aside.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return Fail(Trouble("writing " + path));
  const bool whole = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool synced = whole && fchmod(fd, mode) == 0 && fsync(fd) == 0;
  close(fd);
  if (!synced || rename(aside.c_str(), path.c_str()) != 0) return Fail(Trouble("writing " + path));
  return {};
}

Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return Fail(Code::kNotFound, path + " is not there");
    return Fail(Trouble("reading " + path));
  }
  std::string text;
  char piece[4096];
  ssize_t got;
  while ((got = read(fd, piece, sizeof piece)) > 0 && text.size() <= max_bytes)
    text.append(piece, static_cast<size_t>(got));
  close(fd);
  if (got < 0) return Fail(Trouble("reading " + path));
  if (text.size() > max_bytes) return Fail(Code::kTooLarge, path + " is larger than it can be");
  return text;
}

Result<Places> Prepare(const std::string& data, const std::string& service_user, const Clock& clock,
                       Random& random) {
  Places places;
  places.data = Absolute(data);
  places.root = geteuid() == 0;
  ASSIGN_OR_RETURN(places.service, FindServiceUser(service_user));
  const std::string marker = places.data + "/instance.json";
  if (access(marker.c_str(), F_OK) != 0 && !IsEmpty(places.data)) {
    return Fail(
        Error(Code::kForbidden, "data_folder_not_ours", {{"path", places.data}},
              places.data + " holds other things and no cubeplane: name an empty or new folder with --data"));
  }
  const uid_t owner = places.root ? 0 : geteuid();
  const gid_t group = places.service.gid;
  RETURN_IF_ERROR(MakeParents(places.data));
  RETURN_IF_ERROR(MakeFolder(places.data, places.root ? 01771 : 0711, owner, group));
  std::string instance;
  Result<std::string> known = ReadFile(marker, kMaxSmallFile);
  if (known) {
    ASSIGN_OR_RETURN(const json::Value value, json::Parse(*known));
    instance = value["instance"].AsString();
    if (instance.size() != 36) return Fail(Code::kForbidden, marker + " is damaged: it names no instance");
  } else {
    if (known.error().code != Code::kNotFound) return Fail(known.error());
    instance = NewUuid(clock, random);
    RETURN_IF_ERROR(WriteFile(
        marker, json::WritePretty(json::Object{{"instance", instance}, {"format", 1}}) + "\n", 0644));
  }
  Fill(places, instance);
  if (places.run.size() > kMaxRunPath) {
    return Fail(Code::kInvalid, "the run folder " + places.run +
                                    " is too long for Unix sockets: set XDG_RUNTIME_DIR to a shorter path");
  }
  RETURN_IF_ERROR(MakeFolder(places.data + "/keys", 0700, places.service.uid, group));
  RETURN_IF_ERROR(MakeFolder(places.data + "/logs", 0700, places.service.uid, group));
  RETURN_IF_ERROR(MakeParents(places.run));
  RETURN_IF_ERROR(MakeFolder(places.run, places.root ? 01771 : 0711, owner, group));
  RETURN_IF_ERROR(MakeFolder(places.gateway_run(), 0700, places.service.uid, group));
  RETURN_IF_ERROR(MakeFolder(places.data + "/gateway", 0700, places.service.uid, group));
  return places;
}

Result<Places> Open(const std::string& data) {
  Places places;
  places.data = Absolute(data);
  places.root = geteuid() == 0;
  Result<std::string> marker = ReadFile(places.data + "/instance.json", kMaxSmallFile);
  if (!marker) return Fail(Code::kNotFound, "there is no cubeplane in " + places.data);
  ASSIGN_OR_RETURN(const json::Value value, json::Parse(*marker));
  const std::string& instance = value["instance"].AsString();
  if (instance.size() != 36)
    return Fail(Code::kForbidden, places.data + "/instance.json is damaged: it names no instance");
  Fill(places, instance);
  return places;
}

Result<DataLock> DataLock::Take(const Places& places) {
  const std::string path = places.data + "/lock";
  const int fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return Fail(Trouble("opening " + path));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    const std::optional<pid_t> holder = Holder(places);
    const std::string process = holder ? std::to_string(*holder) : "?";
    return Fail(Error(Code::kAlreadyExists, "data_folder_in_use",
                      {{"path", places.data}, {"process", process}},
                      places.data + " is in use by another cubeplane (process " + process +
                          "): stop it, or name another folder with --data"));
  }
  const std::string text = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0 || pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    const Error error = Trouble("writing " + path);
    close(fd);
    return Fail(error);
  }
  return DataLock(fd);
}

std::optional<pid_t> DataLock::Holder(const Places& places) {
  const std::string path = places.data + "/lock";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const bool is_free = flock(fd, LOCK_SH | LOCK_NB) == 0;
  char text[32] = {};
  const ssize_t got = is_free ? 0 : read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return {};
  const long pid = std::strtol(text, nullptr, 10);
  if (pid <= 1) return {};
  return static_cast<pid_t>(pid);
}

DataLock::DataLock(DataLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
DataLock::~DataLock() {
  if (fd_ >= 0) close(fd_);
}

Result<std::string> KeyFile(const Places& places, const std::string& name, Random& random) {
  const std::string path = places.data + "/keys/" + name;
  Result<std::string> known = ReadFile(path, kMaxSmallFile);
  if (known) {
    while (!known->empty() && known->back() == '\n') known->pop_back();
    if (known->size() < 64) return Fail(Code::kForbidden, path + " is damaged: it is too short for a key");
    return known;
  }
  if (known.error().code != Code::kNotFound) return known;
  const std::string key = random.Hex(32);
  RETURN_IF_ERROR(WriteFile(path, key + "\n", 0600));
  return key;
}

namespace {

bool CanListen(uint16_t port) {
  for (const int family : {AF_INET, AF_INET6}) {
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int done;
    if (family == AF_INET) {
      sockaddr_in address{
          .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
      done = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    } else {
      setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
      sockaddr_in6 address{
          .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
      done = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    }
    if (done == 0) done = listen(fd, 1);
    close(fd);
    if (done != 0) return false;
  }
  return true;
}

}  // namespace

Result<uint16_t> FreePort(uint16_t from) {
  for (uint16_t port = from; port < 65000 && port < from + 200; ++port) {
    if (CanListen(port)) return port;
  }
  return Fail(Code::kAlreadyExists,
              "no port from " + std::to_string(from) + " on is free: choose one with --port");
}

}  // namespace cubeplane::cmd
