// The text of docs/roles.md: the matrix of auth/roles.h with the paths of the operations.
#pragma once

#include <string>

namespace cubeplane::apiserver {

std::string RolesDocument();

}  // namespace cubeplane::apiserver
