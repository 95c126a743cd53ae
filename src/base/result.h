// Result<T>: a value or an Error. std::expected without the monadic members (libstdc++ 12 has none).
#pragma once

#include <expected>
#include <utility>

#include "base/error.h"

namespace cubeplane {

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> Fail(Error error) { return std::unexpected<Error>(std::move(error)); }
inline std::unexpected<Error> Fail(Code code, std::string message) {
  return std::unexpected<Error>(Error(code, std::move(message)));
}

}  // namespace cubeplane

// RETURN_IF_ERROR(expr): leaves the function with expr's error. Not for coroutines: use CO_RETURN_IF_ERROR
// there, on an already awaited, named result.
#define CUBEPLANE_CONCAT_(a, b) a##b
#define CUBEPLANE_CONCAT(a, b) CUBEPLANE_CONCAT_(a, b)
#define RETURN_IF_ERROR(expr)                                                                  \
  if (auto CUBEPLANE_CONCAT(status_, __LINE__) = (expr); !CUBEPLANE_CONCAT(status_, __LINE__)) \
  return std::unexpected(std::move(CUBEPLANE_CONCAT(status_, __LINE__).error()))
#define CO_RETURN_IF_ERROR(named) \
  if (!(named)) co_return std::unexpected(std::move((named).error()))
// ASSIGN_OR_RETURN(auto x, expr): declares x from expr's value or leaves with its error.
#define ASSIGN_OR_RETURN(declaration, expr)                                         \
  auto CUBEPLANE_CONCAT(result_, __LINE__) = (expr);                                \
  if (!CUBEPLANE_CONCAT(result_, __LINE__))                                         \
    return std::unexpected(std::move(CUBEPLANE_CONCAT(result_, __LINE__).error())); \
  declaration = std::move(*CUBEPLANE_CONCAT(result_, __LINE__))
