// Pods as JSON: what travels between client, node and supervisor and what lies in a pod's folder; and what
// may be asked for.
#pragma once

#include <string_view>

#include "base/result.h"
#include "engine/runtime.h"
#include "json/value.h"

namespace cubeplane::engine::node {

// The version of the lines between client and node and of the packets between node and supervisor. A node
// speaks this one and the one before.
inline constexpr int kProtocol = 1;
inline constexpr size_t kMaxLineBytes = 8u
                                        << 20;  // one request: archives in base64, an environment, and room
inline constexpr size_t kMaxArchiveBytes = 1u << 20;  // a kCode archive, compressed
inline constexpr size_t kMaxTerminationBytes = 4096;
inline constexpr size_t kMaxEnv = 1024, kMaxArgs = 1024, kMaxMounts = 32, kMaxDevices = 64;
inline constexpr size_t kMaxTextBytes = 128u << 10;  // one argument or variable: the kernel's own bound
inline constexpr int64_t kDefaultScratchBytes = 1ll << 30;

json::Value ToJson(const PodRun& run);
json::Value ToJson(const PodState& state);
json::Value ToJson(const Tenant& tenant);
json::Value ToJson(const Error& error);
// Lenient about unknown members (the other side may be newer); kInvalid for values that no version has.
Result<PodRun> PodRunFromJson(const json::Value& value);
PodState PodStateFromJson(const json::Value& value);
Tenant TenantFromJson(const json::Value& value);
Error ErrorFromJson(const json::Value& value);

// kInvalid with the fields at fault: names, sizes, mount paths, devices. Touches nothing.
Result<void> CheckRun(const PodRun& run);
// 1..64 of a-z, A-Z, 0-9, '-', '_', '.', beginning with a letter or digit: safe as the name of a file.
bool IsSafeName(std::string_view name);

}  // namespace cubeplane::engine::node
