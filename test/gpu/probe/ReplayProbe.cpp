//===- ReplayProbe.cpp - a program as graphs, many times ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Runs of a program alternate between two slots, each with a graph of its own.
// Both slots get both of two inputs; the outputs of each must have the same
// bits in every run.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Registry.h"
#include "runtime/exec/Program.h"
#include "sinter/program_names.h"
#include "test/gpu/probe/Probe.h"

#include <cstring>
#include <dlfcn.h>

using namespace sinter;
using namespace sinter::probe;
using rt::Status;

namespace {

using Bytes = std::vector<std::vector<uint8_t>>;

Bytes tensors(const sinter_tensor_desc *descs, uint32_t count) {
  Bytes bytes;
  for (uint32_t i = 0; i < count; ++i)
    bytes.emplace_back(descs[i].sizeBytes);
  return bytes;
}

template <typename Pointer> std::vector<Pointer> addresses(Bytes &bytes) {
  std::vector<Pointer> pointers;
  for (std::vector<uint8_t> &tensor : bytes)
    pointers.push_back(tensor.data());
  return pointers;
}

/// Floats in [-1, 1]; other types are zeros, which no index check refuses.
void fill(std::vector<uint8_t> &bytes, uint32_t dtype, uint32_t seed) {
  if (dtype != SINTER_F32 && dtype != SINTER_F64 && dtype != SINTER_BF16 &&
      dtype != SINTER_F16)
    return;
  const uint64_t elementBytes = dtype == SINTER_F64   ? 8
                                : dtype == SINTER_F32 ? 4
                                                      : 2;
  bytes = test::Operand::random(
              dtype, static_cast<int64_t>(bytes.size() / elementBytes), seed)
              .bytes;
}

class Replays {
public:
  Replays(Report &report, rt::Program &program, const sinter_entry &entry)
      : report_(report), program_(program), entry_(entry),
        numReplays_(report.options().replays) {
    for (uint32_t set : {0u, 1u}) {
      inputs_[set] = tensors(entry.inputs, entry.numInputs);
      for (uint32_t i = 0; i < entry.numInputs; ++i)
        fill(inputs_[set][i], entry.inputs[i].dtype, 2 * i + set + 1);
      expected_[set] = tensors(entry.outputs, entry.numOutputs);
    }
    for (Bytes &outputs : outputs_)
      outputs = tensors(entry.outputs, entry.numOutputs);
  }

  Status run() {
    for (uint32_t set : {0u, 1u})
      SINTER_RETURN_IF_ERROR(program_.run(
          entry_.name, nullptr, addresses<const void *>(inputs_[set]).data(),
          addresses<void *>(expected_[set]).data()));
    if (expected_[0] == expected_[1])
      return Status::failed("two inputs have the same outputs");
    double begin = report_.seconds();
    rt::RunNumber before = 0;
    for (int i = 0; i < numReplays_; ++i) {
      auto number =
          program_.begin(entry_.name, nullptr,
                         addresses<const void *>(inputs_[setOf(i)]).data(),
                         addresses<void *>(outputs_[i % 2]).data());
      if (!number.ok())
        return number.status();
      if (i > 0)
        SINTER_RETURN_IF_ERROR(check(before, i - 1));
      before = *number;
      if (i >= 8 && !report_.hasTime()) {
        SINTER_RETURN_IF_ERROR(check(before, i));
        report_.skip("replays after " + std::to_string(i + 1));
        return {};
      }
    }
    SINTER_RETURN_IF_ERROR(check(before, numReplays_ - 1));
    us_ = (report_.seconds() - begin) * 1e6 / numReplays_;
    return {};
  }
  double us() const { return us_; }

private:
  /// Slots alternate with each run, inputs with every second one.
  static uint32_t setOf(int run) { return static_cast<uint32_t>(run / 2 % 2); }

  Status check(rt::RunNumber number, int run) {
    SINTER_RETURN_IF_ERROR(program_.wait(number));
    Bytes &found = outputs_[run % 2];
    if (run == numReplays_ / 2 && report_.takeSpoil())
      found[0][0] ^= 1;
    for (uint32_t i = 0; i < entry_.numOutputs; ++i)
      if (found[i] != expected_[setOf(run)][i])
        return Status::failed("run " + std::to_string(run) + " in slot " +
                              std::to_string(run % 2) + ": output " +
                              entry_.outputs[i].name + " has other bits");
    return {};
  }

  Report &report_;
  rt::Program &program_;
  const sinter_entry &entry_;
  const int numReplays_;
  Bytes inputs_[2], expected_[2], outputs_[2];
  double us_ = 0;
};

} // namespace

static void replay(Report &report, const std::string &file,
                   const std::string &symbol) {
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return report.add(file, "failed", dlerror());
  auto *artifact = reinterpret_cast<const sinter_artifact *(*)()>(
      dlsym(library, symbol.c_str()));
  if (!artifact)
    return report.add(file, "failed", "it has no " + symbol);
  auto program = rt::Program::create(*artifact(), report.options().device, {});
  if (!program.ok())
    return report.add(file, program.status());
  if (!(*program)->isAsynchronous() || !(*program)->device().hasGraphs())
    return report.add(file, "failed", "the device has no graphs");
  const rt::Executor *main = (*program)->find(SINTER_ENTRY_MAIN);
  if (!main)
    return report.add(file, "failed", "it has no entry to run");
  Replays replays(report, **program, main->entry());
  Status status = replays.run();
  if (!status.ok())
    return report.add(file, status);
  if (replays.us() > 0)
    report.add(file, "ok",
               std::to_string(report.options().replays) + " runs of " +
                   std::to_string(replays.us()) + " us",
               {{"us", replays.us()}});
}

void probe::probeReplay(Report &report) {
  if (!report.options().isSimulated() && !driverFor(report))
    return;
  const std::vector<std::string> &words = report.options().words;
  for (size_t i = 0; i + 1 < words.size(); i += 2)
    replay(report, words[i], words[i + 1]);
}
