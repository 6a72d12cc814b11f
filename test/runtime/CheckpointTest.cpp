//===- CheckpointTest.cpp - checkpoints of the tiny program ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "TinyCheckpoints.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter::rt;
using namespace testfiles;
using tiny::Tiny;

TEST_CASE("checkpoints: saved, found, kept", "[train][checkpoint]") {
  TempFolder folder;
  Tiny tiny;
  std::string out = folder / "a/b/out";
  auto store = CheckpointStore::open(out, false, 2);
  REQUIRE(store.ok());
  for (int64_t step : {1, 5, 12, 100})
    REQUIRE(tiny.save(**store, step).ok());
  CHECK(*listCheckpoints(out) == std::vector<int64_t>{100, 12});
  auto loaded = tiny.load(out);
  REQUIRE(loaded.ok());
  CHECK(loaded->step == 100);
  CHECK(loaded->seed == -3);
  CHECK(loaded->rows == 20);
  CHECK(tiny.holds(100));
  REQUIRE(tiny.load(out + "/step-00000012").ok());
  CHECK(tiny.holds(12));
  // Saving the same step again replaces it.
  tiny.fill(77);
  REQUIRE((*store)->save(tiny.manifest(100), tiny.table, tiny.program).ok());
  REQUIRE(tiny.load(out).ok());
  CHECK(tiny.holds(77));
  for (const auto &entry : std::filesystem::directory_iterator(out))
    CHECK(entry.path().filename().string().find(".tmp") == std::string::npos);
}

TEST_CASE("checkpoints: the directory is guarded", "[train][checkpoint]") {
  TempFolder folder;
  std::string out = folder / "out";
  Tiny tiny;
  {
    auto first = CheckpointStore::open(out, false, 3);
    REQUIRE(first.ok());
    auto second = CheckpointStore::open(out, true, 3);
    REQUIRE(!second.ok());
    const std::string use = out + ": another run is using it (process ";
    CHECK(second.status().message() == use + std::to_string(::getpid()) + ")");
    // One of another host, as the file in a shared directory says.
    write(out + "/.lock", "process 77 on elsewhere");
    auto third = CheckpointStore::open(out, true, 3);
    REQUIRE(!third.ok());
    CHECK(third.status().message() == use + "77 on elsewhere)");
    REQUIRE(tiny.save(**first, 1).ok());
  }
  CHECK(CheckpointStore::open(out, false, 3).status().code() == SINTER_INVALID);
  // The remains of an interrupted save are removed.
  std::filesystem::create_directory(out + "/.tmp-step-00000002");
  write(out + "/.tmp-step-00000002/state.safetensors", "half");
  write(out + "/.tmp-file", "x");
  REQUIRE(CheckpointStore::open(out, true, 3).ok());
  CHECK(!std::filesystem::exists(out + "/.tmp-step-00000002"));
  CHECK(!std::filesystem::exists(out + "/.tmp-file"));
  write(folder / "file", "x");
  CHECK(!CheckpointStore::open(folder / "file", true, 3).ok());
  CHECK(!CheckpointStore::open("/proc/nowhere", true, 3).ok());
  CHECK(tiny.load(folder / "none").status().code() == SINTER_INVALID);
  CHECK(tiny.load(folder.path()).status().message().find("no checkpoint") !=
        std::string::npos);
}

