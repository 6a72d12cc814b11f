//===- CommandWaitsTest.cpp - programs that differ in their events --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/ArtifactDiff.h"

#include <catch2/catch.hpp>

using namespace sinter;
using namespace sinter::compiler;

namespace {

// Copies "x" and "y" on stream 0, and "z" on stream 1, which waits for one of
// the others.
class Program {
public:
  // `waits`: z waits for x or y; "": for none.
  explicit Program(const std::string &waits, bool atEnd = false) {
    copy("x", 0, 0);
    if (waits == "x")
      event(SINTER_CMD_RECORD, 0);
    copy("y", 0, 64);
    if (waits == "y")
      event(SINTER_CMD_RECORD, 0);
    if (!waits.empty() && !atEnd)
      event(SINTER_CMD_WAIT, 1);
    copy("z", 1, 128);
    if (!waits.empty() && atEnd)
      event(SINTER_CMD_WAIT, 1);
    for (size_t i = 0; i < commands_.size(); ++i)
      if (commands_[i].numSlices)
        commands_[i].slices = slices_[i].data();
    entry_.name = "main";
    entry_.commands = commands_.data();
    entry_.numCommands = static_cast<uint32_t>(commands_.size());
    artifact_.name = artifact_.buildId = artifact_.cpuFeatures = "";
    artifact_.target = "cuda";
    artifact_.manifest = "{}";
    artifact_.entries = &entry_;
    artifact_.numEntries = 1;
  }
  Program(const Program &) = delete;

  const sinter_artifact &artifact() const { return artifact_; }

private:
  void copy(const char *node, uint32_t stream, uint64_t offset) {
    sinter_command command{};
    command.kind = SINTER_CMD_COPY;
    command.stream = stream;
    command.numReads = 1;
    command.numSlices = 2;
    command.label = node;
    commands_.push_back(command);
    sinter_slice from{}, to{};
    from.space = SINTER_SPACE_CONTROL;
    to.space = SINTER_SPACE_ARENA;
    from.sizeBytes = to.sizeBytes = 64;
    to.offsetBytes = offset;
    slices_.push_back({from, to});
  }
  void event(uint32_t kind, uint32_t stream) {
    sinter_command command{};
    command.kind = kind;
    command.stream = stream;
    command.label = "";
    commands_.push_back(command);
    slices_.emplace_back();
  }

  std::vector<sinter_command> commands_;
  std::vector<std::vector<sinter_slice>> slices_;
  sinter_entry entry_{};
  sinter_artifact artifact_{};
};

std::string difference(const Program &a, const Program &b) {
  ArtifactDifference found =
      diffArtifacts({a.artifact(), {}}, {b.artifact(), {}}, {});
  std::string text;
  for (const CommandChange &change : found.changed)
    for (const std::string &detail : change.details)
      text += change.nodes.front() + " " + detail + "\n";
  return text;
}

} // namespace

TEST_CASE("commands that wait for the same commands are the same") {
  CHECK(difference(Program("x"), Program("x")).empty());
  CHECK(difference(Program(""), Program("")).empty());
  CHECK(difference(Program("y", true), Program("y", true)).empty());
}

TEST_CASE("a wait that is missing, or for another command, differs") {
  CHECK(difference(Program("y"), Program("")) ==
        "z waits: for command 1 -> none\n");
  CHECK(difference(Program(""), Program("x")) ==
        "z waits: none -> for command 0\n");
  CHECK(difference(Program("x"), Program("y")) ==
        "z waits: for command 0 -> for command 1\n");
  CHECK(difference(Program("x", true), Program("")) ==
        "z waits: at its end for command 0 -> none\n");
}
