//===- TrainerRuns.h - the trainer of the tiny program ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each run is a separate process: the test executable starts itself again with
// the hidden test case of TrainTest.cpp, which becomes the trainer.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_TRAINERRUNS_H
#define SINTER_TEST_RUNTIME_TRAINERRUNS_H

#include "TestFiles.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <fcntl.h>
#include <random>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace trainerruns {

using namespace testfiles;

struct Outcome {
  int code = -1; // exit code, or -signal
  std::string out, err;
};

class Process {
public:
  /// `failingStep` "0": runs on the stand-in GPU; "7": its kernel fails at
  /// step 7.
  Process(const std::string &folder, const std::vector<std::string> &arguments,
          const char *fileLimit = nullptr, const char *failingStep = nullptr)
      : folder_(folder) {
    std::string text;
    for (const std::string &argument : arguments)
      text += argument + "\n";
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0)
      return;
    ::setenv("SINTER_TEST_TRAINER", text.c_str(), 1);
    if (fileLimit)
      ::setenv("SINTER_TEST_FSIZE", fileLimit, 1);
    if (failingStep)
      ::setenv("SINTER_TEST_CUDA", failingStep, 1);
    redirect("out.txt", STDOUT_FILENO);
    redirect("err.txt", STDERR_FILENO);
    ::execl("/proc/self/exe", "tests", "[.trainer-child]", nullptr);
    ::_exit(127);
  }
  void signal(int number) { ::kill(pid_, number); }
  Outcome wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    outcome.out = read(folder_ + "/out.txt");
    outcome.err = read(folder_ + "/err.txt");
    if (outcome.out.starts_with("Filters:")) // from Catch
      outcome.out.erase(0, outcome.out.find('\n') + 1);
    return outcome;
  }

private:
  void redirect(const char *name, int target) {
    int fd = ::open((folder_ + "/" + name).c_str(),
                    O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ::dup2(fd, target);
  }
  std::string folder_;
  pid_t pid_ = -1;
};

/// 83 training rows (10 batches and 3 unused rows) and 21 others, in three
/// clusters.
class Bench {
public:
  Bench() {
    writeData("train.npz", 83, 1);
    writeData("test.npz", 21, 2);
  }
  void writeData(const char *name, int rows, unsigned seed) {
    std::vector<float> x;
    std::string labels;
    std::mt19937 random(seed);
    for (int i = 0; i < rows; ++i) {
      int label = static_cast<int>(random() % 3);
      labels += static_cast<char>(label);
      for (int f = 0; f < 4; ++f)
        x.push_back((f == label ? 1.0f : 0.0f) +
                    static_cast<float>(random() % 1000) / 1000);
    }
    std::string shape = "(" + std::to_string(rows);
    write(folder / name,
          zip({{"x.npy", npy("<f4", shape + ", 4)", bytesOf(x)), true},
               {"labels.npy", npy("|u1", shape + ",)", labels), false}}));
  }
  std::vector<std::string> arguments(std::vector<std::string> more) {
    std::vector<std::string> all = {"--data=" + (folder / "train.npz"),
                                    "--threads=1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Outcome train(std::vector<std::string> more) {
    return Process(folder.path(), arguments(std::move(more))).wait();
  }
  /// The same on the stand-in GPU.
  Outcome trainOnGpu(std::vector<std::string> more,
                     const char *failingStep = "0") {
    return Process(folder.path(), arguments(std::move(more)), nullptr,
                   failingStep)
        .wait();
  }
  Outcome runOnGpu(std::vector<std::string> all) {
    return Process(folder.path(), all, nullptr, "0").wait();
  }
  Outcome run(std::vector<std::string> all) {
    return Process(folder.path(), all).wait();
  }
  std::string state(const std::string &out, int step) {
    char name[32];
    std::snprintf(name, sizeof(name), "/step-%08d", step);
    std::string bytes = read(folder / out + name + "/state.safetensors");
    CHECK(!bytes.empty());
    return bytes;
  }
  std::string path(const std::string &name) { return folder / name; }
  /// Returns when the log has changed from its `logged` bytes, or after 2 s.
  void awaitLog(const char *name, size_t logged) {
    for (int i = 0; i < 4000 && read(path(name)).size() == logged; ++i)
      ::usleep(500);
  }

  TempFolder folder;
};

inline void requireOk(const Outcome &outcome) {
  INFO(outcome.out);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
}

} // namespace trainerruns

#endif // SINTER_TEST_RUNTIME_TRAINERRUNS_H
