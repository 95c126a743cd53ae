// The words of the enums, in the enums' order, for messages and parsing.
#pragma once

#include <string_view>
#include <vector>

namespace cubeplane::model {

extern const std::vector<std::string_view> kRoleWords;
extern const std::vector<std::string_view> kPhaseWords;

}  // namespace cubeplane::model
