//===- Jit.cpp - a compiled program in this process -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/Jit.h"

#include "compiler/emit/ConstantsObject.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <cstring>
#include <sys/mman.h>

using namespace sinter;
using namespace sinter::compiler;
using namespace llvm::orc;

Jit::Jit() = default;

Jit::~Jit() {
  engine_.reset();
  if (constants_)
    munmap(constants_, constantsBytes_);
}

// The functions that generated code may call (kernel.h). No other symbols of
// the process are visible, so that a wrong reference fails here and not only on
// another machine.
static SymbolMap callableSymbols(LLJIT &engine) {
  SymbolMap symbols;
  auto add = [&](llvm::StringRef name, auto *function) {
    symbols[engine.mangleAndIntern(name)] = ExecutorSymbolDef(
        ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable);
  };
  add("memcpy",
      static_cast<void *(*)(void *, const void *, size_t)>(&std::memcpy));
  add("memmove",
      static_cast<void *(*)(void *, const void *, size_t)>(&std::memmove));
  add("memset", static_cast<void *(*)(void *, int, size_t)>(&std::memset));
  add("fmaf", static_cast<float (*)(float, float, float)>(&::fmaf));
  add("fma", static_cast<double (*)(double, double, double)>(&::fma));
  return symbols;
}

// Converts `error` to text, because it may refer to the engine, which a failed
// create() destroys.
static llvm::Error detached(llvm::Error error, const std::string &details) {
  std::string text = llvm::toString(std::move(error));
  return llvm::createStringError(details.empty() ? text : details);
}

llvm::Expected<std::unique_ptr<Jit>>
Jit::create(const CompiledProgram &program) {
  std::unique_ptr<Jit> jit(new Jit);
  jit->constantsBytes_ = std::max<uint64_t>(program.constantsBytes, 1);
  void *memory = mmap(nullptr, jit->constantsBytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return llvm::createStringError("no memory for " +
                                   llvm::Twine(program.constantsBytes) +
                                   " bytes of constants");
  jit->constants_ = memory;
  copyConstants(program, static_cast<char *>(memory));
  mprotect(memory, jit->constantsBytes_, PROT_READ);

  auto engine = LLJITBuilder()
                    .setLinkProcessSymbolsByDefault(false)
                    .setPlatformSetUp(setUpInactivePlatform)
                    .create();
  if (!engine)
    return engine.takeError();
  jit->engine_ = std::move(*engine);
  LLJIT &lljit = *jit->engine_;
  // The session's reports say more than the errors of the calls ("failed to
  // materialize"), and must not go to stderr. It may still report at its end.
  auto details = std::make_shared<std::string>();
  lljit.getExecutionSession().setErrorReporter([details](llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    if (details->empty())
      *details = text;
  });
  SymbolMap symbols = callableSymbols(lljit);
  symbols[lljit.mangleAndIntern("sinter_constants_" + program.symbol)] =
      ExecutorSymbolDef(ExecutorAddr::fromPtr(memory),
                        llvm::JITSymbolFlags::Exported);
  JITDylib &library = lljit.getMainJITDylib();
  if (llvm::Error error = library.define(absoluteSymbols(std::move(symbols))))
    return detached(std::move(error), *details);
  for (const std::string &object : program.objects)
    if (llvm::Error error = lljit.addObjectFile(
            llvm::MemoryBuffer::getMemBufferCopy(object, "kernels")))
      return detached(std::move(error), *details);
  auto address = lljit.lookup("sinter_artifact_" + program.symbol);
  if (!address)
    return detached(address.takeError(), *details);
  // The lookup of the tables can succeed although a kernel is missing.
  if (!details->empty())
    return llvm::createStringError(*details);
  jit->artifact_ = address->toPtr<const sinter_artifact *>();
  return jit;
}
