// Keys and certificates of the engine's Kubernetes API on this machine: an authority of its own, one server
// certificate, and the file that kubectl wants.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace cubeplane::engine {

struct Pki {
  std::string ca_cert_pem, server_cert_pem, server_key_pem;
};

// Reads the three from `folder` (0700, the caller's), or makes them: P-256, the authority for ten years, the
// server (localhost, 127.0.0.1, ::1) for one; it is made anew when fewer than 30 days are left. The
// authority's key is thrown away after signing: a new server certificate comes with a new authority. Errors:
// kInternal, kStoreFull.
Result<Pki> LoadOrMakePki(const std::string& folder, const Clock& clock);

// A kubeconfig with the server's address, the authority and a bearer token.
std::string Kubeconfig(const std::string& server, const std::string& ca_cert_pem, const std::string& token);

}  // namespace cubeplane::engine
