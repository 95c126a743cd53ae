// The keeper of one pod: a process of its own, in a session of its own, that outlives node and control plane.
//
// It holds the lock of the pod's folder for as long as it lives (that lock, and nothing else, says that it
// lives), writes its record, owns log, door, network and sandbox, and talks to the node over packets on
// RUN/pods/<uid>/ctl:
//   up (at connect and with each change)  {"protocol":1,"state":{…}}      down  {"op":"stop","graceNs":N}
// When it dies, however, the kernel takes the whole tree with it.
// Threading: one thread, never more: children's death signals belong to the thread that made them.
#pragma once

namespace cubeplane::engine::node {

// argv: POD_FOLDER_FD REPORT_FD. Writes "ok\n" to REPORT_FD once the pod is under way, or an error as JSON
// when it can never start (nothing is left behind then but the folder).
int RunSupervisor(int argc, char** argv);

}  // namespace cubeplane::engine::node
