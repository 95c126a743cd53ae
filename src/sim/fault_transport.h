// The HTTP exchange with a network's faults, between controllers and the engine.
#pragma once

#include "base/random.h"
#include "http/transport.h"

namespace cubeplane::sim {

struct FaultRates {          // in 1,000 exchanges
  uint64_t refused = 0;      // never sent
  uint64_t lost_answer = 0;  // acted on, and nobody hears of it
  uint64_t busy = 0;         // 429
  uint64_t broken = 0;       // 500
  uint64_t cut_stream = 0;   // in 1,000 pieces of a stream
};

// Threading: on the executor. Lifetime: `rates` and `random` outlive it.
class FaultTransport final : public http::Transport {
 public:
  FaultTransport(http::Handler& handler, const FaultRates& rates, Random& random)
      : inner_(handler, {.listener = "in-process"}), rates_(rates), random_(random) {}
  async::Task<Result<http::Response>> Send(http::Request request, http::SendOptions options) override;

 private:
  bool Happens(uint64_t rate) { return rate > 0 && random_.Below(1000) < rate; }

  http::InProcessTransport inner_;
  const FaultRates& rates_;
  Random& random_;
};

}  // namespace cubeplane::sim
