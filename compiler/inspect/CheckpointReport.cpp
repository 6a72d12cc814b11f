//===- CheckpointReport.cpp - what a checkpoint holds ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/CheckpointReport.h"

#include "compiler/base/Text.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace json = llvm::json;

static constexpr uint64_t kMaxManifestBytes = 100 << 20;
static constexpr int kMaxNesting = 32;

static std::string inside(StringRef directory, StringRef name) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

static llvm::Error damaged(StringRef path, const llvm::Twine &why) {
  return llvm::createStringError(shown(path, 512) + ": " + why);
}

static llvm::Expected<json::Object> parseObject(StringRef path,
                                                StringRef text) {
  if (isNestedDeeply(text, kMaxNesting))
    return damaged(path, "its JSON is nested too deeply");
  auto value = json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return damaged(path, "is not valid JSON");
  }
  if (json::Object *object = value->getAsObject())
    return std::move(*object);
  return damaged(path, "is not a JSON object");
}

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
openFile(const std::string &path) {
  fs::file_status status;
  if (std::error_code error = fs::status(path, status))
    return damaged(path, error.message());
  if (!fs::is_regular_file(status))
    return damaged(path, "not a regular file");
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return damaged(path, file.getError().message());
  return std::move(*file);
}

// The last complete folder among those with names like step-00000017.
static std::string newestIn(StringRef directory) {
  std::string newest;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; it != end && !error;
       it.increment(error)) {
    StringRef path = it->path();
    if (llvm::sys::path::filename(path).starts_with("step-") &&
        fs::exists(inside(path, "manifest.json")) && path > newest)
      newest = path.str();
  }
  return newest;
}

static llvm::Error readPayload(const std::string &path,
                               SafetensorsFile &payload) {
  auto file = SafetensorsFile::open(path);
  if (!file)
    return damaged(path, llvm::toString(file.takeError()));
  payload = std::move(*file);
  return llvm::Error::success();
}

llvm::Expected<CheckpointSummary> CheckpointSummary::read(StringRef path) {
  CheckpointSummary checkpoint;
  if (!fs::is_directory(path)) {
    checkpoint.path = path.str();
    if (llvm::Error error = readPayload(checkpoint.path, checkpoint.payload))
      return std::move(error);
    return checkpoint;
  }
  checkpoint.path =
      fs::exists(inside(path, "manifest.json")) ? path.str() : newestIn(path);
  if (checkpoint.path.empty())
    return damaged(path, "holds no checkpoint");

  std::string manifestPath = inside(checkpoint.path, "manifest.json");
  auto manifest = openFile(manifestPath);
  if (!manifest)
    return manifest.takeError();
  if ((*manifest)->getBufferSize() > kMaxManifestBytes)
    return damaged(manifestPath, "is too large");
  auto object = parseObject(manifestPath, (*manifest)->getBuffer());
  if (!object)
    return object.takeError();
  checkpoint.manifest = std::move(*object);
  if (llvm::Error error = readPayload(
          inside(checkpoint.path, "state.safetensors"), checkpoint.payload))
    return std::move(error);
  if (const json::Array *files = checkpoint.manifest.getArray("partFiles"))
    for (const json::Value &value : *files) {
      const json::Object *file = value.getAsObject();
      StringRef name = file ? file->getString("file").value_or("") : "";
      if (name.empty() || name.contains('/'))
        return damaged(manifestPath, "has a part without a file's name");
      auto &[known, part] = checkpoint.parts.emplace_back();
      known = name.str();
      if (llvm::Error error = readPayload(inside(checkpoint.path, name), part))
        return std::move(error);
    }
  return checkpoint;
}

static void printTensors(const SafetensorsFile &payload,
                         llvm::raw_ostream &os) {
  for (const SafetensorsFile::Tensor &tensor : payload.tensors()) {
    os << "  " << llvm::left_justify(shown(tensor.name), 40) << " "
       << shown(tensor.dtype) << " [";
    llvm::interleaveComma(tensor.shape, os);
    os << "]\n";
  }
}

static uint64_t bytesIn(const SafetensorsFile &payload) {
  uint64_t bytes = 0;
  for (const SafetensorsFile::Tensor &tensor : payload.tensors())
    bytes += tensor.bytes.size();
  return bytes;
}

static json::Array tensorsJson(const SafetensorsFile &payload) {
  json::Array tensors;
  for (const SafetensorsFile::Tensor &tensor : payload.tensors())
    tensors.push_back(json::Object{{"name", json::isUTF8(tensor.name)
                                                ? tensor.name
                                                : json::fixUTF8(tensor.name)},
                                   {"dtype", json::fixUTF8(tensor.dtype)},
                                   {"dims", json::Array(tensor.shape)},
                                   {"bytes", tensor.bytes.size()}});
  return tensors;
}

static void reportFile(const CheckpointSummary &checkpoint,
                       llvm::raw_ostream &os) {
  os << "tensors  " << shown(checkpoint.path, 512) << "\nstate    "
     << checkpoint.payload.tensors().size() << " tensors, "
     << bytesIn(checkpoint.payload) << " bytes\n";
  printTensors(checkpoint.payload, os);
}

void compiler::reportCheckpoint(const CheckpointSummary &checkpoint, bool json,
                                llvm::raw_ostream &os) {
  const SafetensorsFile &payload = checkpoint.payload;
  bool isFile = checkpoint.manifest.empty();
  if (json) {
    json::Object object{{"path", json::fixUTF8(checkpoint.path)},
                        {"tensors", tensorsJson(payload)}};
    json::Array parts;
    for (const auto &[name, part] : checkpoint.parts)
      parts.push_back(json::Object{{"file", json::fixUTF8(name)},
                                   {"tensors", tensorsJson(part)}});
    if (!parts.empty())
      object["parts"] = std::move(parts);
    if (!isFile)
      object["manifest"] = json::Object(checkpoint.manifest);
    os << json::Value(std::move(object)) << "\n";
    return;
  }
  if (isFile)
    return reportFile(checkpoint, os);
  auto text = [&](StringRef key) {
    return shown(checkpoint.manifest.getString(key).value_or("?"));
  };
  auto number = [&](StringRef key) {
    auto value = checkpoint.manifest.getInteger(key);
    return value ? std::to_string(*value) : "?";
  };
  os << "checkpoint " << shown(checkpoint.path, 512) << "\nmodel    "
     << text("model") << "\nbuild    " << text("buildId") << "\nstep     "
     << number("step") << " of " << number("totalSteps") << ", epoch "
     << number("epoch") << ", batch " << number("batch") << ", seed "
     << number("seed") << "\ndata     " << number("rows") << " rows\nstate    "
     << payload.tensors().size() << " tensors, " << number("payloadBytes")
     << " bytes\n";
  printTensors(payload, os);
  for (const auto &[name, part] : checkpoint.parts) {
    os << "part     " << shown(name) << ": " << part.tensors().size()
       << " tensors, " << bytesIn(part) << " bytes\n";
    printTensors(part, os);
  }
}
