// The text of api/openapi.yaml, built into the binary.
#pragma once

#include <string_view>

namespace cubeplane::apiserver {

std::string_view OpenApiDocument();

}  // namespace cubeplane::apiserver
