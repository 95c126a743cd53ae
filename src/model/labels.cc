#include "model/labels.h"

#include <cstdio>
#include <cstdlib>

#include "model/fields.h"
#include "model/table_reader.h"
#include "model/tables.h"

namespace cubeplane::model {
namespace {

LabelScheme ReadScheme() {
  const json::Value table = ReadTable("api/labels.yaml", kLabelsYaml);
  LabelScheme scheme;
  Problems problems;
  {
    Fields fields(table, "", problems);
    fields.Read("resourceGroup", scheme.resource_group);
    fields.Read("defaultGroup", scheme.default_group);
    fields.Read("train", scheme.train);
    fields.Read("notebook", scheme.notebook);
    fields.Read("service", scheme.service);
    fields.Read("cpu", scheme.cpu);
    fields.Read("gpu", scheme.gpu);
    fields.Read("vgpu", scheme.vgpu);
    fields.Read("gpuModel", scheme.gpu_model);
    fields.Read("rdma", scheme.rdma);
    fields.Read("share", scheme.share);
    fields.Read("groupTaint", scheme.group_taint);
  }
  CheckTable("api/labels.yaml", problems);
  return scheme;
}

}  // namespace

const LabelScheme& Labels() {
  static const LabelScheme scheme = ReadScheme();
  return scheme;
}

}  // namespace cubeplane::model
