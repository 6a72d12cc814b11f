//===- ParameterFile.cpp - a module's own weights -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/ParameterFile.h"
#include "compiler/base/Text.h"

#include "llvm/Support/MathExtras.h"

#include <onnx/onnx_pb.h>

using ::onnx::TensorProto;

namespace sinter::compiler {

/// ONNX's type and the bytes of an element; 0 for a type that is not a float.
static std::pair<int32_t, int64_t> typeOf(llvm::StringRef name) {
  if (name == "F32")
    return {TensorProto::FLOAT, 4};
  if (name == "F16")
    return {TensorProto::FLOAT16, 2};
  if (name == "BF16")
    return {TensorProto::BFLOAT16, 2};
  if (name == "F64")
    return {TensorProto::DOUBLE, 8};
  return {0, 0};
}

std::unique_ptr<ParameterFile> ParameterFile::open(llvm::StringRef path,
                                                   std::string &why) {
  auto opened = SafetensorsFile::open(path);
  if (!opened) {
    why = llvm::toString(opened.takeError());
    if (why == "not a safetensors file")
      why += " (torch.save's are not read; see "
             "docs/examples/export_pytorch.py)";
    return nullptr;
  }
  auto file = std::make_unique<ParameterFile>();
  file->path_ = path.str();
  file->file_ = std::move(*opened);
  for (const SafetensorsFile::Tensor &tensor : file->file_.tensors()) {
    auto [type, width] = typeOf(tensor.dtype);
    if (!type)
      continue;
    int64_t count = width;
    for (int64_t size : tensor.shape)
      if (llvm::MulOverflow(count, size, count))
        count = -1;
    if (count != int64_t(tensor.bytes.size())) {
      why = "the size of tensor " + quoted(tensor.name) +
            " does not match its shape";
      return nullptr;
    }
    file->tensors_[tensor.name] = {type, tensor.shape, tensor.bytes};
  }
  return file->addShared(why) ? std::move(file) : nullptr;
}

bool ParameterFile::addShared(std::string &why) {
  for (const auto &entry : file_.metadata()) {
    // Other metadata does not name tensors.
    llvm::StringRef name = entry.getKey(), kept = entry.second;
    auto original = tensors_.find(kept);
    if (original == tensors_.end() || kept == name)
      continue;
    Tensor tensor = original->second; // the map may grow
    auto [place, isNew] = tensors_.try_emplace(name, tensor);
    if (!isNew && (place->second.shape != tensor.shape ||
                   place->second.bytes != tensor.bytes)) {
      why = "tensors " + quoted(name) + " and " + quoted(kept) +
            " are one tensor, but have different values";
      return false;
    }
    shared_[name] = kept.str();
  }
  return true;
}

bool ParameterFile::areShared(llvm::StringRef a, llvm::StringRef b) const {
  auto original = [&](llvm::StringRef name) -> llvm::StringRef {
    auto found = shared_.find(name);
    return found == shared_.end() ? name : llvm::StringRef(found->second);
  };
  return original(a) == original(b);
}

const ParameterFile::Tensor *ParameterFile::find(llvm::StringRef name) const {
  auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

} // namespace sinter::compiler
