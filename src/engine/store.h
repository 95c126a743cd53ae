// The engine's objects: what etcd and the watch cache are for a kube-apiserver.
//
// Every object lives in memory and in one SQLite file (WAL, synchronous=FULL): a write has reached the disk
// before the call returns, and nothing changes in memory when the disk refuses. One revision counts all
// writes; an object's metadata.resourceVersion is the revision of its last one. The last writes are kept as
// history for watches; after a restart the history is empty and older watches are told to list again (410).
//
// Threading: the control thread only. Objects given out are immutable and may go to any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "json/value.h"

struct sqlite3;

namespace cubeplane::engine {

using ObjectPtr = std::shared_ptr<const json::Value>;

struct ObjectKey {
  std::string resource;        // "pods", "statefulsets.apps"
  std::string namespace_name;  // "" for what is not namespaced
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
};

struct Change {
  enum class Type { kAdded, kModified, kDeleted };
  Type type = Type::kAdded;
  int64_t revision = 0;
  ObjectKey key;
  ObjectPtr object;    // kDeleted: the last state, with the revision of the deletion
  ObjectPtr previous;  // null for kAdded
};

struct StoreLimits {
  size_t max_history = 10'000;          // writes kept for watches
  size_t max_objects = 200'000;         // creates beyond it are refused with kStoreFull
  size_t max_object_bytes = 1'500'000;  // as etcd's request limit; kTooLarge beyond it
};

class Store {
 public:
  // `path` is a file or ":memory:". Errors: kStoreFull or kInternal when it cannot be opened, kInvalid for a
  // file that is not an engine's or has a newer schema.
  static Result<std::shared_ptr<Store>> Open(const std::string& path, const StoreLimits& limits);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  ObjectPtr Get(const ObjectKey& key) const;  // null when absent
  ObjectPtr FindByUid(const std::string& uid) const;
  std::optional<ObjectKey> KeyOfUid(const std::string& uid) const;
  // Sorted by namespace and name; of all namespaces when `namespace_name` is empty.
  std::vector<ObjectPtr> List(const std::string& resource, const std::string& namespace_name = "") const;
  // As it was right after `revision`. Errors: kGone when the history no longer reaches so far.
  Result<std::vector<ObjectPtr>> ListAt(const std::string& resource, const std::string& namespace_name,
                                        int64_t revision) const;
  // Objects that name `owner_uid` in their ownerReferences.
  std::vector<ObjectKey> Dependents(const std::string& owner_uid) const;

  // Errors of all writes: kStoreFull (nothing changed), kTooLarge, and as named.
  Result<ObjectPtr> Create(const ObjectKey& key, json::Value object);  // kAlreadyExists
  // Writing what is there already changes nothing and gives the present object. kNotFound.
  Result<ObjectPtr> Update(const ObjectKey& key, json::Value object);
  Result<ObjectPtr> Delete(const ObjectKey& key);  // kNotFound

  int64_t revision() const { return revision_; }
  // Changes after `revision` are known when revision >= oldest_known().
  int64_t oldest_known() const;
  // The changes after `revision`, oldest first, at most `max`.
  std::vector<const Change*> Since(int64_t revision, size_t max) const;

  // Called after each write, on the control thread. Callbacks must not write and must not subscribe.
  using Listener = std::function<void(const Change&)>;
  uint64_t Subscribe(Listener listener);
  void Unsubscribe(uint64_t id);
  // Ends all watches (they see closed()) and closes the file. Later writes fail with kUnavailable.
  void Close();
  bool closed() const { return db_ == nullptr; }

 private:
  using Objects = std::map<std::pair<std::string, std::string>, ObjectPtr>;  // (namespace, name)
  Store(sqlite3* db, const StoreLimits& limits) : db_(db), limits_(limits) {}
  Result<void> Load();
  Result<ObjectPtr> Write(Change::Type type, const ObjectKey& key, json::Value object, ObjectPtr previous);
  Result<void> Persist(Change::Type type, const ObjectKey& key, const std::string& text, int64_t revision);
  void Index(const ObjectKey& key, const json::Value* before, const json::Value* after);
  Result<void> Execute(const char* sql);

  sqlite3* db_;
  const StoreLimits limits_;
  int64_t revision_ = 1;
  int64_t first_revision_ = 1;  // at opening: what came before is not in the history
  size_t count_ = 0;
  std::map<std::string, Objects> resources_;
  std::unordered_map<std::string, ObjectKey> by_uid_;
  std::map<std::string, std::set<ObjectKey>> dependents_;
  std::deque<Change> history_;
  std::map<uint64_t, Listener> listeners_;
  uint64_t next_listener_ = 1;
};

}  // namespace cubeplane::engine
