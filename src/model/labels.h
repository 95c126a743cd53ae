// The label scheme of nodes: api/labels.yaml. Immutable; safe from any thread.
#pragma once

#include <string>

namespace cubeplane::model {

struct LabelScheme {
  std::string resource_group, default_group;
  std::string train, notebook, service, cpu, gpu, vgpu, gpu_model, rdma, share;
  std::string group_taint;
};

const LabelScheme& Labels();

}  // namespace cubeplane::model
