#include "engine/node/node_setup.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/random.h"
#include "json/json.h"

namespace cubeplane::engine::node {
namespace {

// A folder that only this user can change: what lies in it can then be trusted to be what we put there.
Result<Fd> OwnFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0711) != 0 && errno != EEXIST) return Fail(SysError("making folder " + path));
  Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return Fail(SysError("opening folder " + path));
  struct stat info{};
  if (fstat(folder.get(), &info) != 0) return Fail(SysError("looking at " + path));
  if (info.st_uid != geteuid() || (info.st_mode & 022) != 0) {
    return Fail(Code::kForbidden, "the folder " + path + " must belong to the node's user (uid " +
                                      std::to_string(geteuid()) + ") and be writable by nobody else");
  }
  if (fchmod(folder.get(), 0711) != 0) return Fail(SysError("setting the mode of " + path));
  return folder;
}

Result<std::string> HashFile(int fd) {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  EVP_DigestInit_ex(context, EVP_sha256(), nullptr);
  std::string buffer(1u << 20, '\0');
  ssize_t got = 0;
  off_t at = 0;
  while ((got = pread(fd, buffer.data(), buffer.size(), at)) > 0) {
    EVP_DigestUpdate(context, buffer.data(), static_cast<size_t>(got));
    at += got;
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(context, digest, &size);
  EVP_MD_CTX_free(context);
  if (got < 0) return Fail(SysError("reading this program"));
  std::string text;
  for (unsigned i = 0; i < 12; ++i) {
    text += "0123456789abcdef"[digest[i] >> 4];
    text += "0123456789abcdef"[digest[i] & 15];
  }
  return text;
}

Result<std::string> CopyBinary(const std::string& data) {
  ASSIGN_OR_RETURN(const Fd folder, OwnFolder(data + "/bin"));
  const Fd self(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (!self) return Fail(SysError("opening this program"));
  ASSIGN_OR_RETURN(const std::string hash, HashFile(self.get()));
  const std::string name = "cubeplane-" + hash;
  struct stat info{};
  if (fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return data + "/bin/" + name;
  const std::string temporary = name + ".new";
  unlinkat(folder.get(), temporary.c_str(), 0);
  ASSIGN_OR_RETURN(const Fd copy, OpenBeneath(folder.get(), temporary, O_WRONLY | O_CREAT | O_EXCL, 0755));
  if (fstat(self.get(), &info) != 0) return Fail(SysError("looking at this program"));
  for (off_t left = info.st_size; left > 0;) {
    const ssize_t done = sendfile(copy.get(), self.get(), nullptr, static_cast<size_t>(left));
    if (done <= 0) return Fail(SysError("copying this program to " + data + "/bin"));
    left -= done;
  }
  if (fchmod(copy.get(), 0755) != 0 || fsync(copy.get()) != 0) return Fail(SysError("copying this program"));
  if (renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) != 0) {
    return Fail(SysError("copying this program"));
  }
  return data + "/bin/" + name;
}

}  // namespace

Result<NodeRecord> ReadNodeRecord(int pods) {
  ASSIGN_OR_RETURN(const std::string text, ReadFileAt(pods, kNodeRecord, 1u << 16));
  ASSIGN_OR_RETURN(const json::Value value, json::Parse(text));
  return NodeRecord{value["instance"].AsString(), value["run"].AsString(),
                    static_cast<pid_t>(value["pid"].AsInt()), static_cast<uint64_t>(value["start"].AsInt())};
}

Result<NodeFolders> SetUpNode(NodeConfig& config) {
  NodeFolders folders;
  ASSIGN_OR_RETURN(folders.pods, OwnFolder(config.data + "/pods"));
  ASSIGN_OR_RETURN(folders.lock, OpenBeneath(folders.pods.get(), kNodeLock, O_RDWR | O_CREAT, 0600));
  if (!TryLock(folders.lock.get())) {
    return Fail(Code::kUnavailable, "the data folder " + config.data + " is in use by another node process");
  }
  ASSIGN_OR_RETURN(folders.projects, OwnFolder(config.data + "/projects"));
  ASSIGN_OR_RETURN(config.binary, CopyBinary(config.data));
  if (auto run = OwnFolder(config.run + "/pods"); !run) return Fail(run.error());

  auto record = ReadNodeRecord(folders.pods.get());
  if (!record && record.error().code != Code::kNotFound)
    return Fail(record.error().Wrap("the node's record"));
  config.instance = record ? record->instance : SystemRandom().Hex(6);
  const json::Object now{{"instance", config.instance},
                         {"run", config.run},
                         {"pid", static_cast<int64_t>(getpid())},
                         {"start", static_cast<int64_t>(ProcessStart(getpid()))}};
  RETURN_IF_ERROR(WriteFileAt(folders.pods.get(), kNodeRecord, json::Write(now), 0600, true));
  return folders;
}

}  // namespace cubeplane::engine::node
