// The data files of api/, built into the binary as they are.
#pragma once

#include <string_view>

namespace cubeplane::model {

extern const std::string_view kReasonsYaml;       // api/reasons.yaml
extern const std::string_view kAcceleratorsYaml;  // api/accelerators.yaml
extern const std::string_view kLabelsYaml;        // api/labels.yaml

}  // namespace cubeplane::model
