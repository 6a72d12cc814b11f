//===- ReplicaDevicesTest.cpp - which devices replicas use ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Replicas.h"
#include "test/runtime/OneCommand.h"

#include <catch2/catch.hpp>

using namespace sinter;
using namespace sinter::rt;

TEST_CASE("replica devices: the first one of a process", "[ranks]") {
  // Processes 0 and 1 of a host with four devices, two for each.
  CHECK(firstDevice(4, 2, 0) == 0);
  CHECK(firstDevice(4, 2, 1) == 2);
  // Each sees its own devices alone.
  CHECK(firstDevice(2, 2, 1) == 0);
  CHECK(firstDevice(1, 1, 3) == 0);
  // Too few: opening the device says so.
  CHECK(firstDevice(1, 2, 1) == 2);
  CHECK(firstDevice(0, 1, 3) == 3);
}

TEST_CASE("replica devices: their names", "[ranks]") {
  sinter_artifact artifact = test::OneCommand::emptyArtifact();
  sinter_training training = {};
  training.replicas = 4;
  artifact.training = &training;
  artifact.target = "cuda";
  using Names = std::vector<std::string>;
  CHECK(*replicaDevices(artifact, "", 2, 2) == Names{"cuda:2", "cuda:3"});
  CHECK(*replicaDevices(artifact, "cuda:5,cuda:1", 2, 2) ==
        Names{"cuda:5", "cuda:1"});
  CHECK(replicaDevices(artifact, "cuda:1,cuda:1", 2).status().code() ==
        SINTER_INVALID);
  artifact.target = "cpu";
  CHECK(*replicaDevices(artifact, "", 2, 2) == Names{"cpu", "cpu"});
}

TEST_CASE("replica devices: one that two processes use is refused", "[ranks]") {
  CHECK(sharedDevice({"cuda:0 GPU-1\n", "cuda:0 GPU-2\n"}).empty());
  CHECK(sharedDevice({"", ""}).empty()); // of CPUs
  CHECK(sharedDevice({"cuda:0 GPU-1\n", "cuda:0 GPU-2\n", "cuda:0 GPU-1\n"}) ==
        "ranks 0 and 2 use the same device, GPU-1 (cuda:0); each process needs "
        "one of its own");
  CHECK(sharedDevice(
            {"cuda:0 GPU-1\ncuda:1 GPU-2\n", "cuda:0 GPU-3\ncuda:2 GPU-2\n"}) ==
        "ranks 0 and 1 use the same device, GPU-2 (cuda:1 and cuda:2); each "
        "process needs one of its own");
}
