// One transaction that gives a value.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "async/task.h"
#include "storage/store.h"

namespace cubeplane::auth {

// `look` runs on another thread: it owns what it captures.
template <class T>
async::Task<Result<T>> Query(storage::Store& store, std::function<Result<T>(storage::Reader&)> look) {
  auto out = std::make_shared<std::optional<T>>();
  std::function<Result<void>(storage::Reader&)> body =
      [out, look = std::move(look)](storage::Reader& reader) -> Result<void> {
    ASSIGN_OR_RETURN(T value, look(reader));
    out->emplace(std::move(value));
    return {};
  };
  Result<void> done = co_await store.Read(std::move(body));
  CO_RETURN_IF_ERROR(done);
  co_return std::move(**out);
}

// The same for a change; the value is what the last run of `change` gave.
template <class T>
async::Task<Result<T>> Change(storage::Store& store, std::function<Result<T>(storage::Txn&)> change) {
  auto out = std::make_shared<std::optional<T>>();
  std::function<Result<void>(storage::Txn&)> body =
      [out, change = std::move(change)](storage::Txn& txn) -> Result<void> {
    ASSIGN_OR_RETURN(T value, change(txn));
    out->emplace(std::move(value));
    return {};
  };
  Result<void> done = co_await store.Write(std::move(body));
  CO_RETURN_IF_ERROR(done);
  co_return std::move(**out);
}

}  // namespace cubeplane::auth
