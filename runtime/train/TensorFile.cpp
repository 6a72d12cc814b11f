//===- TensorFile.cpp - a file of named tensors ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/TensorFile.h"

#include "runtime/base/File.h"
#include "runtime/data/Dataset.h"
#include "runtime/data/Readers.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/CheckpointFile.h"

#include <algorithm>
#include <string_view>
#include <sys/stat.h>

using namespace sinter::rt;

const TensorFile::Entry *TensorFile::find(const std::string &name) const {
  for (const Entry &entry : entries_)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

namespace {

/// The arrays of an .npz file.
class NpzTensors final : public TensorFile {
public:
  static Result<std::unique_ptr<TensorFile>> open(const std::string &path) {
    auto file = std::make_unique<NpzTensors>();
    file->data_.spec = path;
    SINTER_RETURN_IF_ERROR(readNpz(path, file->data_));
    for (const Column &column : file->data_.columns) {
      Entry entry;
      entry.name = column.name;
      entry.dtype = column.dtype;
      entry.dims = column.rowDims;
      if (!column.isScalar)
        entry.dims.insert(entry.dims.begin(), column.rows);
      entry.offsetBytes = column.offsetBytes;
      entry.sizeBytes = *tensorBytes(entry.dims, entry.dtype);
      file->entries_.push_back(std::move(entry));
    }
    return std::unique_ptr<TensorFile>(std::move(file));
  }
  const std::string &path() const override { return data_.spec; }
  Status read(const Entry &entry, std::span<uint8_t> out) const override {
    const Column &column = *data_.find(entry.name);
    SINTER_RETURN_IF_ERROR(column.bytes->read(column.offsetBytes, out));
    const size_t size = elementBytes(column.dtype);
    if (column.bigEndian)
      for (size_t i = 0; i + size <= out.size(); i += size)
        std::reverse(out.begin() + i, out.begin() + i + size);
    return {};
  }

private:
  Dataset data_;
};

enum class Format { Safetensors, Npz, Onnx, Unknown };

/// The format of a file that begins with `head`; `other` names a known format
/// that cannot be read.
Format formatOf(std::string_view head, std::string_view path,
                std::string &other) {
  struct Known {
    std::string_view magic;
    size_t offset;
    const char *name;
  };
  static constexpr Known known[] = {
      {"\x93NUMPY", 0, "one NumPy array; an .npz file has names"},
      {"\x89HDF", 0, "an HDF5 file (as Keras writes)"},
      {"GGUF", 0, "a GGUF file"},
      {"TFL3", 4, "a TensorFlow Lite model"},
      {"\x1f\x8b", 0, "a gzip file; unpack it first"},
      {"\x80\x02", 0, "a PyTorch (pickle) file, which is never read"},
      {"\x80\x03", 0, "a Python pickle, which is never read"},
      {"\x80\x04", 0, "a Python pickle, which is never read"},
      {"\x80\x05", 0, "a Python pickle, which is never read"},
  };
  for (const Known &one : known)
    if (head.size() >= one.offset &&
        head.substr(one.offset).starts_with(one.magic)) {
      other = one.name;
      return Format::Unknown;
    }
  if (head.starts_with("PK")) {
    // The first member of the archives that PyTorch and Keras write.
    if (head.find("data.pkl") != std::string_view::npos ||
        head.find(".data/serialization_id") != std::string_view::npos)
      other = "a PyTorch (pickle) file, which is never read";
    else if (head.find("metadata.json") != std::string_view::npos)
      other = "a Keras file";
    return other.empty() ? Format::Npz : Format::Unknown;
  }
  if (head.size() > 8 && head[8] == '{')
    return Format::Safetensors;
  // Field 1 of a ModelProto, the version: a small number. Text may begin like
  // this, too.
  if (head.size() > 2 && head[0] == 8 && head[1] > 0)
    return Format::Onnx;
  if (path.ends_with(".safetensors"))
    return Format::Safetensors; // whose reader says what is wrong
  return path.ends_with(".onnx") ? Format::Onnx : Format::Unknown;
}

template <typename File>
Result<std::unique_ptr<TensorFile>> owned(Result<File> file) {
  if (!file.ok())
    return file.status();
  return std::unique_ptr<TensorFile>(new File(std::move(*file)));
}

} // namespace

Result<std::optional<std::string>>
sinter::rt::checkpointAt(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return std::optional<std::string>();
  if (::stat((path + "/manifest.json").c_str(), &info) == 0)
    return std::optional(path);
  Result<std::vector<int64_t>> steps = listCheckpoints(path);
  if (!steps.ok())
    return steps.status();
  if (steps->empty())
    return Status::invalid(path + ": no checkpoint in it");
  const std::string newest = checkpointPath(path, steps->front());
  if (isIncomplete(newest))
    return Status::invalid(newest +
                           " is incomplete: it has no manifest.json; name the "
                           "checkpoint to take");
  return std::optional(newest);
}

Result<std::unique_ptr<TensorFile>>
sinter::rt::openTensorFile(const std::string &path) {
  Result<std::optional<std::string>> checkpoint = checkpointAt(path);
  if (!checkpoint.ok())
    return checkpoint.status();
  if (*checkpoint) {
    Result<Manifest> manifest = readManifest(**checkpoint);
    if (!manifest.ok())
      return manifest.status();
    Result<std::unique_ptr<CheckpointFile>> file =
        CheckpointFile::open(**checkpoint, *manifest);
    if (!file.ok())
      return file.status();
    return std::unique_ptr<TensorFile>(std::move(*file));
  }
  Result<std::shared_ptr<InputFile>> file = InputFile::open(path);
  if (!file.ok())
    return file.status();
  std::string head(std::min<uint64_t>((*file)->sizeBytes(), 256), '\0');
  SINTER_RETURN_IF_ERROR((*file)->read(
      0, std::span(reinterpret_cast<uint8_t *>(head.data()), head.size())));
  std::string other;
  switch (formatOf(head, path, other)) {
  case Format::Safetensors:
    return owned(SafetensorsFile::open(path));
  case Format::Npz:
    return NpzTensors::open(path);
  case Format::Onnx:
    return openOnnxTensors(path);
  case Format::Unknown:
    break;
  }
  return Status::invalid(
      path + ": is " + (other.empty() ? "not a known weight file" : other) +
      "; expected a run, a checkpoint, .safetensors, .onnx or .npz");
}
