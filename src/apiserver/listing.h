// Lists: what the caller may see, selected, in pages; and the same as a watch.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apiserver/context.h"
#include "apiserver/selector.h"

namespace cubeplane::apiserver {

// What a list or a watch is about.
struct Scope {
  std::string kind;     // "Project", "Notebook", "TrainingJob"
  std::string project;  // of workloads; empty: all that the caller belongs to
  Selector selector;
};

// An object on its way into a list, sorted by `key`.
struct Listed {
  std::string key, uid;  // key: name of a project, uid of a workload; stays while the object lives
  const model::StringMap* labels = nullptr;
  std::function<json::Value()> render;
};

// May the caller see this object now? Asked for every object and every event.
bool MaySee(const Context& context, std::string_view kind, std::string_view project, std::string_view name);

// One page, or a stream of events with `watch`. `all` are the objects of the scope that the caller may see.
async::Task<Answer> ListOrWatch(Context& context, Scope scope, std::vector<Listed> all);

// The project with what its bindings use now.
json::Value ProjectObject(const Context& context, const model::Project& project);

}  // namespace cubeplane::apiserver
