#include "http/testing/certs.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <memory>

namespace cubeplane::http::testing {
namespace {

constexpr long kDay = 24 * 3600;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Cert = std::unique_ptr<X509, decltype(&X509_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

Bio Memory(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(length));
}

void Extend(X509* cert, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (!extension) std::abort();
  X509_add_ext(cert, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

KeyPair MakeCert(const std::string& common_name, const KeyPair* issuer, const std::string& names, long days) {
  static long serial = 1;
  const Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const Cert cert(X509_new(), &X509_free);
  X509_set_version(cert.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(cert.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -10 * kDay);
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), days * kDay);
  X509_set_pubkey(cert.get(), key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(cert.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  Cert signer(X509_new(), &X509_free);
  Key signing_key(nullptr, &EVP_PKEY_free);
  if (issuer) {
    const Bio cert_text = Memory(issuer->cert_pem);
    const Bio key_text = Memory(issuer->key_pem);
    signer.reset(PEM_read_bio_X509(cert_text.get(), nullptr, nullptr, nullptr));
    signing_key.reset(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  }
  X509* const by = issuer ? signer.get() : cert.get();
  X509_set_issuer_name(cert.get(), X509_get_subject_name(by));
  Extend(cert.get(), by, NID_basic_constraints, issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
  if (!names.empty()) Extend(cert.get(), by, NID_subject_alt_name, names);
  X509_sign(cert.get(), issuer ? signing_key.get() : key.get(), EVP_sha256());

  const Bio cert_out(BIO_new(BIO_s_mem()), &BIO_free);
  const Bio key_out(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_X509(cert_out.get(), cert.get());
  PEM_write_bio_PrivateKey(key_out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {TextOf(cert_out.get()), TextOf(key_out.get())};
}

}  // namespace cubeplane::http::testing
