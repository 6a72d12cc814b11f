//===- CompiledModule.h - a module, compiled and run in memory --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Compiles and runs as the tools do: the phases after import, a target's code
// generator, the tables, the JIT and the runtime's executor. Tests pass a
// module in the importer's form and compare the results with ir/eval or with
// files.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_COMPILED_COMPILEDMODULE_H
#define SINTER_TEST_COMPILED_COMPILEDMODULE_H

#include "ir/Tensor.h"
#include "runtime/device/DeviceOptions.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sinter::test {

struct CompileSettings {
  bool isParallel = false;     // kernels on all processors
  std::string mcpu = "native"; // as --mcpu; this machine must have it
  /// As --target; the program runs on the first device of that kind.
  std::string target = "cpu";
  std::vector<std::string> libraries = {"all"}; // as --libraries
  std::optional<unsigned> optLevel = {};        // as -O
  std::string precision = {};                   // as --precision; "": default
  bool hasWideCounts = false;                   // as in passes::CodeGenOptions
  rt::DeviceOptions deviceOptions;              // one thread always
};

class CompiledModule {
public:
  /// Compiles @main of `module`, which is changed in place and whose context
  /// must outlive the result. Null, and a line in `why`, on failure.
  static std::unique_ptr<CompiledModule> create(mlir::ModuleOp module,
                                                const CompileSettings &settings,
                                                std::string &why);
  ~CompiledModule();

  /// The results for one tensor per argument of @main, of its type. Nothing,
  /// and a line in `why`, on failure. Every byte of a result that the program
  /// does not write is 0xcd.
  std::optional<std::vector<ir::Tensor>> run(llvm::ArrayRef<ir::Tensor> inputs,
                                             std::string &why);

private:
  struct Parts; // the code and the loaded program
  CompiledModule();

  std::unique_ptr<Parts> parts_;
  std::vector<mlir::RankedTensorType> inputTypes_, outputTypes_;
};

} // namespace sinter::test

#endif // SINTER_TEST_COMPILED_COMPILEDMODULE_H
