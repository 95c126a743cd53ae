// Kubernetes' rules for names, labels and their sentences (apimachinery's util/validation). Pure.
#pragma once

#include <string>
#include <string_view>

namespace cubeplane::engine {

// Each gives what is wrong, in Kubernetes' words; empty when nothing is.
std::string DnsLabelProblem(std::string_view text);       // RFC 1123 label, at most 63
std::string DnsLabel1035Problem(std::string_view text);   // starts with a letter: Services
std::string DnsSubdomainProblem(std::string_view text);   // RFC 1123 subdomain, at most 253
std::string QualifiedNameProblem(std::string_view text);  // [prefix/]name: keys of labels and annotations
std::string LabelValueProblem(std::string_view text);
std::string ConfigKeyProblem(std::string_view text);  // keys of ConfigMaps and Secrets
std::string EnvNameProblem(std::string_view text);

}  // namespace cubeplane::engine
