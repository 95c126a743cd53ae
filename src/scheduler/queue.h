// The line of one project: who is admitted now, and why the others wait (decision 7). Pure.
//
// First come, first served: batch work behind somebody who waits, waits for him. A notebook may pass waiting
// batch work when it fits now; it does not pass another notebook.
#pragma once

#include <string>
#include <vector>

#include "scheduler/admission.h"

namespace cubeplane::scheduler {

struct Waiting {
  std::string uid;
  Request request;
  bool notebook = false;
  std::string cluster;  // asked for; "": any that is bound
  bool held = false;    // keeps its place and is not tried now (the cluster refused it; back-off)
};

struct ProjectQueue {
  std::string project;
  std::vector<BindingView> bindings;  // in order of preference
  std::vector<Waiting> waiting;       // in order of arrival
};

struct QueueStep {
  std::string uid;
  bool admitted = false;
  std::string cluster, pool;  // when admitted
  int place = 0;              // in the line, from 1; 0 when admitted
  bool never = false;         // can never be admitted as the limits stand, in any binding
  std::vector<model::Reason>
      reasons;  // when it waits: for each binding the rules that refuse; the place comes first
};

// One pass over the line: what is admitted is counted at once, so that the whole list can be committed
// together. One step for each that waits, in the line's order. The same queue gives the same plan.
std::vector<QueueStep> PlanAdmissions(const ProjectQueue& queue);

// What stands ahead of `next` in the line of `binding` and must be served first, when `next` came now.
std::vector<Ahead> AheadOf(const ProjectQueue& queue, const BindingView& binding, const Waiting& next);

}  // namespace cubeplane::scheduler
