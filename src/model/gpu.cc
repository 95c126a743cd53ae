// GPU text as CubeStudio writes it.
#include <string>

#include "model/codec.h"
#include "model/problems.h"

namespace cubeplane::model {
namespace {

constexpr int64_t kMaxCards = 1'000'000;
constexpr char kAllowed[] = "cards such as 2, 2(A100), 2(nvidia,A100) or 0.5";

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// A vendor's or model's name: letters, digits, and - _ . inside.
bool IsName(std::string_view text) {
  if (text.empty() || text.size() > 63) return false;
  for (char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

std::unexpected<Error> Bad(std::string_view text, std::string allowed) {
  Problems problems;
  problems.Add("gpu", std::string(text), std::move(allowed));
  return Fail(problems.ToError());
}

}  // namespace

Result<GpuRequest> ParseGpu(std::string_view text) {
  if (text.size() > 200) return Bad(text, kAllowed);
  std::string plain(text);
  ReplaceAll(plain, "（", "(");
  ReplaceAll(plain, "）", ")");
  ReplaceAll(plain, "，", ",");
  plain = Trim(plain);

  GpuRequest gpu;
  std::string count = plain;
  if (const size_t open = plain.find('('); open != std::string::npos) {
    if (plain.back() != ')') return Bad(text, kAllowed);
    const std::string inside = plain.substr(open + 1, plain.size() - open - 2);
    count = Trim(plain.substr(0, open));
    const size_t comma = inside.find(',');
    gpu.model = Trim(comma == std::string::npos ? inside : inside.substr(comma + 1));
    if (comma != std::string::npos) gpu.vendor = Trim(inside.substr(0, comma));
    if (!IsName(gpu.model) || (comma != std::string::npos && !IsName(gpu.vendor))) return Bad(text, kAllowed);
  }
  if (count.empty() || count.find_first_not_of("0123456789.") != std::string::npos)
    return Bad(text, kAllowed);
  const auto cards = Quantity::Parse(count);
  if (!cards || cards->IsZero() || *cards > Quantity::FromInt(kMaxCards)) return Bad(text, kAllowed);
  const bool whole = cards->IsWhole();
  if (!whole && (*cards > Quantity::FromInt(1) || !cards->IsWholeMilli())) {
    return Bad(text, "whole cards, or a part of one card in thousandths (0.5)");
  }
  gpu.milli_cards = cards->MilliValue();
  return gpu;
}

std::string GpuText(const GpuRequest& gpu) {
  std::string text = std::to_string(gpu.milli_cards / 1000);
  if (int64_t part = gpu.milli_cards % 1000; part != 0) {
    std::string digits = std::to_string(part + 1000).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  if (gpu.model.empty()) return text;
  return text + "(" + (gpu.vendor.empty() ? "" : gpu.vendor + ",") + gpu.model + ")";
}

}  // namespace cubeplane::model
