// The system call filter of the sandbox.
#pragma once

#include "base/result.h"
#include "engine/node/sys.h"

namespace cubeplane::engine::node {

// A memory file with the compiled filter, for `bwrap --seccomp`. Refused with EPERM: keys, bpf, userfaultfd,
// mounts, namespaces, perf, file handles, quota, modules, injected terminal input, sockets other than Unix,
// IPv4, IPv6, netlink. ENOSYS for clone3 and io_uring, from which glibc and libuv fall back. Foreign
// architectures are killed.
Result<Fd> SeccompFilter();

}  // namespace cubeplane::engine::node
