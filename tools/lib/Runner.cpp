//===- Runner.cpp - something that computes outputs from inputs -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/Runner.h"

#include "runtime/exec/ArtifactPlaces.h"
#include "tools/lib/ElfSymbols.h"

#include "sinter/program_names.h"

#include <dlfcn.h>
#include <filesystem>

using namespace sinter;
using namespace sinter::tools;

namespace {

class ArtifactRunner final : public Runner {
public:
  ArtifactRunner(std::unique_ptr<rt::Program> program,
                 const sinter_entry &entry)
      : program_(std::move(program)), entry_(entry) {}

  const sinter_artifact &artifact() const override {
    return program_->source();
  }
  std::span<const sinter_tensor_desc> inputs() const override {
    return {entry_.inputs, entry_.numInputs};
  }
  std::span<const sinter_tensor_desc> outputs() const override {
    return {entry_.outputs, entry_.numOutputs};
  }
  std::span<const sinter_state_desc> states() const override {
    const sinter_artifact &artifact = program_->artifact();
    return {artifact.states, rt::numOwnStates(artifact)};
  }
  rt::Status readState(uint32_t index, void *to) override {
    return program_->readState(index, to);
  }
  rt::Status writeState(uint32_t index, const void *from) override {
    return program_->writeState(index, from);
  }
  rt::Status run(const void *const *inputs, void *const *outputs) override {
    return program_->run(entry_.name, nullptr, inputs, outputs);
  }
  rt::Result<std::vector<void *>> inputMemory() override {
    auto memory = program_->inputMemory(entry_.name);
    if (!memory.ok())
      return memory.status();
    return std::vector<void *>(memory->begin(), memory->end());
  }
  rt::Status profile(rt::ProfileSink *sink) override {
    program_->setProfileSink(sink);
    return {};
  }
  std::string describeCall(uint32_t index) override {
    return program_->find(entry_.name)->describe(index);
  }
  rt::Result<rt::Ceilings> ceilings() override {
    return rt::measureCeilings(program_->device());
  }

private:
  std::unique_ptr<rt::Program> program_;
  const sinter_entry &entry_;
};

// The functions that a library exports as sinter_<model>_X.
struct LibraryFunctions {
  int32_t (*create)(int32_t threads, void **program);
  void (*destroy)(void *program);
  int32_t (*run)(void *program, const void *const *inputs,
                 void *const *outputs);
  int32_t (*inputMemory)(void *program, void **inputs);
  int32_t (*readState)(void *program, uint32_t index, void *to);
  int32_t (*writeState)(void *program, uint32_t index, const void *from);
  const char *(*lastError)();
  const sinter_tensor_desc *(*inputs)(uint32_t *count);
  const sinter_tensor_desc *(*outputs)(uint32_t *count);
  const sinter_artifact *(*artifact)();
};

class LibraryRunner final : public Runner {
public:
  LibraryRunner(const LibraryFunctions &functions, void *program,
                const rt::DeviceOptions &options)
      : functions_(functions), program_(program), options_(options) {
    uint32_t count = 0;
    const sinter_tensor_desc *list = functions.inputs(&count);
    inputs_ = {list, count};
    list = functions.outputs(&count);
    outputs_ = {list, count};
  }
  ~LibraryRunner() override { functions_.destroy(program_); }

  const sinter_artifact &artifact() const override {
    return *functions_.artifact();
  }
  std::span<const sinter_tensor_desc> inputs() const override {
    return inputs_;
  }
  std::span<const sinter_tensor_desc> outputs() const override {
    return outputs_;
  }
  std::span<const sinter_state_desc> states() const override {
    const sinter_artifact &artifact = *functions_.artifact();
    return {artifact.states, rt::numOwnStates(artifact)};
  }
  rt::Status readState(uint32_t index, void *to) override {
    return profiled_ ? profiled_->readState(index, to)
                     : statusOf(functions_.readState(program_, index, to));
  }
  rt::Status writeState(uint32_t index, const void *from) override {
    return profiled_ ? profiled_->writeState(index, from)
                     : statusOf(functions_.writeState(program_, index, from));
  }
  rt::Status run(const void *const *inputs, void *const *outputs) override {
    if (profiled_)
      return profiled_->run(inputs, outputs);
    return statusOf(functions_.run(program_, inputs, outputs));
  }
  rt::Result<std::vector<void *>> inputMemory() override {
    if (!functions_.inputMemory) // of an older version
      return std::vector<void *>();
    std::vector<void *> memory(inputs_.size());
    rt::Status status =
        statusOf(functions_.inputMemory(program_, memory.data()));
    if (!status.ok())
      return status;
    return memory;
  }
  // The library's own runtime cannot profile. The runtime of this process runs
  // the same tables and continues with the current states.
  rt::Status profile(rt::ProfileSink *sink) override {
    profiled_.reset();
    if (!sink)
      return {};
    auto runner = runArtifact(*functions_.artifact(), "", options_);
    if (!runner.ok())
      return runner.status();
    auto states = readStates(*this);
    if (!states.ok())
      return states.status();
    for (uint32_t i = 0; i < states->size(); ++i) {
      rt::Status written = (*runner)->writeState(i, (*states)[i]->bytes.data());
      if (!written.ok())
        return written;
    }
    profiled_ = std::move(*runner);
    return profiled_->profile(sink);
  }
  std::string describeCall(uint32_t index) override {
    return profiled_ ? profiled_->describeCall(index) : std::string();
  }
  rt::Result<rt::Ceilings> ceilings() override {
    return profiled_ ? profiled_->ceilings() : rt::Ceilings();
  }

private:
  rt::Status statusOf(int32_t code) const {
    return code ? rt::Status(static_cast<sinter_status>(code),
                             functions_.lastError())
                : rt::Status();
  }

