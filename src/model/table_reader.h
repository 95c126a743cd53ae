// Reads the tables that are built in. They are ours and tested, so what is wrong with them is a bug and ends
// the process.
#pragma once

#include <string_view>

#include "json/value.h"
#include "model/problems.h"

namespace cubeplane::model {

// The file's only document.
json::Value ReadTable(std::string_view name, std::string_view yaml);
// Ends the process when there are problems.
void CheckTable(std::string_view name, const Problems& problems);

}  // namespace cubeplane::model
