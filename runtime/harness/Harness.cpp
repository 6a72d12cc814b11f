//===- Harness.cpp - the trainer as a function ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Harness.h"

#include "runtime/exec/ArtifactChecks.h"
#include "runtime/exec/Program.h"
#include "runtime/harness/Commands.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <new>
#include <unistd.h>

using namespace sinter::rt;

static Status runCommand(const sinter_artifact &artifact,
                         const TrainerOptions &options) {
  switch (options.command) {
  case TrainerCommand::Train:
    return runTrain(artifact, options);
  case TrainerCommand::Eval:
    return runEval(artifact, options);
  case TrainerCommand::Export:
    return runExport(artifact, options);
  case TrainerCommand::Info:
    return runInfo(artifact, options);
  case TrainerCommand::Plan:
    return runPlan(artifact, options);
  case TrainerCommand::Doctor:
    return runDoctor(artifact, options);
  case TrainerCommand::Bench:
    return runBench(artifact, options);
  case TrainerCommand::Launch: // loads no program
    break;
  }
  return Status::invalid("unknown command");
}

/// The part of `devices` that chooses the target: the first of a list for
/// replicas, which are of one kind; the whole list if one program spans it.
static std::string choosingDevice(const sinter_artifact &artifact,
                                  const std::string &devices) {
  return artifact.numPlaces > 1 ? devices
                                : devices.substr(0, devices.find(','));
}

static Status runMain(const sinter_artifact *artifact, int argc, char **argv,
                      bool &isTraining) {
  if (!artifact)
    return Status::invalid("this binary contains no program");
  SINTER_RETURN_IF_ERROR(checkArtifacts(*artifact));
  std::span<const char *const> arguments(argv, argc > 0 ? argc : 0);
  Result<TrainerOptions> options =
      parseTrainerOptions(arguments.empty() ? arguments : arguments.subspan(1));
  if (!options.ok())
    return options.status();
  isTraining = options->command == TrainerCommand::Train && !options->help &&
               !options->version;
  if (options->help) {
    std::string program = arguments.empty() ? "trainer" : arguments[0];
    std::fputs(trainerHelp(program, options->command).c_str(), stdout);
    return {};
  }
  if (options->version) {
    std::printf("%s, build %s, Sinter run-time interface %d.%d\n",
                artifact->name, artifact->buildId, SINTER_ABI_MAJOR,
                SINTER_ABI_MINOR);
    return {};
  }
  if (options->command == TrainerCommand::Launch)
    return runLaunch(*artifact, *options, arguments);
  // doctor looks at all targets, everything else at one.
  Result<const sinter_artifact *> chosen =
      options->command == TrainerCommand::Doctor
          ? artifact
          : Program::choose(*artifact,
                            choosingDevice(*artifact, options->device));
  if (!chosen.ok())
    return chosen.status();
  return runCommand(**chosen, *options);
}

/// Printed text may have been lost. For a command that prints its result, this
/// is a failure; a training run has saved its result.
static Status flushOutput(bool isTraining) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return {};
  // The error number of an earlier write that failed is lost.
  const std::string text =
      std::string("standard output: ") +
      (errno ? std::strerror(errno) : "some of the text was not written");
  if (!isTraining)
    return Status::failed(text);
  std::fprintf(stderr, "warning: %s\n", text.c_str());
  return {};
}

/// Without this, the first files that are opened would take the numbers of
/// standard streams that are closed, and get their text.
static void openStandardStreams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      (void)!::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
}

int sinter_trainer_main(const sinter_artifact *artifact, int argc,
                        char **argv) {
  openStandardStreams();
  // Makes a write beyond the limit on file sizes fail, which is reported.
  std::signal(SIGXFSZ, SIG_IGN);
  Status status;
  bool isTraining = false;
  try {
    status = runMain(artifact, argc, argv, isTraining);
  } catch (const std::bad_alloc &) {
    status = Status(SINTER_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &error) {
    status = Status::failed(error.what());
  }
  errno = 0;
  Status printed = flushOutput(isTraining);
  if (status.ok())
    status = printed;
  if (!status.ok())
    std::fprintf(stderr, "%s%s\n",
                 status.code() == SINTER_INTERRUPTED ? "" : "error: ",
                 status.message().c_str());
  return status.code();
}
