// Small text helpers that the standard library lacks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cubeplane {

// RFC 4648, with padding.
std::string Base64(std::string_view bytes);
// nullopt for characters or padding that do not belong there.
std::optional<std::string> FromBase64(std::string_view text);

// SHA-256 in lower-case hexadecimal.
std::string Sha256Hex(std::string_view bytes);

}  // namespace cubeplane
