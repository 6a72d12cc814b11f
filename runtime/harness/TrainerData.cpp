//===- TrainerData.cpp - where the training data is -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// In the memory of the device, if --data-on-device says so, or in the host's,
// from which each batch is uploaded. Both train with the same batches. With the
// data on the device, several steps are one graph: whatever has to be done
// between two steps (an evaluation, a checkpoint) ends it.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/NumberText.h"
#include "runtime/exec/Program.h"
#include "runtime/harness/GraphLength.h"
#include "runtime/harness/Recipe.h"
#include "runtime/harness/Signals.h"
#include "runtime/harness/Trainer.h"

#include <algorithm>
#include <cstdio>

using namespace sinter::rt;

using OnDevice = TrainerOptions::DataOnDevice;

/// The part of the free memory that auto may take is 1 / this. Libraries, and
/// other programs on the same GPU, need memory as well.
static constexpr uint64_t shareOfAuto = 2;

/// A graph has at most this many steps and commands. The launch of a graph
/// takes as long as a few kernels, so longer graphs save little.
static constexpr uint32_t mostSteps = 16, mostCommands = 512;

/// Why the data cannot be on the device; "" if it can.
static std::string whyNever(const Program &program) {
  if (program.places().size() > 1)
    return "the program uses several devices";
  const Device &device = *program.places().front().device;
  if (device.sharesHostMemory())
    return "device '" + device.name() + "' works in the host's memory";
  return "";
}

/// The most steps to record as one graph.
int64_t Trainer::mostStepsPerGraph() const {
  const Program &program = *session_->program()->program;
  const sinter_entry &step = *trainingEntry(program.artifact());
  if (options_.locatesNonfinite || microBatchesOf(artifact_) > 1 ||
      !program.places().front().device->hasGraphs())
    return 1;
  return std::clamp(mostCommands / std::max(step.numCommands, 1u), 1u,
                    mostSteps);
}

/// How many steps to record as one graph, `most` at most: so many that the
/// steps between two points at which something is due take the fewest launches.
int64_t Trainer::stepsPerGraph(int64_t most) const {
  return graphLength(
      most, std::min({totalSteps_ - firstStep_, order_.batchesPerEpoch(),
                      saveTimes_.stepsLeft(0)}));
}

static std::string graphText(int64_t steps) {
  return steps > 1 ? std::to_string(steps) + " steps are one graph"
                   : "each step is started by itself";
}

/// Call when a step is finished. The first step prepares what is used lazily;
/// after the second one, graphs get a length that takes no longer than
/// mostGraphSeconds. Only the time of the run depends on it.
void Trainer::measureStep() {
  if (isMeasured_)
    return;
  const auto now = std::chrono::steady_clock::now(),
             begin = std::max(endOfStep_, beginOfStep_);
  endOfStep_ = now;
  if (doneSteps_ < firstStep_ + 2)
    return;
  isMeasured_ = true;
  const int64_t planned = replicas_->mostSteps();
  const double seconds = std::chrono::duration<double>(now - begin).count();
  const int64_t length = stepsPerGraph(mostStepsWithin(seconds, planned));
  if (length >= planned)
    return;
  replicas_->shortenSeries(length);
  char text[64];
  std::snprintf(text, sizeof(text), "data: a step takes %.2f s; ", seconds);
  progress_->note(text + graphText(length));
}

/// Sets `isPlaced` if the data is on the device when this returns. With auto,
/// data that cannot be read or converted stays where it is: the run fails at
/// the step that needs it, if there is one.
Status Trainer::placeData(const Loader::Options &loading, bool &isPlaced) {
  isPlaced = false;
  if (options_.dataOnDevice == OnDevice::Off)
    return {};
  const bool isAuto = options_.dataOnDevice == OnDevice::Auto;
  Program &program = *session_->program()->program;
  const std::string never = whyNever(program);
  if (!never.empty() && !isAuto)
    return Status::invalid("--data-on-device=on: " + never);
  const int64_t stepsLeft = totalSteps_ - step_;
  if (!never.empty() || stepsLeft <= 0)
    return {};
  auto stays = [&](const std::string &why) {
    progress_->note("data: stays in the host's memory: " + why);
    return Status();
  };
  if (isAuto && stepsLeft < order_.batchesPerEpoch())
    return options_.verbose ? stays("the run has less than an epoch")
                            : Status();
  const Device &device = replicas_->fullestDevice();
  const uint64_t unused = device.availableBytes(),
                 byLimit = leftByLimit(program.artifact()),
                 available = std::min(unused, byLimit),
                 needed = DeviceData::bytesOf(
                     *trainingEntry(program.artifact()), trainData_->rows());
  if (needed > (isAuto ? available / shareOfAuto : available)) {
    const std::string text =
        "the training data takes " + bytesText(needed) + " of " +
        device.name() + "'s memory, of which " +
        (byLimit < unused
             ? "the program's --memory-limit leaves " + bytesText(available)
             : bytesText(available) + " are available");
    return isAuto
               ? stays(text + "; auto takes at most half of that")
               : Status(SINTER_OUT_OF_MEMORY, "--data-on-device=on: " + text);
  }
  const int64_t steps = stepsPerGraph(mostStepsPerGraph());
  Status placed = replicas_->placeData(
      *trainData_, loading, static_cast<uint32_t>(steps), stopRequested);
  if (placed.code() == SINTER_INTERRUPTED)
    return {};
  if (!placed.ok() && isAuto && placed.code() != SINTER_DEVICE_FAILED)
    return stays(placed.message());
  if (placed.code() == SINTER_OUT_OF_MEMORY ||
      placed.code() == SINTER_UNSUPPORTED)
    return placed.as(placed.code(), "--data-on-device=on: " + placed.message());
  SINTER_RETURN_IF_ERROR(placed);
  isPlaced = true;
  isMeasured_ = steps == 1;
  progress_->note("data: " + std::to_string(trainData_->rows()) + " rows (" +
                  bytesText(needed) + ") are in " +
                  (replicas_->size() > 1 ? "each device" : device.name()) +
                  "'s memory; " + graphText(steps));
  if (options_.locatesNonfinite)
    return {}; // the step at fault is read again
  if (Status same = compareData(*trainData_); !same.ok())
    return Status::failed(same.message() + " while it was read");
  trainData_->endReading();
  return {};
}