TEST_CASE("checkpoints: any flipped bit is found and the one before is taken",
          "[train][checkpoint]") {
  TempFolder folder;
  Tiny tiny;
  std::string out = folder / "out";
  auto store = CheckpointStore::open(out, false, 3);
  REQUIRE(store.ok());
  REQUIRE(tiny.save(**store, 1).ok());
  REQUIRE(tiny.save(**store, 2).ok());
  int benign = 0;
  for (const char *name : {"/state.safetensors", "/manifest.json"}) {
    std::string path = out + "/step-00000002" + name;
    std::string good = read(path);
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] ^= 1 << (i % 8);
      write(path, bad);
      auto loaded = tiny.load(out);
      REQUIRE(loaded.ok());
      if (loaded->step == 2) { // harmless only if the state is still correct
        REQUIRE(tiny.holds(2));
        ++benign;
        continue;
      }
      REQUIRE(loaded->step == 1);
      REQUIRE(tiny.holds(1));
      REQUIRE(tiny.warnings.size() == 1);
      REQUIRE(tiny.warnings[0].find("WARNING") == 0);
    }
    for (size_t size : {size_t(0), good.size() / 2, good.size() - 1}) {
      write(path, good.substr(0, size));
      auto loaded = tiny.load(out);
      REQUIRE(loaded.ok());
      CHECK(loaded->step == 1);
    }
    write(path, good);
  }
  CHECK(benign < 80); // padding and free metadata of the header
  std::filesystem::remove(out + "/step-00000002/manifest.json");
  CHECK(tiny.load(out)->step == 1);
  write(out + "/step-00000001/manifest.json", "");
  auto none = tiny.load(out);
  REQUIRE(!none.ok());
  CHECK(none.status().message().find("none of its 2 checkpoints") !=
        std::string::npos);
}

TEST_CASE("checkpoints: a newer format is refused by number",
          "[train][checkpoint]") {
  std::string text = manifestText(Manifest());
  REQUIRE(parseManifest(text).ok());
  size_t at = text.find("\"format\": 2");
  text.replace(at, 11, "\"format\": 9");
  auto parsed = parseManifest(text);
  REQUIRE(!parsed.ok());
  CHECK(parsed.status().message().find("format version 9") !=
        std::string::npos);
}

TEST_CASE("checkpoints: another model's differences are listed",
          "[train][checkpoint]") {
  TempFolder folder;
  Tiny tiny;
  std::string out = folder / "out";
  auto store = CheckpointStore::open(out, false, 3);
  REQUIRE(store.ok());
  REQUIRE(tiny.save(**store, 1).ok());
  sinter_artifact other = tiny::artifact();
  std::vector<sinter_state_desc> states(other.states, other.states + 4);
  int64_t wide[] = {3, 5};
  states[0].tensor.dims = wide;
  states[0].tensor.sizeBytes = 60;
  states[1].tensor.name = "head.bias";
  states[2].slot = "m";
  other.states = states.data();
  auto table = StateTable::create(other);
  REQUIRE(table.ok());
  auto loaded = loadNewestCheckpoint(out, *table, tiny.program,
                                     {.warn = [](const std::string &) {}});
  REQUIRE(!loaded.ok());
  CHECK(loaded.status().code() == SINTER_INVALID);
  const std::string &text = loaded.status().message();
  INFO(text);
  for (const char *part :
       {"\"fc.weight\" is float32[3, 4] in the file, float32[3, 5] in the "
        "program",
        "\"head.bias\" is missing in the file",
        "\"fc.bias\" is unknown to the program",
        "\"m/fc.weight\" is missing in the file",
        "\"momentum/head.bias\" is missing"})
    CHECK(text.find(part) != std::string::npos);
  CHECK(text.find("belongs to another model") != std::string::npos);
  states[1].tensor.name = "fc.weight";
  CHECK(!StateTable::create(other).ok());
}

TEST_CASE("warming up gives the states their initial values") {
  auto bytesOf = [](Tiny &tiny) {
    std::vector<uint8_t> all;
    Result<StateTable::Snapshot> snapshot = tiny.table.snapshot(tiny.program);
    REQUIRE(snapshot.ok());
    for (const NamedTensor &tensor : snapshot->tensors)
      all.insert(all.end(), tensor.bytes.begin(), tensor.bytes.end());
    return all;
  };
  Tiny tiny;
  const std::vector<uint8_t> initial = bytesOf(tiny);
  REQUIRE(std::any_of(initial.begin(), initial.end(),
                      [](uint8_t byte) { return byte != 0; }));
  tiny.fill(1);
  REQUIRE(sinter_program_warm_up(tiny.program) == SINTER_OK);
  CHECK(bytesOf(tiny) == initial);
}

