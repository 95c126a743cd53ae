#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/clock.h"

namespace cubeplane {

uint64_t Random::Next() {
  unsigned char bytes[8];
  Fill(bytes);
  uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

uint64_t Random::Below(uint64_t bound) {
  // Rejects the short tail so that every value is equally likely.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t value = Next();
  while (value >= limit) value = Next();
  return value % bound;
}

std::string Random::Hex(size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::vector<unsigned char> raw(bytes);
  Fill(raw);
  std::string text;
  text.reserve(bytes * 2);
  for (unsigned char byte : raw) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

void SystemRandom::Fill(std::span<unsigned char> out) {
  size_t done = 0;
  while (done < out.size()) {
    ssize_t got = getrandom(out.data() + done, out.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) std::abort();
    done += static_cast<size_t>(got);
  }
}

void SeededRandom::Fill(std::span<unsigned char> out) {
  for (size_t i = 0; i < out.size(); i += 8) {
    // splitmix64, Steele, Lea and Flood 2014.
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    std::memcpy(out.data() + i, &z, std::min<size_t>(8, out.size() - i));
  }
}

std::string NewUuid(const Clock& clock, Random& random) {
  unsigned char raw[16];
  random.Fill(raw);
  const auto ms = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(clock.Now().time_since_epoch()).count());
  for (int i = 0; i < 6; ++i) raw[i] = static_cast<unsigned char>(ms >> (40 - 8 * i));
  raw[6] = static_cast<unsigned char>((raw[6] & 0x0f) | 0x70);
  raw[8] = static_cast<unsigned char>((raw[8] & 0x3f) | 0x80);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    text.push_back(kDigits[raw[i] >> 4]);
    text.push_back(kDigits[raw[i] & 15]);
  }
  return text;
}

}  // namespace cubeplane
