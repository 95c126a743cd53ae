#include "engine/base64.h"

#include <openssl/evp.h>

namespace cubeplane::engine {

std::string EncodeBase64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  if (text.empty()) return "";
  // EVP_DecodeBlock is lenient about blanks and padding within: both are refused here.
  const size_t end = text.find_last_not_of('=');
  if (end == std::string_view::npos || text.size() - end > 3 ||
      text.substr(0, end + 1).find_first_of("=- \t\r\n") != std::string_view::npos) {
    return std::nullopt;
  }
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  bytes.resize(static_cast<size_t>(size) - (text.size() - end - 1));
  return bytes;
}

}  // namespace cubeplane::engine