TEST_CASE("a program's memory for inputs", "[exec]") {
  Tiny tiny, other;
  void *inputs[2] = {}, *again[2] = {};
  REQUIRE(sinter_program_input_memory(tiny.program, "step", inputs) ==
          SINTER_OK);
  REQUIRE(sinter_program_input_memory(tiny.program, "step", again) ==
          SINTER_OK);
  float x[tiny::batch * tiny::features];
  int64_t labels[tiny::batch];
  for (int i = 0; i < tiny::batch; ++i)
    labels[i] = i % tiny::classes;
  for (size_t i = 0; i < std::size(x); ++i)
    x[i] = float(i % 5) - 2;
  for (int i : {0, 1}) {
    CHECK(inputs[i] == again[i]);
    CHECK(reinterpret_cast<uintptr_t>(inputs[i]) % 64 == 0);
  }
  std::memcpy(inputs[0], x, sizeof(x));
  std::memcpy(inputs[1], labels, sizeof(labels));
  sinter_control control{};
  control.lr = 0.1f;
  const void *callers[2] = {x, labels};
  float loss = 0, expected = 1;
  void *output = &loss, *expectedOutput = &expected;
  tiny.fill(1), other.fill(1);
  REQUIRE(sinter_program_run(tiny.program, "step", &control, inputs, &output) ==
          SINTER_OK);
  REQUIRE(sinter_program_run(other.program, "step", &control, callers,
                             &expectedOutput) == SINTER_OK);
  CHECK(loss == expected);
  CHECK(sinter_program_input_memory(tiny.program, "none", inputs) ==
        SINTER_INVALID);
  CHECK(sinter_program_input_memory(tiny.program, "step", nullptr) ==
        SINTER_INVALID);
}

TEST_CASE("checkpoints: another recipe of the same model is called that",
          "[train][checkpoint]") {
  TempFolder folder;
  Tiny tiny;
  std::string out = folder / "out";
  auto store = CheckpointStore::open(out, false, 3);
  REQUIRE(store.ok());
  REQUIRE(tiny.save(**store, 1).ok());
  sinter_artifact other = tiny::artifact();
  std::vector<sinter_state_desc> states(other.states, other.states + 4);
  states[2].slot = "ema";
  other.states = states.data();
  auto table = StateTable::create(other);
  REQUIRE(table.ok());
  auto loaded = loadNewestCheckpoint(out, *table, tiny.program,
                                     {.warn = [](const std::string &) {}});
  REQUIRE(!loaded.ok());
  const std::string &text = loaded.status().message();
  INFO(text);
  CHECK(text.find("was written by another recipe") != std::string::npos);
  CHECK(text.find("another model") == std::string::npos);
}

TEST_CASE("checkpoints: one that is not finite names the sound one",
          "[train][checkpoint]") {
  TempFolder folder;
  Tiny tiny;
  std::string out = folder / "out";
  auto store = CheckpointStore::open(out, false, 0);
  REQUIRE(store.ok());
  for (int64_t step : {1, 2, 255, 511}) // of bytes 1, 2, and NaN twice
    REQUIRE(tiny.save(**store, step).ok());
  for (const char *name : {"", "/step-00000511", "/step-00000511/"}) {
    auto loaded = tiny.load(out + name);
    REQUIRE(!loaded.ok());
    CHECK(loaded.status().code() == SINTER_INVALID);
    CHECK(loaded.status().message() ==
          out +
              "/step-00000511: state \"fc.weight\" has NaN (element 0 of 12); "
              "the newest sound one is " +
              out + "/step-00000002");
  }
  std::filesystem::remove_all(out + "/step-00000001");
  std::filesystem::remove_all(out + "/step-00000002");
  CHECK(tiny.load(out).status().message().find("no older one is sound") !=
        std::string::npos);
}

TEST_CASE("checkpoints: infinities that were compiled in may stay",
          "[train][checkpoint]") {
  Tiny tiny;
  sinter_artifact other = tiny::artifact();
  alignas(64) float constants[12];
  std::fill_n(constants, 12, -INFINITY);
  other.constants = reinterpret_cast<const uint8_t *>(constants);
  sinter_program *program = nullptr;
  REQUIRE(sinter_program_create(&other, nullptr, 1, &program) == SINTER_OK);
  auto table = StateTable::create(other);
  CHECK(table->checkFinite(program).ok());
  constants[3] = INFINITY; // the program has a copy of the old value
  CHECK(table->checkFinite(program).message() ==
        "state \"fc.weight\" has an infinity (element 3 of 12)");
  sinter_program_destroy(program);
}

