// Chance, injected. SystemRandom is for secrets; SeededRandom replays.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace cubeplane {

class Clock;

class Random {
 public:
  virtual ~Random() = default;
  // Fills `out` with random bytes.
  virtual void Fill(std::span<unsigned char> out) = 0;

  uint64_t Next();
  // Uniform in [0, bound), bound > 0.
  uint64_t Below(uint64_t bound);
  // `bytes` random bytes in lower-case hexadecimal (twice as many characters).
  std::string Hex(size_t bytes);
};

// The kernel's generator. Thread-safe; aborts the process when the kernel refuses (we cannot go on safely).
class SystemRandom final : public Random {
 public:
  void Fill(std::span<unsigned char> out) override;
};

// A reproducible stream (splitmix64). Not for secrets outside tests. Single-threaded.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  void Fill(std::span<unsigned char> out) override;

 private:
  uint64_t state_;
};

// A UUIDv7 (RFC 9562): 48 bits of milliseconds, then chance; canonical lower-case text.
std::string NewUuid(const Clock& clock, Random& random);

}  // namespace cubeplane
