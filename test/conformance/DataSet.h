//===- DataSet.h - inputs and expected outputs in files ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The format of the ONNX backend suite: test_data_set_N/{input,output}_I.pb
// beside the model, each a TensorProto.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_CONFORMANCE_DATASET_H
#define SINTER_TEST_CONFORMANCE_DATASET_H

#include "compiler/import/onnx/Import.h"
#include "ir/Tensor.h"

#include <optional>
#include <string>
#include <vector>

namespace sinter::conformance {

struct DataSet {
  std::vector<std::string> inputs, outputs; // the bytes of each .pb
};

std::vector<DataSet> readDataSets(const std::string &folder);

/// Nothing, and a line in `why`, when the bytes are not a tensor.
std::optional<ir::Tensor> parseTensor(const compiler::OnnxModel &model,
                                      const std::string &bytes,
                                      mlir::MLIRContext *context,
                                      std::string &why);

/// The suite stores bfloat16 data as uint16 of the bits. `element` is null for
/// types that Sinter does not have.
void readAsBfloat16(ir::Tensor &tensor, mlir::Type element);

} // namespace sinter::conformance

#endif // SINTER_TEST_CONFORMANCE_DATASET_H
