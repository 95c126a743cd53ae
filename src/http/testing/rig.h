// A loop on a thread of its own with a server and clients, for tests. What a test does runs on that loop.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "async/group.h"
#include "async/loop.h"
#include "http/client.h"
#include "http/server.h"

namespace cubeplane::http::testing {

// A folder of its own, removed at the end.
class TempDir {
 public:
  TempDir() {
    char name[] = "/tmp/cubeplane-http-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TempDir() {
    const std::string command = "rm -rf " + path_;
    if (std::system(command.c_str()) != 0) std::abort();
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Threading: constructed, used and destroyed on the test's thread; Run moves work to the loop and waits for
// it.
class Rig {
 public:
  Rig() : io(1), loop(clock), thread_([this] { loop.Run(); }) {}
  ~Rig() {
    Do([this] { group.reset(); });
    loop.Stop();
    thread_.join();
  }

  // Runs a function on the loop.
  void Do(std::function<void()> work) {
    std::promise<void> done;
    loop.Post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  // Runs a task to its end on the loop and gives its value.
  template <class T>
  T Run(async::Task<T> task) {
    std::promise<T> done;
    loop.Post([&] { group->Spawn(Finish(std::move(task), done)); });
    return done.get_future().get();
  }

  // Spawns a task that the test does not wait for.
  void Spawn(async::Task<void> task) {
    Do([this, &task] { group->Spawn(std::move(task)); });
  }

  SystemClock clock;
  IoContext io;
  async::Loop loop;
  std::unique_ptr<async::TaskGroup> group = std::make_unique<async::TaskGroup>(loop);

 private:
  template <class T>
  static async::Task<void> Finish(async::Task<T> task, std::promise<T>& done) {
    T value = co_await std::move(task);
    done.set_value(std::move(value));
  }

  std::thread thread_;
};

// A server on the rig's loop, stopped there.
class RigServer {
 public:
  RigServer(Rig& rig, Handler& handler, ServerLimits limits = {})
      : rig_(rig), server(std::make_unique<Server>(rig.loop, handler, limits)) {}
  ~RigServer() { Stop(); }
  void Stop() {
    rig_.Do([this] { server.reset(); });
  }

 private:
  Rig& rig_;

 public:
  std::unique_ptr<Server> server;
};

}  // namespace cubeplane::http::testing
