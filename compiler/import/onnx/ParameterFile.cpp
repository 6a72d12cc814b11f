//===- ParameterFile.cpp - a module's own weights -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/ParameterFile.h"
#include "compiler/import/onnx/Text.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <onnx/onnx_pb.h>

using ::onnx::TensorProto;

namespace sinter::compiler {

/// ONNX's type and the bytes of an element; 0 for a type without floats.
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

/// Headers nest three deep; the parser recurses.
static bool nestsTooDeep(llvm::StringRef json) {
  int depth = 0;
  bool isText = false;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (isText) {
      i += c == '\\';
      isText = c != '"';
    } else if (c == '"') {
      isText = true;
    } else if (c == '{' || c == '[') {
      if (++depth > 8)
        return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

std::unique_ptr<ParameterFile> ParameterFile::open(llvm::StringRef path,
                                                   std::string &why) {
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status)) {
    why = error.message();
    return nullptr;
  }
  if (!llvm::sys::fs::is_regular_file(status)) {
    why = "not a regular file";
    return nullptr;
  }
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    why = buffer.getError().message();
    return nullptr;
  }
  auto file = std::make_unique<ParameterFile>();
  file->path_ = path.str();
  file->buffer_ = std::move(*buffer);
  llvm::StringRef bytes = file->buffer_->getBuffer();
  why = "not a safetensors file (torch.save's are not read; see "
        "docs/examples/export_pytorch.py)";
  if (bytes.size() < 8)
    return nullptr;
  uint64_t headerBytes = llvm::support::endian::read64le(bytes.data());
  if (headerBytes > bytes.size() - 8)
    return nullptr;
  llvm::StringRef data = bytes.drop_front(8 + headerBytes);
  if (nestsTooDeep(bytes.substr(8, headerBytes)))
    return nullptr;
  auto header = llvm::json::parse(bytes.substr(8, headerBytes));
  if (!header) {
    llvm::consumeError(header.takeError());
    return nullptr;
  }
  const llvm::json::Object *entries = header->getAsObject();
  if (!entries)
    return nullptr;
  for (const auto &[key, value] : *entries) {
    const llvm::json::Object *entry = value.getAsObject();
    if (!entry)
      return nullptr;
    if (llvm::StringRef(key) == "__metadata__") {
      for (const auto &[name, kept] : *entry)
        if (auto text = kept.getAsString())
          file->shared_[llvm::StringRef(name)] = text->str();
      continue;
    }
    auto [type, width] = typeOf(entry->getString("dtype").value_or(""));
    const llvm::json::Array *shape = entry->getArray("shape");
    const llvm::json::Array *offsets = entry->getArray("data_offsets");
    if (!shape || !offsets || offsets->size() != 2)
      return nullptr;
    if (!type)
      continue;
    Tensor tensor{type, {}, {}};
    int64_t count = width;
    for (const llvm::json::Value &size : *shape) {
      std::optional<int64_t> number = size.getAsInteger();
      if (!number || *number < 0 || llvm::MulOverflow(count, *number, count))
        return nullptr;
      tensor.shape.push_back(*number);
    }
    int64_t begin = (*offsets)[0].getAsInteger().value_or(-1),
            end = (*offsets)[1].getAsInteger().value_or(-1);
    if (begin < 0 || end < begin || uint64_t(end) > data.size() ||
        end - begin != count)
      return nullptr;
    tensor.bytes = {data.data() + begin, size_t(end - begin)};
    file->tensors_[llvm::StringRef(key)] = std::move(tensor);
  }
  // Other metadata names no tensors.
  for (const auto &name : llvm::make_early_inc_range(file->shared_)) {
    auto kept = file->tensors_.find(name.second);
    if (kept == file->tensors_.end() || name.second == name.getKey()) {
      file->shared_.erase(name.getKey());
      continue;
    }
    auto [place, isNew] =
        file->tensors_.try_emplace(name.getKey(), kept->second);
    if (!isNew && (place->second.shape != kept->second.shape ||
                   place->second.bytes != kept->second.bytes)) {
      why = "tensors " + quoted(name.getKey()) + " and " + quoted(name.second) +
            " are one tensor, and have different values";
      return nullptr;
    }
  }
  why.clear();
  return file;
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
