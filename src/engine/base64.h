// Base64 as Secrets and binaryData hold it (RFC 4648, with padding).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cubeplane::engine {

std::string EncodeBase64(std::string_view bytes);
// nullopt when malformed.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace cubeplane::engine
