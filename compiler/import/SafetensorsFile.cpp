//===- SafetensorsFile.cpp - named tensors in a file ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/SafetensorsFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using llvm::StringRef;

namespace sinter::compiler {

// The limit that the format sets.
static constexpr uint64_t kMaxHeaderBytes = 100 << 20;

bool isNestedDeeply(StringRef json, int levels) {
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
      if (++depth > levels)
        return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

/// The bytes of the header, if a file begins with `start`.
static std::optional<uint64_t> headerBytes(StringRef start) {
  if (start.size() < 9 || start[8] != '{')
    return std::nullopt;
  uint64_t bytes = llvm::support::endian::read64le(start.data());
  return bytes <= kMaxHeaderBytes ? std::optional(bytes) : std::nullopt;
}

bool SafetensorsFile::isOne(StringRef path) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status) ||
      !llvm::sys::fs::is_regular_file(status) || status.getSize() < 9)
    return false;
  auto start = llvm::MemoryBuffer::getFileSlice(path, 9, 0);
  return start && headerBytes((*start)->getBuffer());
}

static bool readTensor(const llvm::json::Object &entry, StringRef data,
                       SafetensorsFile::Tensor &tensor) {
  const llvm::json::Array *shape = entry.getArray("shape");
  const llvm::json::Array *offsets = entry.getArray("data_offsets");
  if (!shape || !offsets || offsets->size() != 2)
    return false;
  tensor.dtype = entry.getString("dtype").value_or("").str();
  for (const llvm::json::Value &size : *shape) {
    std::optional<int64_t> number = size.getAsInteger();
    if (!number || *number < 0)
      return false;
    tensor.shape.push_back(*number);
  }
  int64_t begin = (*offsets)[0].getAsInteger().value_or(-1),
          end = (*offsets)[1].getAsInteger().value_or(-1);
  if (begin < 0 || end < begin || uint64_t(end) > data.size())
    return false;
  tensor.bytes = {data.data() + begin, size_t(end - begin)};
  return true;
}

llvm::Expected<SafetensorsFile> SafetensorsFile::open(StringRef path) {
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return llvm::createStringError(error.message());
  if (!llvm::sys::fs::is_regular_file(status))
    return llvm::createStringError("not a regular file");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError().message());
  SafetensorsFile file;
  file.buffer_ = std::move(*buffer);
  StringRef bytes = file.buffer_->getBuffer();
  std::optional<uint64_t> size = headerBytes(bytes);
  if (!size)
    return llvm::createStringError("not a safetensors file");
  if (*size > bytes.size() - 8)
    return llvm::createStringError("its header is longer than the file");
  StringRef text = bytes.substr(8, *size);
  if (isNestedDeeply(text, 8))
    return llvm::createStringError("its header is nested too deeply");
  auto header = llvm::json::parse(text);
  if (!header) {
    llvm::consumeError(header.takeError());
    return llvm::createStringError("its header is not JSON");
  }
  const llvm::json::Object *entries = header->getAsObject();
  if (!entries)
    return llvm::createStringError("its header is not a JSON object");
  StringRef data = bytes.drop_front(8 + *size);
  for (const auto &[key, value] : *entries) {
    const llvm::json::Object *entry = value.getAsObject();
    if (StringRef(key) == "__metadata__") {
      if (entry)
        for (const auto &[name, content] : *entry)
          if (auto words = content.getAsString())
            file.metadata_[StringRef(name)] = words->str();
      continue;
    }
    Tensor tensor;
    tensor.name = StringRef(key).str();
    if (!entry || !readTensor(*entry, data, tensor))
      return llvm::createStringError("its header does not describe tensor '" +
                                     tensor.name + "' correctly");
    file.tensors_.push_back(std::move(tensor));
  }
  llvm::sort(file.tensors_, [](const Tensor &a, const Tensor &b) {
    return std::make_tuple(a.bytes.data(), a.bytes.size(), StringRef(a.name)) <
           std::make_tuple(b.bytes.data(), b.bytes.size(), StringRef(b.name));
  });
  return file;
}

} // namespace sinter::compiler
