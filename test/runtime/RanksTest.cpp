//===- RanksTest.cpp - which process of a job this is ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Ranks.h"

#include <catch2/catch.hpp>

#include <map>

using namespace sinter::rt;

namespace {

using Variables = std::map<std::string, std::string>;

Result<Ranks> find(const Variables &variables, const RankFlags &flags = {}) {
  return findRanks(flags, [&](const char *name) -> const char * {
    auto place = variables.find(name);
    return place == variables.end() ? nullptr : place->second.c_str();
  });
}

/// The line of the error.
std::string refused(const Variables &variables, const RankFlags &flags = {}) {
  Result<Ranks> ranks = find(variables, flags);
  REQUIRE_FALSE(ranks.ok());
  REQUIRE(ranks.status().code() == SINTER_INVALID);
  return ranks.status().message();
}

} // namespace

TEST_CASE("ranks: one process without a launcher", "[ranks]") {
  for (const Variables &variables :
       {Variables{},
        // The only pod of an indexed Job.
        Variables{{"JOB_COMPLETION_INDEX", "0"}},
        // A batch script of Slurm, not started by srun.
        Variables{{"SLURM_PROCID", "0"},
                  {"SLURM_LOCALID", "0"},
                  {"SLURM_NTASKS", "4"}},
        // One process of a launcher that says no more.
        Variables{{"WORLD_SIZE", "1"}},
        Variables{{"WORLD_SIZE", "1"}, {"RANK", ""}},
        Variables{{"OMPI_COMM_WORLD_SIZE", "1"}},
        Variables{{"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}},
        Variables{{"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}}) {
    Result<Ranks> ranks = find(variables);
    REQUIRE(ranks.ok());
    CHECK(ranks->rank == 0);
    CHECK(ranks->world == 1);
    CHECK(ranks->source.empty());
  }
}

TEST_CASE("ranks: torchrun", "[ranks]") {
  Variables variables = {{"RANK", "5"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"MASTER_ADDR", "node0"},
                         {"MASTER_PORT", "29500"},
                         {"TORCHELASTIC_RUN_ID", "run7"}};
  Result<Ranks> ranks = find(variables);
  REQUIRE(ranks.ok());
  CHECK(ranks->rank == 5);
  CHECK(ranks->world == 8);
  CHECK(ranks->localRank == 1);
  CHECK(ranks->leaderHost == "node0");
  CHECK(ranks->leaderPort == 29500);
  CHECK(ranks->job == "run7");
  CHECK(ranks->source == "torchrun (RANK, WORLD_SIZE)");
  // torchrun itself listens on MASTER_PORT.
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  ranks = find(variables);
  REQUIRE(ranks.ok());
  CHECK(ranks->leaderPort == 29501);
  // It may run under srun, with one process for each host.
  variables["SLURM_PROCID"] = "1";
  variables["SLURM_STEP_NUM_TASKS"] = "2";
  ranks = find(variables);
  REQUIRE(ranks.ok());
  CHECK(ranks->rank == 5);
}

TEST_CASE("ranks: srun", "[ranks]") {
  Variables variables = {{"SLURM_PROCID", "3"},
                         {"SLURM_STEP_NUM_TASKS", "4"},
                         {"SLURM_LOCALID", "1"},
                         {"SLURM_STEP_NUM_NODES", "2"},
                         {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                         {"SLURM_JOB_ID", "4711"}};
  Result<Ranks> ranks = find(variables);
  REQUIRE(ranks.ok());
  CHECK(ranks->rank == 3);
  CHECK(ranks->world == 4);
  CHECK(ranks->localRank == 1);
  CHECK(ranks->leaderHost == "gpu07");
  // All processes of a job find the same port.
  CHECK(ranks->leaderPort >= 20000);
  CHECK(ranks->leaderPort < 32000);
  CHECK(find(variables)->leaderPort == ranks->leaderPort);
  variables["SLURM_STEP_NUM_NODES"] = "1";
  CHECK(find(variables)->leaderHost == "127.0.0.1");
}

TEST_CASE("ranks: the first host of Slurm's lists", "[ranks]") {
  CHECK(firstHostOf("n1") == "n1");
  CHECK(firstHostOf("n1,n2") == "n1");
  CHECK(firstHostOf("n[01-04,07],x1") == "n01");
  CHECK(firstHostOf("rack[3,5]node,y") == "rack3node");
  CHECK(firstHostOf("n[") == "");
}

TEST_CASE("ranks: mpirun, PMI and Kubernetes", "[ranks]") {
  Variables mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                   {"OMPI_COMM_WORLD_SIZE", "2"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                   {"PMIX_NAMESPACE", "12345"}};
  Result<Ranks> ranks = find(mpi);
  REQUIRE(ranks.ok());
  CHECK(ranks->leaderHost == "127.0.0.1"); // all are on one host
  mpi["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  CHECK(refused(mpi) ==
        "mpirun (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE): where rank 0 "
        "listens is not known: add -x MASTER_ADDR=HOST -x MASTER_PORT=PORT to "
        "mpirun, with the host of rank 0, or add --leader=HOST:PORT");
  ranks = find({{"PMI_RANK", "0"},
                {"PMI_SIZE", "2"},
                {"MASTER_ADDR", "a"},
                {"MASTER_PORT", "1"}});
  REQUIRE(ranks.ok());
  CHECK(ranks->leaderHost == "a");
  RankFlags flags;
  flags.world = 4;
  flags.leader = "job-0.svc:2000";
  ranks = find({{"JOB_COMPLETION_INDEX", "2"}}, flags);
  REQUIRE(ranks.ok());
  CHECK(ranks->rank == 2);
  CHECK(ranks->world == 4);
  CHECK(ranks->leaderHost == "job-0.svc");
  CHECK(ranks->leaderPort == 2000);
}

TEST_CASE("ranks: flags", "[ranks]") {
  RankFlags flags;
  flags.rank = 1;
  flags.world = 2;
  flags.leader = "[::1]:4000";
  Result<Ranks> ranks = find({}, flags);
  REQUIRE(ranks.ok());
  CHECK(ranks->rank == 1);
  CHECK(ranks->localRank == 1);
  CHECK(ranks->leaderHost == "::1");
  CHECK(ranks->source == "the command line (--rank, --world)");
  CHECK(!ranks->knowsLocalRank);
  CHECK(find({{"LOCAL_RANK", "0"}}, flags)->localRank == 0);
  CHECK(find({{"LOCAL_RANK", "0"}}, flags)->knowsLocalRank);
  // Of a batch script of Slurm, of a pod: not numbers of these processes.
  CHECK(find({{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}}, flags)->rank ==
        1);
  CHECK(find({{"JOB_COMPLETION_INDEX", "0"}}, flags)->rank == 1);
  CHECK(refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}}, flags) ==
        "--rank=1 contradicts RANK=0");
  for (const char *leader : {"host", ":1", "host:", "host:0", "host:70000"}) {
    flags.leader = leader;
    CHECK(refused({}, flags).starts_with("--leader"));
  }
}

TEST_CASE("ranks: alone, whatever a launcher says", "[ranks]") {
  RankFlags flags;
  flags.world = 1;
  Result<Ranks> ranks = find({{"RANK", "3"}, {"WORLD_SIZE", "4"}}, flags);
  REQUIRE(ranks.ok());
  CHECK(ranks->world == 1);
  CHECK(ranks->rank == 0);
  CHECK(ranks->localRank == 0);
  CHECK(ranks->source == "");
  flags.rank = 3;
  CHECK(refused({{"RANK", "3"}, {"WORLD_SIZE", "4"}}, flags) ==
        "--world=1 contradicts WORLD_SIZE=4");
}

TEST_CASE("ranks: a number that is missing is not 0", "[ranks]") {
  const std::string alone = ", add --rank=N, or --world=1 to train alone";
  const Variables leader = {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}};
  auto with = [&](Variables variables) {
    variables.insert(leader.begin(), leader.end());
    return variables;
  };
  const std::string noRank =
      "WORLD_SIZE=4: the number of this process is missing: set RANK" + alone;
  CHECK(refused(with({{"WORLD_SIZE", "4"}})) == noRank);
  CHECK(refused(with({{"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}})) == noRank);
  CHECK(refused(with({{"WORLD_SIZE", "4"}, {"SLURM_PROCID", "0"}})) == noRank);
  // Set, but to nothing: by a script with a variable of its own that is unset.
  const std::string empty =
      "RANK=: is empty: set it to the number of this process, or unset it";
  CHECK(refused(with({{"RANK", ""}})) == empty);
  CHECK(refused(with({{"RANK", ""}, {"WORLD_SIZE", ""}})) == empty);
  CHECK(refused(with({{"RANK", ""}, {"WORLD_SIZE", "4"}})) == empty);
  CHECK(refused(with({{"LOCAL_RANK", "1"}})) ==
        "LOCAL_RANK=1: RANK and WORLD_SIZE are missing: set them, add --rank=N "
        "and --world=N, or --world=1 to train alone");
  CHECK(refused({{"OMPI_COMM_WORLD_SIZE", "2"}}) ==
        "OMPI_COMM_WORLD_SIZE=2: the number of this process is missing: set "
        "OMPI_COMM_WORLD_RANK" +
            alone);
  CHECK(refused({{"PMI_SIZE", "2"}}) ==
        "PMI_SIZE=2: the number of this process is missing: set PMI_RANK" +
            alone);
  CHECK(refused({{"SLURM_STEP_NUM_TASKS", "2"}}) ==
        "SLURM_STEP_NUM_TASKS=2: the number of this process is missing: set "
        "SLURM_PROCID" +
            alone);
  for (const char *index : {"1", "x"})
    CHECK(refused({{"JOB_COMPLETION_INDEX", index}}) ==
          std::string("JOB_COMPLETION_INDEX=") + index +
              ": the number of processes is missing: set WORLD_SIZE, add "
              "--world=N, or --world=1 to train alone");
  // The command line says it all.
  RankFlags flags;
  flags.rank = 1;
  flags.world = 2;
  flags.leader = "a:1";
  CHECK(find({{"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}}, flags)->world == 2);
  flags.leader.clear();
  flags.rank.reset();
  flags.world = 1;
  CHECK(find({{"WORLD_SIZE", "4"}}, flags)->world == 1);
}

TEST_CASE("ranks: what is missing or wrong", "[ranks]") {
  CHECK(refused({{"RANK", "1"}}) ==
        "RANK=1: the number of processes is missing: add --world=N or set "
        "WORLD_SIZE");
  CHECK(refused({{"RANK", "2"}, {"WORLD_SIZE", "2"}}) ==
        "RANK=2: must be below WORLD_SIZE=2");
  CHECK(refused({{"RANK", "x"}, {"WORLD_SIZE", "2"}}) ==
        "RANK=x: is not a number");
  CHECK(refused({{"RANK", "0"}, {"WORLD_SIZE", "0"}}) ==
        "WORLD_SIZE=0: must be from 1 to 65536");
  CHECK(refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}}) ==
        "LOCAL_RANK=1: contradicts RANK=0");
  CHECK(refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}}) ==
        "torchrun (RANK, WORLD_SIZE): where rank 0 listens is not known: set "
        "MASTER_ADDR and MASTER_PORT, or add --leader=HOST:PORT");
  RankFlags flags;
  flags.leader = "h:1";
  CHECK(refused({}, flags) == "--leader: needs --rank and --world");
}
