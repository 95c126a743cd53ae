// The scheduler: binds pods to nodes by scheduler/fit.h, or says why not.
#pragma once

#include "engine/controller.h"
#include "engine/events.h"
#include "scheduler/fit.h"

namespace cubeplane::engine {

class SchedulerLoop final : public Controller {
 public:
  SchedulerLoop(const Cluster& cluster, Recorder& recorder) : cluster_(cluster), recorder_(recorder) {}
  void Observe(const Change& change) override;
  void Reconcile() override;

 private:
  std::vector<scheduler::NodeView> Nodes() const;
  std::vector<ObjectPtr> Pending() const;
  void Bind(const json::Value& pod, const std::string& node);
  void Refuse(const json::Value& pod, const std::string& message);

  const Cluster& cluster_;
  Recorder& recorder_;
  bool marked_ = true;
};

}  // namespace cubeplane::engine
