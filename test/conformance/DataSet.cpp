//===- DataSet.cpp - inputs and expected outputs in files -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/conformance/DataSet.h"

#include "compiler/import/onnx/TensorReader.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using namespace sinter::compiler;

namespace sinter::conformance {

static std::optional<std::string> readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false);
  if (!buffer)
    return std::nullopt;
  return (*buffer)->getBuffer().str();
}

std::vector<DataSet> readDataSets(const std::string &folder) {
  std::vector<DataSet> sets;
  for (int set = 0;; ++set) {
    std::string base = folder + "/test_data_set_" + std::to_string(set);
    if (!llvm::sys::fs::is_directory(base))
      return sets;
    DataSet &files = sets.emplace_back();
    for (const char *kind : {"input", "output"})
      for (int i = 0;; ++i) {
        auto bytes =
            readFile(base + "/" + kind + "_" + std::to_string(i) + ".pb");
        if (!bytes)
          break;
        (*kind == 'i' ? files.inputs : files.outputs)
            .push_back(std::move(*bytes));
      }
  }
}

std::optional<ir::Tensor> parseTensor(const OnnxModel &model,
                                      const std::string &bytes,
                                      MLIRContext *context, std::string &why) {
  ::onnx::TensorProto proto;
  if (!proto.ParseFromString(bytes)) {
    why = "its data is no tensor";
    return std::nullopt;
  }
  ReadFailure failure;
  std::optional<TensorData> data =
      readTensor(model, proto, context, why, failure);
  if (!data)
    return std::nullopt;
  return ir::Tensor::fromBytes(data->type, data->bytes.data.data());
}

void readAsBfloat16(ir::Tensor &tensor, Type element) {
  if (!element || !element.isBF16() ||
      !tensor.type().getElementType().isUnsignedInteger(16))
    return;
  std::vector<char> bytes = tensor.toBytes();
  auto type = RankedTensorType::get(tensor.shape(), element);
  tensor = ir::Tensor::fromBytes(type, bytes.data());
}

} // namespace sinter::conformance
