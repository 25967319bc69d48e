// TensorAdmin over the servers that keep the mutable tensors of all partitions.
#pragma once

#include <memory>

#include "client/remote/cluster.h"
#include "client/tensor_admin.h"

namespace halograph {

[[nodiscard]] std::unique_ptr<TensorAdmin> MakeRemoteTensorAdmin(std::shared_ptr<Cluster> cluster);

}  // namespace halograph
