#include "engine/node/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/node/door.h"

namespace cubeplane::engine::node {
namespace {

constexpr int kHandshakeMs = 5000;
constexpr int kSlirpReadyMs = 5000;
constexpr const char* kPrivateNetworks =
    "0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24, "
    "192.168.0.0/16, "
    "198.18.0.0/15, 224.0.0.0/3";

// `uid` and `gid` as they were outside: inside the new namespace nobody has a name yet.
Result<void> MapTenant(uid_t uid, gid_t gid) {
  RETURN_IF_ERROR(WriteKernelFile("/proc/self/setgroups", "deny"));
  const std::string uid_line = "0 " + std::to_string(uid) + " 1";
  const std::string gid_line = "0 " + std::to_string(gid) + " 1";
  RETURN_IF_ERROR(WriteKernelFile("/proc/self/uid_map", uid_line));
  return WriteKernelFile("/proc/self/gid_map", gid_line);
}

Result<void> RaiseLoopback() {
  const Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (ioctl(fd.get(), SIOCSIFFLAGS, &request) != 0) return Fail(SysError("raising the pod's loopback"));
  return {};
}

void DropCapabilities() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  syscall(SYS_capset, &header, none);
}

Result<void> MakeNamespaces(uid_t uid, pid_t parent) {
  RETURN_IF_ERROR(BecomeTenant(uid));
  const uid_t outer_uid = geteuid();
  const gid_t outer_gid = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return Fail(SysError("making the pod's network namespace"));
  RETURN_IF_ERROR(MapTenant(outer_uid, outer_gid));
  RETURN_IF_ERROR(RaiseLoopback());
  return DieWithParent(parent);
}

// The door's process: makes the namespaces, waits until the supervisor has opened them, then serves.
int HoldDoor(DoorPlan plan, uid_t uid, pid_t parent) {
  prctl(PR_SET_NAME, "cubeplane-door");
  const auto made = MakeNamespaces(uid, parent);
  const std::string word = made ? "ok" : made.error().message;
  if (send(plan.control.get(), word.data(), word.size(), MSG_NOSIGNAL) < 0 || !made) return 1;
  char go = 0;
  if (recv(plan.control.get(), &go, 1, 0) != 1) return 1;
  // Stays dumpable: slirp4netns opens our namespaces by /proc. The pod cannot use that, it has no rights in
  // this user namespace.
  DropCapabilities();
  return RunDoor(std::move(plan));
}

// As root, /dev/net/tun may be closed to tenants (0600): the network's process gets a device file of its own,
// in a mount namespace of its own, and the machine's stays as it is.
Result<void> OwnTunDevice() {
  if (unshare(CLONE_NEWNS) != 0) return Fail(SysError("making a mount namespace"));
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return Fail(SysError("making mounts private"));
  mkdir("/dev/net", 0755);
  if (mount("tmpfs", "/dev/net", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=16k,mode=755") != 0) {
    return Fail(SysError("covering /dev/net"));
  }
  if (mknod("/dev/net/tun", S_IFCHR | 0666, makedev(10, 200)) != 0 || chmod("/dev/net/tun", 0666) != 0) {
    return Fail(SysError("making a tun device"));
  }
  return {};
}

Result<int> WaitFor(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return Fail(SysError("waiting for a child"));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

const char* FindNft() {
  for (const char* path : {"/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return nullptr;
}

}  // namespace

bool IsIpv4Network(const std::string& text) {
  const size_t slash = text.find('/');
  in_addr address{};
  if (inet_pton(AF_INET, text.substr(0, slash).c_str(), &address) != 1) return false;
  if (slash == std::string::npos) return true;
  const std::string bits = text.substr(slash + 1);
  return !bits.empty() && bits.size() <= 2 && bits.find_first_not_of("0123456789") == std::string::npos &&
         atoi(bits.c_str()) <= 32;
}

std::vector<std::string> HostAddresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof text)) addresses.emplace_back(text);
  }
  freeifaddrs(list);
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

std::string FirewallRules(const std::vector<std::string>& host_addresses,
                          const std::vector<std::string>& allow) {
  std::string rules =
      "add table inet cubeplane\n"
      "delete table inet cubeplane\n"
      "table inet cubeplane {\n"
      " chain out {\n"
      "  type filter hook output priority 0; policy drop;\n"
      "  oifname \"lo\" accept\n"
      "  meta nfproto ipv6 reject\n"
      "  ip daddr 10.0.2.3 meta l4proto { tcp, udp } th dport 53 accept\n";
  // The host's own addresses come before what is allowed: a network opened by setting does not open the host.
  for (const std::string& address : host_addresses) rules += "  ip daddr " + address + " reject\n";
  for (const std::string& network : allow) rules += "  ip daddr " + network + " accept\n";
  rules += "  ip daddr { " + std::string(kPrivateNetworks) + " } reject\n";
  rules += "  accept\n }\n}\n";
  return rules;
}

Result<void> PodNetwork::Begin(NetworkPlan plan) {
  plan_ = std::move(plan);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return Fail(SysError("making a socket pair"));
  control_ = Fd(pair[0]);
  Fd theirs(pair[1]);
  const pid_t parent = getpid();
  ASSIGN_OR_RETURN(door_, SpawnChild(place_, [&] {
                     const int listener = plan_.listener ? plan_.listener.get() : -1;
                     KeepOnly({listener, theirs.get()});
                     DoorPlan door{Fd(listener), std::move(theirs), plan_.door_port, plan_.door_secret};
                     return HoldDoor(std::move(door), plan_.uid, parent);
                   }));
  theirs.Reset();
  plan_.listener.Reset();
  pollfd wait{control_.get(), POLLIN, 0};
  char word[512] = {};
  if (poll(&wait, 1, kHandshakeMs) != 1)
    return Fail(Code::kTimeout, "the pod's network namespace was not made in 5 s");
  const ssize_t got = recv(control_.get(), word, sizeof word - 1, 0);
  if (got <= 0) return Fail(Code::kUnavailable, "the door's process ended at its start");
  if (std::string_view(word) != "ok") return Fail(Code::kUnavailable, word);
  const std::string folder = "/proc/" + std::to_string(door_) + "/ns/";
  user_ = Fd(open((folder + "user").c_str(), O_RDONLY | O_CLOEXEC));
  net_ = Fd(open((folder + "net").c_str(), O_RDONLY | O_CLOEXEC));
  if (!user_ || !net_) return Fail(SysError("opening the pod's namespaces"));
  if (send(control_.get(), "g", 1, MSG_NOSIGNAL) != 1) return Fail(SysError("starting the door"));
  return {};
}

Result<void> PodNetwork::ConnectOut() {
  host_addresses_ = HostAddresses();
  RETURN_IF_ERROR(ApplyFirewall(host_addresses_));
  return StartSlirp();
}

Result<void> PodNetwork::RefreshFirewall() {
  std::vector<std::string> now = HostAddresses();
  if (slirp_ == 0 || now == host_addresses_) return {};
  host_addresses_ = std::move(now);
  return ApplyFirewall(host_addresses_);
}

Result<void> PodNetwork::ApplyFirewall(const std::vector<std::string>& host_addresses) {
  const char* nft = FindNft();
  if (!nft)
    return Fail(Code::kUnavailable, "nft is not installed, and without a firewall a pod gets no way out");
  ASSIGN_OR_RETURN(const Fd rules, MemoryFile(FirewallRules(host_addresses, plan_.outbound_allow)));
  const pid_t parent = getpid();
  ASSIGN_OR_RETURN(const pid_t child, SpawnChild(place_, [&]() -> int {
                     dup2(rules.get(), STDIN_FILENO);
                     auto joined = BecomeTenant(plan_.uid);
                     if (joined) joined = JoinNamespaces(user_.get(), net_.get());
                     if (joined) joined = DieWithParent(parent);
                     if (!joined) return ChildFailed(joined.error());
                     KeepOnly({});
                     return ChildFailed(Exec(nft, {"-f", "-"}));
                   }));
  ASSIGN_OR_RETURN(const int status, WaitFor(child));
  if (status != 0)
    return Fail(Code::kUnavailable, "nft refused the pod's firewall; without it a pod gets no way out");
  return {};
}

Result<void> PodNetwork::StartSlirp() {
  int ready[2], exit[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return Fail(SysError("making a pipe"));
  Fd ready_read(ready[0]), ready_write(ready[1]);
  if (pipe2(exit, O_CLOEXEC) != 0) return Fail(SysError("making a pipe"));
  Fd exit_read(exit[0]);
  slirp_exit_ = Fd(exit[1]);
  const pid_t parent = getpid();
  const auto body = [&]() -> int {
    if (geteuid() == 0) {
      if (auto tun = OwnTunDevice(); !tun) return ChildFailed(tun.error());
    }
    auto set = BecomeTenant(plan_.uid);
    if (set) set = DieWithParent(parent);
    if (!set) return ChildFailed(set.error());
    KeepOnly({exit_read.get(), ready_write.get()});
    // Its sandbox joins the user namespace a second time, and by process id only: a path to the network will
    // not do.
    const std::string door = std::to_string(door_);
    return ChildFailed(
        Exec("/usr/bin/slirp4netns",
             {"--configure", "--mtu=65520", "--disable-host-loopback", "--enable-sandbox", "--enable-seccomp",
              "--userns-path=/proc/" + door + "/ns/user", "--exit-fd=" + std::to_string(exit_read.get()),
              "--ready-fd=" + std::to_string(ready_write.get()), door, "tap0"}));
  };
  ASSIGN_OR_RETURN(slirp_, SpawnChild(place_, body));
  ready_write.Reset();
  pollfd wait{ready_read.get(), POLLIN, 0};
  char byte = 0;
  if (poll(&wait, 1, kSlirpReadyMs) == 1 && read(ready_read.get(), &byte, 1) == 1) return {};
  kill(slirp_, SIGKILL);
  slirp_ = 0;
  return Fail(Code::kUnavailable, "slirp4netns did not start (is /dev/net/tun open to this user?)");
}

bool PodNetwork::LostWayOut(pid_t pid) {
  if (pid == 0 || pid != slirp_) return false;
  slirp_ = 0;
  return true;
}

bool PodNetwork::LostDoor(pid_t pid) {
  if (pid == 0 || pid != door_) return false;
  door_ = 0;
  return true;
}

Result<Fd> PodNetwork::ProbeSocket() { return AskForSocket(control_.get()); }

void PodNetwork::End() {
  for (pid_t* pid : {&slirp_, &door_}) {
    if (*pid > 0) kill(*pid, SIGKILL);
    *pid = 0;
  }
  control_.Reset();
  slirp_exit_.Reset();
}

}  // namespace cubeplane::engine::node
