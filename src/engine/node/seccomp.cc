#include "engine/node/seccomp.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace cubeplane::engine::node {
namespace {

constexpr const char* kForbidden[] = {"keyctl",
                                      "add_key",
                                      "request_key",
                                      "bpf",
                                      "userfaultfd",
                                      "mount",
                                      "umount2",
                                      "move_mount",
                                      "open_tree",
                                      "fsopen",
                                      "fsconfig",
                                      "fsmount",
                                      "fspick",
                                      "mount_setattr",
                                      "pivot_root",
                                      "chroot",
                                      "setns",
                                      "unshare",
                                      "perf_event_open",
                                      "open_by_handle_at",
                                      "name_to_handle_at",
                                      "quotactl",
                                      "quotactl_fd",
                                      "init_module",
                                      "finit_module",
                                      "delete_module",
                                      "kexec_load",
                                      "kexec_file_load",
                                      "swapon",
                                      "swapoff",
                                      "reboot",
                                      "acct",
                                      "iopl",
                                      "ioperm",
                                      "syslog",
                                      "settimeofday",
                                      "clock_settime",
                                      "adjtimex",
                                      "vhangup",
                                      "lookup_dcookie",
                                      "nfsservctl",
                                      "uselib"};
constexpr const char* kAbsent[] = {"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"};
constexpr uint64_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

bool Add(scmp_filter_ctx filter, int error, const char* name) {
  const int number = seccomp_syscall_resolve_name(name);
  // Not a call of this architecture: nothing to refuse.
  if (number == __NR_SCMP_ERROR || number < 0) return true;
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(error), number, 0) == 0;
}

bool AddNamespaces(scmp_filter_ctx filter) {
  // One rule per flag: the arguments of one rule are joined by "and".
  for (uint64_t flag = 1; flag <= kNamespaces; flag <<= 1) {
    if (!(kNamespaces & flag)) continue;
    if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                         SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)) != 0) {
      return false;
    }
  }
  return true;
}

// Families between and beyond the four that are allowed: UNIX 1, INET 2, INET6 10, NETLINK 16.
bool AddSockets(scmp_filter_ctx filter) {
  static_assert(AF_UNIX == 1 && AF_INET == 2 && AF_INET6 == 10 && AF_NETLINK == 16);
  for (const int call : {SCMP_SYS(socket), SCMP_SYS(socketpair)}) {
    for (uint64_t family = 0; family <= AF_NETLINK; ++family) {
      if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK) continue;
      if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), call, 1, SCMP_A0(SCMP_CMP_EQ, family)) !=
          0) {
        return false;
      }
    }
    if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), call, 1, SCMP_A0(SCMP_CMP_GT, AF_NETLINK)) !=
        0) {
      return false;
    }
  }
  return true;
}

bool Fill(scmp_filter_ctx filter) {
  for (const char* name : kForbidden) {
    if (!Add(filter, EPERM, name)) return false;
  }
  for (const char* name : kAbsent) {
    if (!Add(filter, ENOSYS, name)) return false;
  }
  // The kernel reads 32 bits of the request, so the filter compares 32.
  for (const uint64_t request : {uint64_t{TIOCSTI}, uint64_t{TIOCLINUX}}) {
    if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                         SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, request)) != 0) {
      return false;
    }
  }
  return AddNamespaces(filter) && AddSockets(filter);
}

}  // namespace

Result<Fd> SeccompFilter() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (!filter) return Fail(Code::kInternal, "the system call filter could not be made");
  ASSIGN_OR_RETURN(Fd file, MemoryFile(""));
  const bool made = Fill(filter) && seccomp_export_bpf(filter, file.get()) == 0;
  seccomp_release(filter);
  if (!made) return Fail(Code::kInternal, "the system call filter could not be compiled");
  if (lseek(file.get(), 0, SEEK_SET) != 0) return Fail(SysError("rewinding the system call filter"));
  return file;
}

}  // namespace cubeplane::engine::node
