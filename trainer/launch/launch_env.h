// What launchers (torchrun-like ones, mpirun, srun, Kubernetes jobs) say in the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/base/status.h"

namespace halograph {

// The value of a variable; nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
[[nodiscard]] Environment ProcessEnvironment();

// Defaults of the options of these names; nullopt where no launcher says.
struct LaunchDefaults {
  std::optional<int> rank;
  std::optional<int> world_size;
  std::optional<std::string> master_addr;
  std::optional<int> master_port;
  std::optional<std::string> job;
};

// Rank and world size come from one launcher: RANK and WORLD_SIZE, else Open MPI's, else Slurm's
// (SLURM_PROCID, SLURM_NTASKS). Where Slurm's ranks are several and MASTER_ADDR is not set, it is
// the first node of SLURM_STEP_NODELIST, else of SLURM_JOB_NODELIST: there Slurm puts rank 0. A
// list that cannot be read is a warning, and counts as none. MASTER_PORT has no other name. The
// job is TORCHELASTIC_RUN_ID beside RANK, Open MPI's PMIX_NAMESPACE, or Slurm's job and step.
// InvalidArgument naming the variable: only one of a pair set, or a value that is no number.
[[nodiscard]] StatusOr<LaunchDefaults> ReadLaunchDefaults(const Environment& environment);

// How many ranks the launcher put on this machine: LOCAL_WORLD_SIZE, Open MPI's, Slurm's; else 1.
[[nodiscard]] int RanksOnThisMachine(const Environment& environment);

// This rank's number among them: LOCAL_RANK, Open MPI's, Slurm's; else 0.
[[nodiscard]] int RankOnThisMachine(const Environment& environment);

}  // namespace halograph
