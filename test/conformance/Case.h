//===- Case.h - one test of the ONNX backend suite --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A test is a folder: model.onnx and test_data_set_*/{input,output}_*.pb. It
// passes if the model is imported and its outputs for every data set are the
// expected ones.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_CONFORMANCE_CASE_H
#define SINTER_TEST_CONFORMANCE_CASE_H

#include "ir/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sinter::conformance {

/// Runs @main of an imported module for its inputs in order. Nothing, and a
/// line in `why`, on failure.
using RunFn = std::function<std::optional<std::vector<ir::Tensor>>(
    mlir::ModuleOp module, llvm::ArrayRef<ir::Tensor> inputs,
    std::string &why)>;

/// The way of running for `--mode=NAME`; null for an unknown name. A new way is
/// one line in Modes.cpp.
RunFn findMode(llvm::StringRef name);

enum class Outcome { Passed, PassedBound, Failed };

struct Result {
  Outcome outcome;
  std::string why; // of a failure, one line
};

/// A test whose model needs an input at compile time (a shape, say) is imported
/// again with its small inputs bound: PassedBound.
Result runCase(const std::string &folder, const RunFn &run);

} // namespace sinter::conformance

#endif // SINTER_TEST_CONFORMANCE_CASE_H
