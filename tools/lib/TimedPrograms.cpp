//===- TimedPrograms.cpp - loads the programs that --tune times -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/TimedPrograms.h"

#include "runtime/exec/Program.h"
#include "tools/lib/NpzBinding.h"

#include "sinter/program_names.h"

#include <chrono>

using namespace sinter;
using namespace sinter::tools;

namespace {

/// An entry with its inputs and outputs.
struct Call {
  std::string entry;
  HostTensors inputs, outputs;
  std::vector<const void *> from;
  std::vector<void *> to;
};

class Loaded final : public compiler::TimedProgram {
public:
  explicit Loaded(std::unique_ptr<rt::Program> program)
      : program_(std::move(program)) {}

  /// A program for inference has the entry main. The step of a trainer is one
  /// entry, or the gradients of micro-batches and then the update.
  rt::Status prepare() {
    for (const char *name : {SINTER_ENTRY_MAIN, SINTER_ENTRY_STEP,
                             SINTER_ENTRY_GRAD, SINTER_ENTRY_APPLY}) {
      rt::Executor *executor = program_->find(name);
      if (!executor)
        continue;
      rt::Status status = add(executor->entry());
      if (!status.ok())
        return status;
    }
    return program_->warmUp();
  }

  std::string run(int64_t count, double &milliseconds) override {
    sinter_control control{};
    auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < count; ++i)
      for (Call &call : calls_) {
        rt::Status status = program_->run(call.entry.c_str(), &control,
                                          call.from.data(), call.to.data());
        if (!status.ok())
          return status.message();
      }
    milliseconds = std::chrono::duration<double, std::milli>(
                       std::chrono::steady_clock::now() - begin)
                       .count();
    return "";
  }

private:
  rt::Status add(const sinter_entry &entry) {
    Call call{entry.name, {}, {}, {}, {}};
    auto inputs =
        randomInputs({entry.inputs, entry.numInputs}, /*seed=*/calls_.size());
    if (!inputs.ok())
      return inputs.status();
    call.inputs = std::move(*inputs);
    for (const auto &input : call.inputs)
      call.from.push_back(input->bytes.data());
    for (uint32_t i = 0; i < entry.numOutputs; ++i) {
      auto output = HostTensor::zeros(entry.outputs[i]);
      if (!output.ok())
        return output.status();
      call.to.push_back((*output)->bytes.data());
      call.outputs.push_back(std::move(*output));
    }
    calls_.push_back(std::move(call));
    return {};
  }

  std::unique_ptr<rt::Program> program_;
  std::vector<Call> calls_;
};

} // namespace

std::unique_ptr<compiler::TimedProgram>
tools::loadTimed(const sinter_artifact &artifact, std::string &problem) {
  auto program = rt::Program::create(artifact, "", rt::DeviceOptions());
  rt::Status status = program.status();
  std::unique_ptr<Loaded> loaded;
  if (program.ok()) {
    loaded = std::make_unique<Loaded>(std::move(*program));
    status = loaded->prepare();
  }
  if (status.ok())
    return loaded;
  problem = status.message();
  return nullptr;
}