TEST_CASE("checkpoints: a failed save leaves the others alone",
          "[train][checkpoint]") {
  TempFolder folder;
  Tiny tiny;
  std::string out = folder / "out";
  auto store = CheckpointStore::open(out, false, 1);
  REQUIRE(store.ok());
  REQUIRE(tiny.save(**store, 1).ok());
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  auto *old = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = {200, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  Status status = tiny.save(**store, 2);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old);
  REQUIRE(!status.ok());
  CHECK(status.message().find("checkpoint of step 2 not saved") == 0);
  CHECK(*listCheckpoints(out) == std::vector<int64_t>{1});
  CHECK(!std::filesystem::exists(out + "/.tmp-step-00000002"));
  REQUIRE(tiny.load(out).ok());
  CHECK(tiny.holds(1));
  REQUIRE(tiny.save(**store, 3).ok());
  CHECK(*listCheckpoints(out) == std::vector<int64_t>{3});
}

/// Runs `action` in a child and kills it at its system call number `count`;
/// false if it finished before that.
template <typename Action> static bool killedAtCall(int count, Action action) {
  pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    action();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  for (int i = 0; WIFSTOPPED(status) && i < count; ++i) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
  }
  if (!WIFSTOPPED(status))
    return false;
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return true;
}

/// The paths that `action` syncs, in order, in a child.
template <typename Action>
static std::vector<std::string> syncedBy(Action action) {
  std::vector<std::string> paths;
  pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    action();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  for (bool isEntry = true; WIFSTOPPED(status); isEntry = !isEntry) {
    user_regs_struct registers;
    ::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
    if (isEntry && registers.orig_rax == SYS_fsync)
      paths.push_back(std::filesystem::read_symlink(
          "/proc/" + std::to_string(child) + "/fd/" +
          std::to_string(registers.rdi)));
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
  }
  return paths;
}

TEST_CASE("checkpoints: new directories are synced into their parents",
          "[train][checkpoint]") {
  TempFolder folder;
  std::string out = folder / "a/b/out";
  auto synced =
      syncedBy([&] { (void)CheckpointStore::open(out, false, 1).ok(); });
  // The first stop is the signal's.
  for (std::string parent : {folder.path(), folder / "a", folder / "a/b"})
    CHECK(std::count(synced.begin(), synced.end(), parent) == 1);
  synced = syncedBy([&] { (void)CheckpointStore::open(out, true, 1).ok(); });
  CHECK(synced.empty());
}

TEST_CASE("checkpoints: killed at every system call of a save",
          "[train][checkpoint][kill]") {
  TempFolder folder;
  Tiny tiny;
  std::string out = folder / "out";
  bool killed = true;
  int64_t newest = 1;
  // Each stop is before or after a call. The first saves only step 1 -> 2; from
  // the moment that step 2 is seen once, it must never be lost again.
  for (int count = 1; killed; ++count) {
    std::filesystem::remove_all(out);
    {
      auto store = CheckpointStore::open(out, false, 1);
      REQUIRE(store.ok());
      REQUIRE(tiny.save(**store, 1).ok());
      killed = killedAtCall(count, [&] { (void)tiny.save(**store, 2).ok(); });
    }
    auto loaded = tiny.load(out);
    INFO("killed at stop " << count);
    REQUIRE(loaded.ok());
    REQUIRE(loaded->step >= newest);
    REQUIRE(tiny.holds(static_cast<uint8_t>(loaded->step)));
    REQUIRE(tiny.warnings.empty());
    newest = loaded->step;
    // A removal leaves no part of a checkpoint under its name.
    const std::vector<int64_t> listed = *listCheckpoints(out);
    for (int64_t step : listed)
      REQUIRE(!isIncomplete(checkpointPath(out, step)));
    // The next run removes the remains and can save.
    auto store = CheckpointStore::open(out, true, 1);
    REQUIRE(store.ok());
    REQUIRE(tiny.save(**store, 3).ok());
    for (const auto &entry : std::filesystem::directory_iterator(out))
      REQUIRE(entry.path().filename().string().find(".tmp") ==
              std::string::npos);
  }
  CHECK(newest == 2);
}
