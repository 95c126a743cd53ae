#include "controller/door_key.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace cubeplane::controller {

std::string DoorKey::SecretOf(const std::string& workload_uid) const {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
       reinterpret_cast<const unsigned char*>(workload_uid.data()), workload_uid.size(), digest, &size);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text.push_back(kDigits[digest[i] >> 4]);
    text.push_back(kDigits[digest[i] & 15]);
  }
  return text;
}

}  // namespace cubeplane::controller
