// The control plane's side of the node process.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "async/executor.h"
#include "engine/node/guarantees.h"
#include "engine/runtime.h"
#include "json/value.h"

namespace cubeplane::engine::node {

// Keeps one connection, made again with back-off when it breaks; after each connect OnChange hears of every
// pod. While there is none, calls fail at once (kUnavailable); a call whose answer does not come in
// kCallTimeout fails (kTimeout), and may have been done: all are safe to repeat. Threading: on the executor's
// thread, destructor included; a thread of its own moves the bytes. Lifetime: the executor outlives it. Calls
// that still wait when it is destroyed fail with kCancelled.
class Client final : public Runtime {
 public:
  static constexpr Duration kCallTimeout = std::chrono::seconds(60);

  // `socket` and `data` as given to the node. Connects from now on.
  Client(async::Executor& executor, std::string socket, std::string data);
  ~Client() override;

  async::Task<Result<Tenant>> EnsureTenant(std::string id) override;
  async::Task<Result<void>> Start(PodRun run) override;
  async::Task<Result<void>> Stop(std::string uid, Duration grace) override;
  async::Task<Result<void>> Remove(std::string uid, bool keep_log) override;
  async::Task<Result<std::vector<PodState>>> List() override;
  void OnChange(std::function<void(const PodState&)> callback) override;
  std::string LogPath(const std::string& uid) const override;

  // Kills every pod, cleans up and ends the node process.
  async::Task<Result<void>> EndInstance();
  bool connected() const;
  // As the node said at the last connect; empty before the first.
  const std::vector<Guarantee>& guarantees() const;

 private:
  struct Core;
  static async::Task<Result<json::Value>> Call(std::shared_ptr<Core> core, json::Object request);

  std::shared_ptr<Core> core_;
  const std::string data_;
  std::thread thread_;
};

}  // namespace cubeplane::engine::node
