#include "engine/pki.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>

#include "base/strings.h"
#include "json/json.h"

namespace cubeplane::engine {
namespace {

constexpr long kDay_s = 86400;
constexpr long kAuthorityDays = 3650, kServerDays = 365, kRenewDays = 30;

template <auto free_function>
struct Deleter {
  template <class T>
  void operator()(T* thing) const {
    free_function(thing);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;

Error CryptoError(const std::string& doing) {
  return Error(Code::kInternal, doing + ": the cryptographic library refused");
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  if (!extension) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

struct Subject {
  const char* name;
  long days;
  bool authority;
};

// A certificate for `key`, signed by `issuer_key`; `issuer` null: by itself.
Certificate Sign(const Subject& subject, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key, time_t now) {
  Certificate certificate(X509_new());
  unsigned char serial[16];
  if (!certificate || RAND_bytes(serial, sizeof serial) != 1) return nullptr;
  serial[0] &= 0x7f;  // positive
  BIGNUM* number = BN_bin2bn(serial, sizeof serial, nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate.get()));
  BN_free(number);
  X509_set_version(certificate.get(), X509_VERSION_3);
  // A little into the past: clocks of clients differ.
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), now - 3600);
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), now + subject.days * kDay_s);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(subject.name),
                             -1, -1, 0);
  X509_set_issuer_name(certificate.get(), issuer ? X509_get_subject_name(issuer) : name);
  X509* by = issuer ? issuer : certificate.get();
  bool good = AddExtension(certificate.get(), by, NID_basic_constraints,
                           subject.authority ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
              AddExtension(certificate.get(), by, NID_key_usage,
                           subject.authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
  if (!subject.authority) {
    good = good && AddExtension(certificate.get(), by, NID_ext_key_usage, "serverAuth") &&
           AddExtension(certificate.get(), by, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1");
  }
  if (!good || X509_sign(certificate.get(), issuer_key, EVP_sha256()) == 0) return nullptr;
  return certificate;
}

std::string PemOf(X509* certificate) {
  Bio bio(BIO_new(BIO_s_mem()));
  return PEM_write_bio_X509(bio.get(), certificate) == 1 ? TextOf(bio.get()) : std::string();
}

std::string PemOf(EVP_PKEY* key) {
  Bio bio(BIO_new(BIO_s_mem()));
  return PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1
             ? TextOf(bio.get())
             : std::string();
}

Result<Pki> Make(time_t now) {
  Key authority_key(EVP_EC_gen("P-256")), server_key(EVP_EC_gen("P-256"));
  if (!authority_key || !server_key) return Fail(CryptoError("making keys"));
  const Certificate authority = Sign({"cubeplane engine authority", kAuthorityDays, true},
                                     authority_key.get(), nullptr, authority_key.get(), now);
  if (!authority) return Fail(CryptoError("making the authority's certificate"));
  const Certificate server = Sign({"cubeplane engine", kServerDays, false}, server_key.get(), authority.get(),
                                  authority_key.get(), now);
  if (!server) return Fail(CryptoError("making the server's certificate"));
  return Pki{PemOf(authority.get()), PemOf(server.get()), PemOf(server_key.get())};
}

std::string Read(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return {};
  std::string text(64 << 10, '\0');
  const ssize_t got = read(fd, text.data(), text.size());
  close(fd);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

Result<void> Write(const std::string& path, const std::string& text) {
  const std::string aside = path + ".new";
  const int fd = open(aside.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
  bool good =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  if (fd >= 0) close(fd);
  good = good && rename(aside.c_str(), path.c_str()) == 0;
  if (good) return {};
  return Fail(errno == ENOSPC ? Code::kStoreFull : Code::kInternal,
              "writing " + path + ": " + std::strerror(errno));
}

bool LastsLongEnough(const std::string& cert_pem, time_t now) {
  Bio bio(BIO_new_mem_buf(cert_pem.data(), static_cast<int>(cert_pem.size())));
  Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  time_t renew = now + kRenewDays * kDay_s;
  return certificate && X509_cmp_time(X509_get0_notAfter(certificate.get()), &renew) > 0;
}

}  // namespace

Result<Pki> LoadOrMakePki(const std::string& folder, const Clock& clock) {
  const std::string ca = folder + "/engine-ca.crt", cert = folder + "/engine.crt",
                    key = folder + "/engine.key";
  const auto now = static_cast<time_t>(
      std::chrono::duration_cast<std::chrono::seconds>(clock.Now().time_since_epoch()).count());
  Pki pki{Read(ca), Read(cert), Read(key)};
  if (!pki.ca_cert_pem.empty() && !pki.server_key_pem.empty() && LastsLongEnough(pki.server_cert_pem, now))
    return pki;
  ASSIGN_OR_RETURN(pki, Make(now));
  RETURN_IF_ERROR(Write(key, pki.server_key_pem));
  RETURN_IF_ERROR(Write(cert, pki.server_cert_pem));
  RETURN_IF_ERROR(Write(ca, pki.ca_cert_pem));
  return pki;
}

std::string Kubeconfig(const std::string& server, const std::string& ca_cert_pem, const std::string& token) {
  using json::Array;
  using json::Object;
  const json::Value config = Object{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"clusters", Array{Object{{"name", "local"},
                                {"cluster", Object{{"server", server},
                                                   {"certificate-authority-data", Base64(ca_cert_pem)}}}}}},
      {"users", Array{Object{{"name", "admin"}, {"user", Object{{"token", token}}}}}},
      {"contexts",
       Array{Object{{"name", "local"}, {"context", Object{{"cluster", "local"}, {"user", "admin"}}}}}},
      {"current-context", "local"}};
  return json::WriteYaml(config);
}

}  // namespace cubeplane::engine
