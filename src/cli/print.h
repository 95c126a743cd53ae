// Objects of the API as people read them.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/kinds.h"

namespace cubeplane::cli {

// `running` in the language of the terminal.
std::string PhaseWord(const Terminal& terminal, std::string_view phase);
// The sentence of a reason of the API: its message, else rendered from code and parameters.
std::string ReasonText(const Terminal& terminal, const json::Value& reason);
std::string ReasonNext(const Terminal& terminal, const json::Value& reason);
// A time of the API for a list: "12m" ago on a terminal, else as it came; "-" when absent.
std::string Since(const Context& context, const json::Value& time);
// "2 x A100, 8 cores, 64Gi" of spec.resources.
std::string Asks(const Terminal& terminal, const json::Value& resources);

// Rows of `get`: header and cells for a kind; `wide` adds columns, `with_project` the project.
std::vector<std::string> HeaderOf(const Context& context, const Kind& kind, bool wide, bool with_project);
std::vector<Cell> RowOf(const Context& context, const Kind& kind, const json::Value& object, bool wide,
                        bool with_project);

// One object or list in the format of -o json, yaml or name; false when the format is for people.
bool PrintAs(Context& context, const json::Value& value, const Kind* kind);

// The pages of `describe`.
void DescribeWorkload(Context& context, const Found& found, const json::Value& explanation,
                      const json::Value& events);
void DescribeProject(Context& context, const json::Value& project);

}  // namespace cubeplane::cli
