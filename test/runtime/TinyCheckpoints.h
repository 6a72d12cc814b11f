//===- TinyCheckpoints.h - saves and loads the tiny program -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_TINYCHECKPOINTS_H
#define SINTER_TEST_RUNTIME_TINYCHECKPOINTS_H

#include "TinyProgram.h"
#include "runtime/train/Checkpoint.h"

#include <catch2/catch.hpp>

namespace tiny {

using namespace sinter::rt;

struct Tiny {
  sinter_program *program = nullptr;
  StateTable table;
  std::vector<std::string> warnings;

  Tiny() {
    REQUIRE(sinter_program_create(&tiny::artifact(), nullptr, 1, &program) ==
            SINTER_OK);
    table = *StateTable::create(tiny::artifact());
  }
  ~Tiny() { sinter_program_destroy(program); }
  void fill(uint8_t value) {
    for (uint32_t i = 0; i < table.size(); ++i) {
      std::vector<uint8_t> bytes(table.desc(i).tensor.sizeBytes, value);
      REQUIRE(sinter_program_write_state(program, i, bytes.data()) ==
              SINTER_OK);
    }
  }
  bool holds(uint8_t value) {
    Result<StateTable::Snapshot> snapshot = table.snapshot(program);
    REQUIRE(snapshot.ok());
    for (const NamedTensor &tensor : snapshot->tensors)
      for (uint8_t byte : tensor.bytes)
        if (byte != value)
          return false;
    return true;
  }
  Manifest manifest(int64_t step) {
    Manifest result;
    result.model = "tiny";
    result.buildId = "b";
    result.step = step;
    result.seed = -3;
    result.batch = 8;
    result.rows = 20;
    return result;
  }
  Status save(CheckpointStore &store, int64_t step) {
    fill(static_cast<uint8_t>(step));
    return store.save(manifest(step), table, program);
  }
  Result<Manifest> load(const std::string &directory) {
    warnings.clear();
    fill(0xee);
    return loadNewestCheckpoint(
        directory, table, program,
        {.fallsBack = true,
         .warn = [&](const std::string &line) { warnings.push_back(line); }});
  }
};

} // namespace tiny

#endif // SINTER_TEST_RUNTIME_TINYCHECKPOINTS_H
