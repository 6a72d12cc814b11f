//===- CheckpointFaultsTest.cpp - what faults leave of checkpoints --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "FailingNew.h"
#include "TestFiles.h"
#include "TinyCheckpoints.h"
#include "runtime/train/SafetensorsHeader.h"
#include "runtime/train/TensorFile.h"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter::rt;
using namespace testfiles;
using tiny::Tiny;
namespace fs = std::filesystem;

static std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(folder))
    if (entry.path().filename() != ".lock")
      names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("checkpoints: what a removal leaves is removed, not loaded",
          "[train][checkpoint]") {
  TempFolder folder;
  Tiny tiny;
  const std::string out = folder / "out";
  {
    auto store = CheckpointStore::open(out, false, 0);
    REQUIRE(store.ok());
    for (int64_t step : {1, 2, 3, 4, 5})
      REQUIRE(tiny.save(**store, step).ok());
  }
  // As if removals had been interrupted, and with a file of somebody else.
  fs::remove(out + "/step-00000001/manifest.json");
  fs::remove(out + "/step-00000001/state.safetensors");
  fs::remove(out + "/step-00000002/manifest.json");
  fs::remove(out + "/step-00000003/manifest.json");
  write(out + "/step-00000003/notes.txt", "mine");
  REQUIRE(CheckpointStore::open(out, true, 0).ok());
  CHECK(namesIn(out) ==
        Names{"step-00000003", "step-00000004", "step-00000005"});
  // What is there is called what it is.
  std::string bytes = read(out + "/step-00000005/state.safetensors");
  bytes.back() ^= 1;
  write(out + "/step-00000005/state.safetensors", bytes);
  fs::remove(out + "/step-00000004/manifest.json");
  auto loaded = tiny.load(out);
  REQUIRE(!loaded.ok());
  REQUIRE(tiny.warnings.size() == 3);
  CHECK(tiny.warnings[0].find("step 5 is damaged") != std::string::npos);
  for (size_t i : {1, 2}) {
    CHECK(tiny.warnings[i].find("is incomplete: it has no manifest.json") !=
          std::string::npos);
    CHECK(tiny.warnings[i].find("damaged") == std::string::npos);
  }
}

TEST_CASE("checkpoints: an incomplete newest one is named and kept",
          "[train][checkpoint]") {
  TempFolder folder;
  Tiny tiny;
  const std::string out = folder / "out";
  auto store = CheckpointStore::open(out, false, 0);
  REQUIRE(store.ok());
  for (int64_t step : {1, 2})
    REQUIRE(tiny.save(**store, step).ok());
  const std::string newest = out + "/step-00000002";
  fs::remove(newest + "/manifest.json");
  const std::string text = newest + " is incomplete: it has no manifest.json";
  auto strict = loadNewestCheckpoint(out, tiny.table, tiny.program, {});
  CHECK(strict.status().code() == SINTER_FAILED);
  CHECK(strict.status().message() ==
        text + "; the newest sound one is " + out + "/step-00000001");
  CHECK(checkpointAt(out).status().message().find(text) == 0);
  auto loaded = tiny.load(out);
  REQUIRE(loaded.ok());
  CHECK(loaded->step == 1);
  CHECK(tiny.warnings == Names{"WARNING: " + text});
  CHECK((*store)->setAsideNewer(1).size() == 1);
  CHECK(namesIn(out) == Names{"incomplete-step-00000002", "step-00000001"});
}

TEST_CASE("checkpoints: a save that an allocation fails in is one that failed",
          "[train][checkpoint][faults]") {
  TempFolder folder;
  Tiny tiny;
  const std::string out = folder / "out";
  auto store = CheckpointStore::open(out, false, 0);
  REQUIRE(store.ok());
  REQUIRE(tiny.save(**store, 1).ok());
  auto openFiles = [] { return namesIn("/proc/self/fd").size(); };
  const size_t filesBefore = openFiles();
  tiny.fill(2);
  int failedSaves = 0;
  for (int number = 1; number < 5000; ++number) {
    Manifest manifest = tiny.manifest(2);
    sinter::test::failAllocation(number);
    Status saved =
        (*store)->save(std::move(manifest), tiny.table, tiny.program);
    const bool hasFailed = sinter::test::takeFailure();
    if (!hasFailed) {
      CHECK(saved.ok());
      break;
    }
    INFO("allocation " << number << ": " << saved.message());
    if (!saved.ok()) {
      ++failedSaves;
      REQUIRE(saved.code() == SINTER_FAILED);
      REQUIRE(saved.message().find("checkpoint of step 2 not saved: ") == 0);
      REQUIRE(*listCheckpoints(out) == std::vector<int64_t>{1});
    } else { // while it tidied up
      REQUIRE(tiny.load(out).ok());
      REQUIRE(tiny.holds(2));
      fs::remove_all(out + "/step-00000002");
    }
    tiny.fill(2);
  }
  CHECK(failedSaves > 10);
  CHECK(openFiles() == filesBefore);
  REQUIRE(tiny.load(out).ok());
  CHECK(tiny.holds(2));
  CHECK(namesIn(out) == Names{"step-00000001", "step-00000002"});
}

