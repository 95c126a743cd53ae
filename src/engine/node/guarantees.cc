#include "engine/node/guarantees.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "engine/node/cgroup.h"

namespace cubeplane::engine::node {
namespace {

constexpr std::array kHolds = {"hard", "partly", "none"};

std::string LayoutName() {
  switch (DetectCgroups()) {
    case CgroupKind::kV1:
      return "control groups v1";
    case CgroupKind::kV2:
      return "control groups v2";
    case CgroupKind::kNone:
      break;
  }
  return "no control groups";
}

}  // namespace

std::vector<Guarantee> Guarantees() {
  const bool root = geteuid() == 0;
  const std::vector<std::string> controllers = CgroupControllers();
  const auto has = [&](const char* name) {
    return std::find(controllers.begin(), controllers.end(), name) != controllers.end();
  };
  const std::string by = LayoutName();
  std::vector<Guarantee> rows;
  rows.push_back(
      has("memory")
          ? Guarantee{"memory", Hold::kHard, by + ": a limit per pod; a kill for want of memory is recorded"}
          : Guarantee{"memory", Hold::kPartly,
                      by + ": a limit per process (RLIMIT_DATA), none per pod, no record"});
  rows.push_back(has("pids")
                     ? Guarantee{"processes", Hold::kHard, by + ": a limit per pod"}
                     : Guarantee{"processes", Hold::kHard, "RLIMIT_NPROC in the pod's own user namespace"});
  rows.push_back(has("cpu") ? Guarantee{"cpu", Hold::kHard, by + ": a share of time per pod"}
                            : Guarantee{"cpu", Hold::kNone, by + ": a lower priority only"});
  rows.push_back(
      {"disk", Hold::kNone, "/data has no limit; /tmp, /dev/shm, /scratch and the log have hard ones"});
  const bool programs = access("/usr/bin/slirp4netns", X_OK) == 0 &&
                        (access("/usr/sbin/nft", X_OK) == 0 || access("/usr/bin/nft", X_OK) == 0);
  const bool tun = root || access("/dev/net/tun", R_OK | W_OK) == 0;
  if (programs && tun) {
    rows.push_back({"network", Hold::kHard,
                    "a private network per pod; private, link-local and the host's addresses refused"});
  } else {
    rows.push_back({"network", Hold::kPartly,
                    programs ? "pods have no way out: /dev/net/tun is closed to this user"
                             : "pods have no way out: slirp4netns or nft is not installed"});
  }
  rows.push_back(root ? Guarantee{"tenants", Hold::kHard, "a user id per project"}
                      : Guarantee{"tenants", Hold::kPartly,
                                  "one user id for all: one project, unless told to trust them all"});
  rows.push_back(
      controllers.empty()
          ? Guarantee{"orphans", Hold::kPartly,
                      "the kernel ends a pod with its supervisor; nothing finds what escapes that"}
          : Guarantee{"orphans", Hold::kHard, by + ": whatever is left of a pod is found and killed"});
  return rows;
}

json::Value ToJson(const std::vector<Guarantee>& guarantees) {
  json::Array rows;
  for (const Guarantee& row : guarantees) {
    rows.push_back(
        json::Object{{"what", row.what}, {"hold", kHolds[static_cast<size_t>(row.hold)]}, {"how", row.how}});
  }
  return rows;
}

std::vector<Guarantee> GuaranteesFromJson(const json::Value& value) {
  std::vector<Guarantee> rows;
  for (const json::Value& row : value.AsArray()) {
    const auto hold = std::find(kHolds.begin(), kHolds.end(), row["hold"].AsString());
    rows.push_back({row["what"].AsString(),
                    hold == kHolds.end() ? Hold::kNone : static_cast<Hold>(hold - kHolds.begin()),
                    row["how"].AsString()});
  }
  return rows;
}

}  // namespace cubeplane::engine::node
