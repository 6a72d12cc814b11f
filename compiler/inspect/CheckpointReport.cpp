//===- CheckpointReport.cpp - what a checkpoint holds ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/CheckpointReport.h"

#include "compiler/import/onnx/Text.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace json = llvm::json;

static constexpr uint64_t kMaxHeaderBytes = 100 << 20;
// LLVM's parser calls itself for every bracket.
static constexpr int kMaxNesting = 32;

static std::string inside(StringRef directory, StringRef name) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

static bool isNestedDeeply(StringRef text) {
  int depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isString && c == '\\')
      ++i;
    else if (c == '"')
      isString = !isString;
    else if (!isString && (c == '{' || c == '['))
      if (++depth > kMaxNesting)
        return true;
    if (!isString && (c == '}' || c == ']'))
      --depth;
  }
  return false;
}

static llvm::Error damaged(StringRef path, const llvm::Twine &why) {
  return llvm::createStringError(shown(path, 512) + ": " + why);
}

static llvm::Expected<json::Object> parseObject(StringRef path,
                                                StringRef text) {
  if (isNestedDeeply(text))
    return damaged(path, "its JSON is nested too deeply");
  auto value = json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return damaged(path, "is no JSON text");
  }
  if (json::Object *object = value->getAsObject())
    return std::move(*object);
  return damaged(path, "is no JSON object");
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

// Of the folders called step-00000017, the last one that is complete.
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

llvm::Expected<CheckpointSummary> CheckpointSummary::read(StringRef path) {
  CheckpointSummary checkpoint;
  checkpoint.path =
      fs::exists(inside(path, "manifest.json")) ? path.str() : newestIn(path);
  if (checkpoint.path.empty())
    return damaged(path, "holds no checkpoint");

  std::string manifestPath = inside(checkpoint.path, "manifest.json");
  auto manifest = openFile(manifestPath);
  if (!manifest)
    return manifest.takeError();
  if ((*manifest)->getBufferSize() > kMaxHeaderBytes)
    return damaged(manifestPath, "is too large");
  auto object = parseObject(manifestPath, (*manifest)->getBuffer());
  if (!object)
    return object.takeError();
  checkpoint.manifest = std::move(*object);

  std::string payloadPath = inside(checkpoint.path, "state.safetensors");
  auto payload = openFile(payloadPath);
  if (!payload)
    return payload.takeError();
  StringRef bytes = (*payload)->getBuffer();
  if (bytes.size() < 8)
    return damaged(payloadPath, "is cut off");
  uint64_t headerBytes = llvm::support::endian::read64le(bytes.data());
  if (headerBytes > bytes.size() - 8 || headerBytes > kMaxHeaderBytes)
    return damaged(payloadPath, "its header is longer than the file");
  auto header = parseObject(payloadPath, bytes.substr(8, headerBytes));
  if (!header)
    return header.takeError();
  header->erase("__metadata__");
  checkpoint.tensors = std::move(*header);
  return checkpoint;
}

namespace {
struct TensorLine {
  std::string name, dtype;
  json::Array shape;
  int64_t begin = 0, end = 0;
};
} // namespace

// In the order of their bytes, which is that of the state table.
static std::vector<TensorLine> tensorsOf(const CheckpointSummary &checkpoint) {
  std::vector<TensorLine> lines;
  for (const auto &[name, value] : checkpoint.tensors) {
    const json::Object *tensor = value.getAsObject();
    if (!tensor)
      continue;
    TensorLine line;
    line.name = name.str();
    line.dtype = tensor->getString("dtype").value_or("?").str();
    if (const json::Array *shape = tensor->getArray("shape"))
      line.shape = *shape;
    if (const json::Array *offsets = tensor->getArray("data_offsets");
        offsets && offsets->size() == 2) {
      line.begin = (*offsets)[0].getAsInteger().value_or(0);
      line.end = (*offsets)[1].getAsInteger().value_or(0);
    }
    lines.push_back(std::move(line));
  }
  llvm::sort(lines, [](const TensorLine &a, const TensorLine &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  return lines;
}

void compiler::reportCheckpoint(const CheckpointSummary &checkpoint, bool json,
                                llvm::raw_ostream &os) {
  std::vector<TensorLine> lines = tensorsOf(checkpoint);
  if (json) {
    json::Array tensors;
    for (TensorLine &line : lines)
      tensors.push_back(json::Object{{"name", json::isUTF8(line.name)
                                                  ? line.name
                                                  : json::fixUTF8(line.name)},
                                     {"dtype", line.dtype},
                                     {"dims", std::move(line.shape)},
                                     {"bytes", line.end - line.begin}});
    json::Object object{{"path", json::fixUTF8(checkpoint.path)},
                        {"tensors", std::move(tensors)}};
    object["manifest"] = json::Object(checkpoint.manifest);
    os << json::Value(std::move(object)) << "\n";
    return;
  }
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
     << lines.size() << " tensors, " << number("payloadBytes") << " bytes\n";
  for (const TensorLine &line : lines) {
    os << "  " << llvm::left_justify(shown(line.name), 40) << " " << line.dtype
       << " [";
    for (auto [i, size] : llvm::enumerate(line.shape))
      os << (i ? ", " : "") << size.getAsInteger().value_or(-1);
    os << "]\n";
  }
}