  LibraryFunctions functions_;
  void *program_;
  rt::DeviceOptions options_;
  std::unique_ptr<Runner> profiled_;
  std::span<const sinter_tensor_desc> inputs_, outputs_;
};

} // namespace

rt::Result<HostTensors> tools::readStates(Runner &runner) {
  HostTensors states;
  uint32_t index = 0;
  for (const sinter_state_desc &state : runner.states()) {
    auto tensor = HostTensor::zeros(state.tensor);
    if (!tensor.ok())
      return tensor.status();
    rt::Status read = runner.readState(index++, (*tensor)->bytes.data());
    if (!read.ok())
      return read;
    states.push_back(std::move(*tensor));
  }
  return states;
}

rt::Result<std::unique_ptr<Runner>>
tools::runArtifact(const sinter_artifact &artifact, const std::string &device,
                   const rt::DeviceOptions &options) {
  auto program = rt::Program::create(artifact, device, options);
  if (!program.ok())
    return program.status();
  rt::Executor *main = (*program)->find(SINTER_ENTRY_MAIN);
  if (!main)
    return rt::Status::invalid("a training program has no entry to run; use "
                               "the trainer that sinterc makes of it");
  const sinter_entry &entry = main->entry();
  return std::unique_ptr<Runner>(
      new ArtifactRunner(std::move(*program), entry));
}

// Resolves the functions of the library at `path`.
static rt::Result<LibraryFunctions> openLibrary(const std::string &path) {
  auto names = exportedSymbols(path);
  if (!names.ok())
    return names.status();
  // The symbol sinter_<model>_artifact contains the model's name.
  std::string prefix;
  for (const std::string &name : *names)
    if (name.starts_with("sinter_") && name.ends_with("_artifact"))
      prefix = name.substr(0, name.size() - std::string("artifact").size());
  if (prefix.empty())
    return rt::Status::invalid(path + ": is not a library that sinterc made");
  // For a name without a slash, dlopen would search the system's folders.
  std::string file = std::filesystem::absolute(path).string();
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return rt::Status::invalid(std::string(dlerror()));
  LibraryFunctions functions;
  bool complete = true;
  auto resolve = [&](auto &function, const char *name) {
    void *address = dlsym(library, (prefix + name).c_str());
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    complete &= address != nullptr;
  };
  resolve(functions.create, "create");
  resolve(functions.destroy, "destroy");
  resolve(functions.run, "run");
  resolve(functions.readState, "read_state");
  resolve(functions.writeState, "write_state");
  resolve(functions.lastError, "last_error");
  resolve(functions.inputs, "inputs");
  resolve(functions.outputs, "outputs");
  resolve(functions.artifact, "artifact");
  const bool isComplete = complete;
  resolve(functions.inputMemory, "input_memory");
  if (!isComplete)
    return rt::Status::invalid(path + ": lacks functions of this version");
  return functions;
}

rt::Result<std::unique_ptr<Runner>>
tools::runLibrary(const std::string &path, const std::string &device,
                  const rt::DeviceOptions &options) {
  auto functions = openLibrary(path);
  if (!functions.ok())
    return functions.status();
  // The library's own functions do not support these.
  if (!device.empty() || options.syncLaunches || options.memoryLimitBytes ||
      options.isForSim())
    return runArtifact(*functions->artifact(), device, options);
  void *program = nullptr;
  if (int32_t code = functions->create(options.threads, &program))
    return rt::Status(static_cast<sinter_status>(code),
                      path + ": " + functions->lastError());
  return std::unique_ptr<Runner>(
      new LibraryRunner(*functions, program, options));
}
