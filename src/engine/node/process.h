// Children of the supervisor: forked while it is single-threaded, placed in their control group before they
// do anything.
#pragma once

#include <sys/types.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/node/sys.h"

namespace cubeplane::engine::node {

// Puts a new child where it belongs (control group) while the child waits.
using Place = std::function<Result<void>(pid_t)>;

// Forks. The child waits until `place` has succeeded, clears its signal mask, runs `body` and exits with its
// value; it never returns from here. When `place` fails the child is killed.
Result<pid_t> SpawnChild(const Place& place, const std::function<int()>& body);

// For use in a child, in this order. As root: drops groups and takes uid and gid `uid` for good; without
// root: nothing. The process stays dumpable, so that its namespaces can be opened from outside.
Result<void> BecomeTenant(uid_t uid);
// The kernel kills this process when `parent`, the supervisor, ends. After every change of user id, which
// would erase it.
Result<void> DieWithParent(pid_t parent);
// Joins the user namespace, then the network namespace that it owns.
Result<void> JoinNamespaces(int user_fd, int net_fd);
// Closes every descriptor from 3 up but these, and lets these pass through exec.
void KeepOnly(std::initializer_list<int> fds);
// Replaces the process; returns only on failure, with the reason.
Error Exec(const std::string& program, const std::vector<std::string>& arguments);
// Writes "cubeplane: <what>" to stderr, for a child that cannot go on; gives its exit status.
int ChildFailed(const Error& error);

}  // namespace cubeplane::engine::node
