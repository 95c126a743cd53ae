// The text of HAProxy's configuration: every check of the gateway stands in it. Pure: values in, text out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cubeplane::gateway {

// File names, relative to the state folder, in which HAProxy runs. They are also the maps' names on the admin
// socket.
inline constexpr char kConfigFile[] = "haproxy.cfg";
inline constexpr char kHostsMap[] = "maps/hosts.map";      // host -> "<server>|<owner>"
inline constexpr char kSecretsMap[] = "maps/secrets.map";  // server -> secret of the door
inline constexpr char kSessionsMap[] =
    "maps/sessions.map";                               // SHA-256 of the cookie -> "<user>|<expiry>|<host>"
inline constexpr char kPagesMap[] = "maps/pages.map";  // "<refusal>.<form>" -> body
inline constexpr char kBackend[] = "workloads";

struct ConfigInput {
  uint16_t port = 0;
  std::string instance;         // [a-z0-9]{1,32}
  std::string domain;           // "localhost"
  std::string admin_socket;     // absolute
  std::string platform_socket;  // absolute
  std::string state_key;        // base64; hides HAProxy's weak uuid() in the sign-in's state
  uint32_t max_connections = 0;
};

struct ServerLine {
  std::string name, upstream;
};

// Errors: kInvalid with the field.
Result<void> CheckConfig(const ConfigInput& input);
// What `show info` says as description: instance and a digest of the static part and of the pages, so that a
// running HAProxy of an older build is known.
std::string ConfigMark(const ConfigInput& input);
// Everything but the servers. The same input gives the same text. Both cost milliseconds: make them once.
std::string StaticConfig(const ConfigInput& input, const std::string& mark);
// The whole file; `servers` must have passed CheckRoute.
std::string WholeConfig(const std::string& static_config, const std::vector<ServerLine>& servers);
// "__Host-cubeplane-<instance>"
std::string CookieName(const std::string& instance);

}  // namespace cubeplane::gateway
