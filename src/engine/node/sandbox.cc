#include "engine/node/sandbox.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "engine/node/cgroup.h"
#include "engine/node/pod_init.h"
#include "engine/node/spec.h"
#include "engine/node/sys.h"

namespace cubeplane::engine::node {
namespace {

constexpr const char* kUser = "user";
constexpr const char* kPath = "/opt/env/bin:/usr/local/bin:/usr/bin:/bin";
constexpr const char* kHostLibraries =
    "/run/host";  // where pod init finds its libraries in an image of another make
constexpr const char* kInit = "/run/podinit";
// What programs want from /etc, and nothing that names the machine's people or secrets.
constexpr const char* kEtc[] = {"alternatives", "ca-certificates", "fonts",        "gai.conf",
                                "ld.so.cache",  "ld.so.conf",      "ld.so.conf.d", "localtime",
                                "magic",        "mime.types",      "protocols",    "services",
                                "ssl/certs",    "ssl/openssl.cnf", "terminfo",     "timezone"};
constexpr const char* kOwnEtc[] = {"passwd", "group", "hosts", "resolv.conf", "nsswitch.conf", "hostname"};

#if defined(__x86_64__)
constexpr const char* kLoader = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
constexpr const char* kLibraryFolder = "lib/x86_64-linux-gnu";
#elif defined(__aarch64__)
constexpr const char* kLoader = "lib/aarch64-linux-gnu/ld-linux-aarch64.so.1";
constexpr const char* kLibraryFolder = "lib/aarch64-linux-gnu";
#else
#error "name the dynamic loader of this architecture"
#endif

std::string Staged(const std::string& name) { return std::string(kStage) + "/" + name; }

bool IsFolder(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

class Planner {
 public:
  Planner(const PodFile& pod, Image image) : pod_(pod), run_(pod.run), image_(std::move(image)) {}

  Result<SandboxPlan> Plan(int seccomp_fd, int control_fd) {
    plan_.stage.uid = geteuid() == 0 ? run_.tenant.uid : 0;
    Namespaces();
    Environment();
    if (image_.root.empty()) {
      MachineRoot();
    } else {
      RETURN_IF_ERROR(ImageRoot());
    }
    OwnEtc();
    Devices();
    MemoryFolders();
    RETURN_IF_ERROR(Mounts());
    Init();
    Add({"--remount-ro", "/run", "--remount-ro", "/", "--chdir", "/"});
    Add({"--seccomp", std::to_string(seccomp_fd)});
    Command(control_fd);
    return std::move(plan_);
  }

 private:
  void Add(std::initializer_list<std::string> arguments) {
    plan_.options.insert(plan_.options.end(), arguments);
  }

  void Namespaces() {
    Add({"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--uid",
         "1000", "--gid", "1000", "--disable-userns", "--hostname", Hostname(), "--new-session", "--as-pid-1",
         "--die-with-parent", "--cap-drop", "ALL", "--clearenv"});
  }

  // The kernel's bound is 64 bytes.
  std::string Hostname() const { return run_.name.substr(0, 63); }

  std::string Home() const {
    for (const Mount& mount : run_.mounts) {
      if (mount.kind == Mount::Kind::kData) return mount.path;
    }
    return "/tmp";
  }

  void Environment() {
    std::vector<std::pair<std::string, std::string>> env = {
        {"PATH", kPath},     {"HOME", Home()},     {"USER", kUser},          {"LOGNAME", kUser},
        {"LANG", "C.UTF-8"}, {"SHELL", "/bin/sh"}, {"HOSTNAME", Hostname()}, {"TMPDIR", "/tmp"}};
    env.insert(env.end(), run_.env.begin(), run_.env.end());
    for (const auto& [key, value] : env) Add({"--setenv", key, value});
  }

  void MachineRoot() {
    Add({"--ro-bind", "/usr", "/usr"});
    for (const std::string name : {"bin", "sbin", "lib", "lib64", "lib32"}) {
      if (IsFolder("/usr/" + name)) Add({"--symlink", "usr/" + name, "/" + name});
    }
    for (const std::string name : kEtc) Add({"--ro-bind-try", "/etc/" + name, "/etc/" + name});
    plan_.stage.folders.push_back({"env", image_.environment, "", false});
    Add({"--ro-bind", Staged("env"), "/opt/env"});
  }

  Result<void> ImageRoot() {
    plan_.stage.folders.push_back({"root", image_.root, "", false});
    RETURN_IF_ERROR(BindEntries("", {"proc", "dev", "sys", "tmp", "run", "etc", "mnt"}));
    return BindEntries("etc/", {std::begin(kOwnEtc), std::end(kOwnEtc)});
  }

  // Each entry of the image's folder by itself: the sandbox's own root stays writable for its mount points.
  Result<void> BindEntries(const std::string& below, const std::vector<std::string>& except) {
    const auto folder = OpenDir(image_.root + "/" + below);
    if (!folder) return below.empty() ? Result<void>(Fail(folder.error())) : Result<void>();
    for (const std::string& name : ListDir(folder->get())) {
      if (std::find(except.begin(), except.end(), name) != except.end()) continue;
      const std::string path = "/" + below + name;
      if (std::any_of(run_.mounts.begin(), run_.mounts.end(),
                      [&](const Mount& mount) { return mount.path == path; })) {
        continue;
      }
      char target[PATH_MAX];
      const ssize_t size = readlinkat(folder->get(), name.c_str(), target, sizeof target);
      if (size > 0) {
        Add({"--symlink", std::string(target, static_cast<size_t>(size)), path});
      } else {
        Add({"--ro-bind", Staged("root") + path, path});
      }
    }
    return {};
  }

  void OwnEtc() {
    const std::string home = Home();
    Text("passwd", std::string("root:x:0:0:root:/root:/usr/sbin/nologin\nuser:x:1000:1000:user:") + home +
                       ":/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
    Text("group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n");
    Text("hosts", "127.0.0.1 localhost " + Hostname() + "\n");
    Text("resolv.conf", "nameserver 10.0.2.3\noptions timeout:2 attempts:2\n");
    Text("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
    Text("hostname", Hostname() + "\n");
  }
  void Text(const std::string& name, std::string text) {
    plan_.stage.texts.emplace_back(name, std::move(text));
    Add({"--ro-bind", Staged(name), "/etc/" + name});
  }

  void Devices() {
    plan_.stage.termination_file = "termination";
    Add({"--proc", "/proc", "--dev", "/dev"});
    for (const std::string& device : run_.devices) Add({"--dev-bind", device, device});
    Add({"--bind", Staged("termination"), kTerminationFile});
    Add({"--size", std::to_string(run_.shm_bytes), "--tmpfs", "/dev/shm", "--mqueue", "/dev/mqueue"});
    Add({"--remount-ro", "/dev"});
  }

  void MemoryFolders() {
    Add({"--size", std::to_string(run_.tmp_bytes), "--perms", "1777", "--tmpfs", "/tmp"});
    Add({"--size", "1048576", "--perms", "0755", "--tmpfs", "/run"});
  }

  // Outer mounts first: a mount below another would else be covered by it.
  Result<void> Mounts() {
    std::vector<size_t> order(run_.mounts.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return run_.mounts[a].path < run_.mounts[b].path; });
    for (const size_t index : order) {
      const Mount& mount = run_.mounts[index];
      const std::string name = "m" + std::to_string(index);
      if (mount.kind == Mount::Kind::kScratch) {
        const int64_t size = mount.size_bytes > 0 ? mount.size_bytes : kDefaultScratchBytes;
        Add({"--size", std::to_string(size), "--perms", "0755", "--tmpfs", mount.path});
      } else if (mount.kind == Mount::Kind::kCode) {
        plan_.stage.folders.push_back(
            {name, PodFolder(pod_.node, run_.uid) + "/" + CodeFolder(index), "", false});
        Add({"--ro-bind", Staged(name), mount.path});
      } else {
        plan_.stage.folders.push_back({name, run_.tenant.data_folder, mount.sub_path, true});
        Add({"--bind", Staged(name), mount.path});
      }
    }
    return {};
  }

  void Init() {
    plan_.stage.files.emplace_back("init", pod_.node.binary);
    Add({"--ro-bind", Staged("init"), kInit});
    if (!image_.root.empty()) Add({"--ro-bind", "/usr", kHostLibraries});
  }

  void Command(int control_fd) {
    if (!image_.root.empty()) {
      const std::string host = std::string(kHostLibraries) + "/";
      plan_.command = {host + kLoader, "--library-path", host + kLibraryFolder};
    }
    for (const std::string word : {kInit, "pod-init"}) plan_.command.push_back(word);
    plan_.command.push_back(std::to_string(control_fd));
    plan_.command.push_back(run_.working_dir);
    plan_.command.push_back(std::to_string(DetectCgroups() == CgroupKind::kNone ? run_.memory_bytes : 0));
    plan_.command.insert(plan_.command.end(), run_.command.begin(), run_.command.end());
  }

  const PodFile& pod_;
  const PodRun& run_;
  const Image image_;
  SandboxPlan plan_;
};

}  // namespace

std::string CodeFolder(size_t index) { return "code" + std::to_string(index); }

Result<Image> ResolveImage(const NodeConfig& node, const std::string& image) {
  if (image.starts_with("dir:/")) {
    const std::string root = image.substr(4);
    if (!IsFolder(root + "/usr"))
      return Fail(Code::kInvalid, "the image " + image + " is not a root folder on this machine");
    return Image{"", root};
  }
  if (image.starts_with("env:")) {
    const auto found = node.environments.find(image.substr(4));
    if (found != node.environments.end() && IsFolder(found->second)) return Image{found->second, ""};
  }
  std::string known;
  for (const auto& [name, folder] : node.environments) known += (known.empty() ? "" : ", ") + ("env:" + name);
  return Fail(Code::kInvalid, "the image '" + image.substr(0, 200) +
                                  "' is not on this machine; there is: " + (known.empty() ? "none" : known));
}

Result<SandboxPlan> PlanSandbox(const PodFile& pod, int seccomp_fd, int control_fd) {
  ASSIGN_OR_RETURN(Image image, ResolveImage(pod.node, pod.run.image));
  return Planner(pod, std::move(image)).Plan(seccomp_fd, control_fd);
}

}  // namespace cubeplane::engine::node
