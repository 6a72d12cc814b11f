//===- BisectRuns.cpp - what bisect needs of the runtime ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/BisectRuns.h"

#include "runtime/exec/Program.h"
#include "tools/lib/Npz.h"

using namespace sinter;
using namespace sinter::tools;

static std::string readArrays(const std::string &path,
                              compiler::GivenArrays &arrays) {
  auto tensors = readNpz(path);
  if (!tensors.ok())
    return tensors.status().message();
  for (const auto &tensor : *tensors) {
    const char *bytes = reinterpret_cast<const char *>(tensor->bytes.data());
    arrays[tensor->name] = {tensor->dims,
                            tensor->typeText(),
                            {bytes, bytes + tensor->bytes.sizeBytes()}};
  }
  return "";
}

namespace {

std::string textOf(const rt::Status &status) {
  return status.ok() ? "" : status.message();
}

class LoadedProgram final : public compiler::DeviceProgram,
                            private rt::CommandWatch {
public:
  explicit LoadedProgram(std::unique_ptr<rt::Program> program)
      : program_(std::move(program)) {}

  std::string writeState(uint32_t state,
                         const std::vector<char> &bytes) override {
    return textOf(program_->writeState(state, bytes.data()));
  }
  std::string readState(uint32_t state, std::vector<char> &bytes) override {
    bytes.resize(program_->artifact().states[state].tensor.sizeBytes);
    return textOf(program_->readState(state, bytes.data()));
  }
  std::string run(const sinter_entry &entry, const sinter_control &control,
                  llvm::ArrayRef<std::vector<char>> inputs,
                  std::vector<std::vector<char>> &outputs) override {
    HostTensors aligned, results;
    std::vector<const void *> from;
    std::vector<void *> to;
    for (uint32_t i = 0; i < entry.numInputs; ++i) {
      auto tensor = HostTensor::zeros(entry.inputs[i]);
      if (!tensor.ok())
        return tensor.status().message();
      std::copy(inputs[i].begin(), inputs[i].end(), (*tensor)->bytes.data());
      from.push_back((*tensor)->bytes.data());
      aligned.push_back(std::move(*tensor));
    }
    for (uint32_t i = 0; i < entry.numOutputs; ++i) {
      auto tensor = HostTensor::zeros(entry.outputs[i]);
      if (!tensor.ok())
        return tensor.status().message();
      to.push_back((*tensor)->bytes.data());
      results.push_back(std::move(*tensor));
    }
    program_->setWatch(observe ? this : nullptr);
    rt::Status status =
        program_->run(entry.name, &control, from.data(), to.data());
    program_->setWatch(nullptr);
    for (const auto &tensor : results) {
      const char *bytes = reinterpret_cast<const char *>(tensor->bytes.data());
      outputs.emplace_back(bytes, bytes + tensor->bytes.sizeBytes());
    }
    return textOf(status);
  }

private:
  rt::Status ran(const rt::RanCommand &command) override {
    auto read = [&](uint32_t slice, std::vector<char> &bytes) {
      bytes.resize(
          command.entry.commands[command.index].slices[slice].sizeBytes);
      rt::Status status = command.device.download(
          command.stream, bytes.data(), command.buffers[slice], bytes.size());
      return textOf(status.ok() ? command.device.synchronize(command.stream)
                                : status);
    };
    std::string wrong = observe({command.entry, command.index, read});
    return wrong.empty() ? rt::Status() : rt::Status::invalid(wrong);
  }

  std::unique_ptr<rt::Program> program_;
};

} // namespace

static std::unique_ptr<compiler::DeviceProgram>
load(const sinter_artifact &artifact, const std::string &device,
     std::string &problem) {
  auto program = rt::Program::create(artifact, device, rt::DeviceOptions());
  if (!program.ok()) {
    problem = program.status().message();
    return nullptr;
  }
  return std::make_unique<LoadedProgram>(std::move(*program));
}

compiler::RunFunctions tools::bisectRuns() { return {readArrays, load}; }
