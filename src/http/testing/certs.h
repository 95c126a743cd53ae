// Certificates made on the spot, for tests of TLS.
#pragma once

#include <string>

namespace cubeplane::http::testing {

struct KeyPair {
  std::string cert_pem, key_pem;
};

// A self-signed CA (`issuer` null) or a certificate signed by `issuer`. `names` is a subjectAltName text as
// OpenSSL reads it
// ("DNS:x,IP:127.0.0.1"), "" for none. `days` may be negative for one that is no longer valid.
KeyPair MakeCert(const std::string& common_name, const KeyPair* issuer, const std::string& names,
                 long days = 1);

}  // namespace cubeplane::http::testing
