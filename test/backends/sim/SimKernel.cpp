//===- SimKernel.cpp - a kernel of a test, ready to launch ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/backends/sim/SimKernel.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <cmath>
#include <cstring>

using namespace llvm;

namespace sinter::test {

SimKernel::~SimKernel() = default;

SimKernel::SimKernel(const std::string &file, const std::string &name,
                     const sim::SimOptions &options)
    : name_(name) {
  auto text =
      MemoryBuffer::getFile(std::string(SINTER_SIM_KERNELS) + "/" + file);
  if (!text) {
    error_ = "no file " + file;
    return;
  }
  load(std::move(*text), options);
}

std::unique_ptr<SimKernel> SimKernel::fromText(const std::string &text,
                                               const std::string &name,
                                               const sim::SimOptions &options) {
  std::unique_ptr<SimKernel> kernel(new SimKernel);
  kernel->name_ = name;
  kernel->load(MemoryBuffer::getMemBufferCopy(text, name), options);
  return kernel;
}

// What generated code may call (sinter/kernel.h); nothing else is visible.
static orc::SymbolMap callableSymbols(orc::LLJIT &engine) {
  orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[engine.mangleAndIntern(name)] = orc::ExecutorSymbolDef(
        orc::ExecutorAddr::fromPtr(function),
        JITSymbolFlags::Exported | JITSymbolFlags::Callable);
  };
  add("memcpy",
      static_cast<void *(*)(void *, const void *, size_t)>(&std::memcpy));
  add("memset", static_cast<void *(*)(void *, int, size_t)>(&std::memset));
  add("fmaf", static_cast<float (*)(float, float, float)>(&::fmaf));
  add("fma", static_cast<double (*)(double, double, double)>(&::fma));
  return symbols;
}

void SimKernel::load(std::unique_ptr<MemoryBuffer> text,
                     const sim::SimOptions &options) {
  LLVMContext context;
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseIR(*text, diagnostic, context);
  if (!module) {
    error_ = diagnostic.getMessage().str();
    return;
  }
  Function *kernel = module->getFunction(name_);
  if (!kernel) {
    error_ = "no function " + name_;
    return;
  }
  // If the file has several kernels, the others are removed.
  if (!module->getNamedMetadata("nvvm.annotations"))
    kernel->setCallingConv(CallingConv::PTX_Kernel);
  for (Function &function : make_early_inc_range(*module))
    if (&function != kernel && !function.isDeclaration() &&
        function.use_empty())
      function.eraseFromParent();
  Expected<std::string> object = sim::compileForSim(*module, options);
  if (!object) {
    error_ = toString(object.takeError());
    return;
  }
  auto engine = orc::LLJITBuilder()
                    .setLinkProcessSymbolsByDefault(false)
                    .setPlatformSetUp(orc::setUpInactivePlatform)
                    .create();
  if (!engine) {
    error_ = toString(engine.takeError());
    return;
  }
  engine_ = std::move(*engine);
  Error error = engine_->getMainJITDylib().define(
      orc::absoluteSymbols(callableSymbols(*engine_)));
  if (!error)
    error =
        engine_->addObjectFile(MemoryBuffer::getMemBufferCopy(*object, name_));
  if (error) {
    error_ = toString(std::move(error));
    return;
  }
  auto address = engine_->lookup(name_);
  if (!address) {
    error_ = toString(address.takeError());
    return;
  }
  code_ = address->toPtr<sinter_sim_kernel>();
}

sim::Launch SimKernel::launch(std::vector<sim::MemoryRange> buffers,
                              uint32_t grid, uint32_t block,
                              uint32_t sharedBytes) {
  addresses_.clear();
  for (const sim::MemoryRange &buffer : buffers)
    addresses_.push_back(const_cast<void *>(buffer.begin));
  sim::Launch launch;
  launch.kernel = code_;
  launch.name = name_.c_str();
  launch.grid[0] = grid;
  launch.block[0] = block;
  launch.sharedBytes = sharedBytes;
  launch.buffers = addresses_.data();
  launch.ranges = std::move(buffers);
  return launch;
}

} // namespace sinter::test