TEST_CASE("checkpoints: manifests and headers are the JSON that they were",
          "[train][checkpoint]") {
  Manifest manifest;
  for (int round = 0; round < 2; ++round) {
    const std::string text = manifestText(manifest);
    CHECK(nlohmann::ordered_json::parse(text).dump(2) + "\n" == text);
    manifest.model = "a \"model\"\n\x01 \xc3\xa9";
    manifest.seed = -3;
    manifest.data.sizeBytes = UINT64_MAX >> 1;
    manifest.header = {"label", {"a", "b \\ c"}};
    manifest.options = {{"lr", "0.1"}, {"data", "x"}};
    manifest.recipe = {{"optimizer", "adam"}};
    manifest.tensors = {{"w", 7}, {"b", UINT64_MAX}};
  }
  Result<Manifest> parsed = parseManifest(manifestText(manifest));
  REQUIRE(parsed.ok());
  CHECK(parsed->model == manifest.model);
  CHECK(parsed->header.features == manifest.header.features);
  CHECK(parsed->options == manifest.options);
  CHECK(parsed->tensors[1].hash == UINT64_MAX);

  const int64_t dims[] = {2, 3};
  const std::vector<uint8_t> bytes(24);
  const std::vector<NamedTensor> tensors = {
      {"w \"1\"", SINTER_F32, dims, bytes}, {"s", SINTER_I64, {}, {}}};
  const std::string header = safetensorsHeader(tensors);
  CHECK(nlohmann::ordered_json::parse(header).dump() == header);
  CHECK(header.find("\"shape\":[2,3],\"data_offsets\":[0,24]}") !=
        std::string::npos);
  CHECK(header.ends_with("\"shape\":[],\"data_offsets\":[24,24]}}"));
}

/// Lets `action` run in a process that may mount file systems, and returns its
/// result; -1 if the system does not allow that.
template <typename Action> static int withMounts(Action action) {
  const uid_t user = ::getuid();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0) {
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        ::_exit(255);
      write("/proc/self/setgroups", "deny");
      write("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
    }
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      ::_exit(255);
    ::_exit(action());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

TEST_CASE("checkpoints: a file system that is unmounted counts as replaced",
          "[train][checkpoint][faults]") {
  TempFolder folder;
  Tiny tiny;
  const std::string disk = folder / "disk", errors = folder / "errors";
  fs::create_directory(disk);
  // The directory itself, and one in it, which is missing after that.
  for (const std::string &out : {disk, disk + "/run"}) {
    INFO(out);
    const int result = withMounts([&] {
      if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0)
        return 255;
      const int file =
          ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      ::dup2(file, STDERR_FILENO);
      auto store = CheckpointStore::open(out, true, 3);
      if (!store.ok() || !tiny.save(**store, 1).ok() ||
          ::umount2(disk.c_str(), MNT_DETACH) != 0)
        return 1;
      if (!tiny.save(**store, 2).ok() ||
          *listCheckpoints(out) != std::vector<int64_t>{2})
        return 2;
      // Once it is known, it is the run's directory.
      return tiny.save(**store, 3).ok() ? 0 : 3;
    });
    if (result < 0) {
      WARN("skipped: this process may not mount file systems");
      return;
    }
    CHECK(result == 0);
    CHECK(read(errors) == "warning: " + out +
                              ": is on another file system now, as after an "
                              "unmount; checkpoints go there from now on, "
                              "without the older ones\n");
    fs::remove_all(disk);
    fs::create_directory(disk);
  }
}
