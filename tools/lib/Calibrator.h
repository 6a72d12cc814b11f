//===- Calibrator.h - runs the program for --calibrate ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_CALIBRATOR_H
#define SINTER_TOOLS_LIB_CALIBRATOR_H

#include "compiler/driver/Calibration.h"

namespace sinter::tools {

/// A compiler::ProgramRunner that runs on this machine's CPU.
std::string
runOnFirstRows(const sinter_artifact &artifact,
               const compiler::CalibrationData &data,
               llvm::ArrayRef<compiler::GivenInputs> runs,
               std::vector<std::vector<std::vector<char>>> &outputs);

/// A compiler::BatchRunner that runs on this machine's CPU.
std::string runOnAllRows(
    const sinter_artifact &artifact, const compiler::CalibrationData &data,
    llvm::function_ref<std::string(llvm::ArrayRef<std::vector<char>>)> take,
    compiler::BatchRows &rows);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_CALIBRATOR_H
