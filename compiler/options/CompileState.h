//===- CompileState.h - what a compilation decides --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Options are the request: nothing changes them once the command line is
// parsed. What is decided later (sizes that a file or an array binds, the split
// of a batch, ops that calibration keeps in float32) is here. One request may
// be compiled several times, each time with a state of its own.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_OPTIONS_COMPILESTATE_H
#define SINTER_COMPILER_OPTIONS_COMPILESTATE_H

#include "compiler/options/Options.h"

namespace sinter::compiler {

struct CompileState {
  /// What `options` ask for, for the first of their targets.
  explicit CompileState(const Options &options)
      : target(options.targets.empty() ? "" : options.targets.front()),
        batch(options.batch), shapes(options.shapes),
        accumulate(options.train.request.accumulate),
        quantization(options.plannedQuantization) {}

  /// The kind of the default device: one of the request's targets.
  std::string target;
  /// The leading dimension of the inputs: of one micro-batch.
  std::optional<int64_t> batch;
  /// Inputs and their whole shapes: --shape, sizes of given arrays, made-up
  /// sizes.
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  int64_t accumulate;     // micro-batches of a step
  int64_t splitBatch = 0; // the batch that --allow-microbatch split; 0 = none
  /// Ops that calibration keeps in float32: key and reason.
  std::vector<std::pair<std::string, std::string>> calibrated;
  /// runtimeHash() (compiler/emit/Link.h) of the file that the program is
  /// linked into; "" if it is not linked with the runtime.
  std::string runtimeHash;
  /// What becomes products of 8-bit integers: from the precision plan, or from
  /// calibration. Nothing: no contraction does.
  std::optional<passes::QuantizeSettings> quantization;
  /// Only the success of the compilation matters: nothing is said of it.
  bool isTrial = false;
  /// Whether the files of --trace, --remarks, --dump-phases and
  /// --save-precision-plan are written.
  bool writesFiles = true;

  CompileState forTarget(llvm::StringRef kind) const {
    CompileState own = *this;
    own.target = kind.str();
    return own;
  }
  CompileState asTrial() const {
    CompileState trial = *this;
    trial.isTrial = true;
    trial.writesFiles = false;
    return trial;
  }
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_OPTIONS_COMPILESTATE_H
