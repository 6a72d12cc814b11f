//===- CheckpointFile.cpp - the tensors of a checkpoint -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/CheckpointFile.h"

#include "runtime/base/File.h"

#include <algorithm>
#include <cstdio>

using namespace sinter::rt;

std::string sinter::rt::partFileName(uint32_t process, uint32_t processes) {
  char name[48];
  std::snprintf(name, sizeof(name), "state-%05u-of-%05u.safetensors", process,
                processes);
  return name;
}

/// Opens a file that must have `bytes` bytes and `tensors` tensors.
static Result<SafetensorsFile> openExact(const std::string &path,
                                         uint64_t bytes, size_t tensors) {
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file.ok())
    return file.status().as(SINTER_FAILED, file.status().message());
  Result<uint64_t> size = fileSize(path);
  if (!size.ok())
    return size.status();
  if (*size != bytes)
    return Status::failed(path + ": has " + std::to_string(*size) +
                          " bytes, but its manifest says " +
                          std::to_string(bytes));
  if (file->entries().size() != tensors)
    return Status::failed(path + ": does not match its manifest");
  return file;
}

static Status mismatch(const SafetensorsFile &file, const std::string &tensor) {
  return Status::failed(file.path() + ": tensor \"" + tensor +
                        "\" does not match its manifest");
}

Status CheckpointFile::addWhole(const Manifest &manifest) {
  Result<SafetensorsFile> file =
      openExact(path_ + "/" + payloadName, manifest.payloadBytes,
                manifest.tensors.size());
  if (!file.ok())
    return file.status();
  for (const Manifest::Tensor &tensor : manifest.tensors) {
    const Entry *entry = file->find(tensor.name);
    if (!entry || !entry->hasHash || entry->hash != tensor.hash)
      return mismatch(*file, tensor.name);
  }
  files_.push_back(std::move(*file));
  entries_ = files_.front().entries();
  return {};
}

Status CheckpointFile::addParts(const Manifest &manifest) {
  std::map<std::string, Entry> wholes;
  for (const Manifest::PartFile &partFile : manifest.partFiles) {
    Result<SafetensorsFile> file = openExact(
        path_ + "/" + partFile.name, partFile.bytes, partFile.parts.size());
    if (!file.ok())
      return file.status();
    for (const Manifest::PartOfState &part : partFile.parts) {
      const Entry *entry = file->find(part.name);
      if (!entry || !entry->hasHash || entry->hash != part.hash ||
          entry->dims !=
              std::vector<int64_t>{static_cast<int64_t>(part.elements)})
        return mismatch(*file, part.name);
      Entry whole = *entry;
      whole.dims = part.dims;
      whole.hasHash = false;
      const std::optional<uint64_t> bytes =
          tensorBytes(whole.dims, whole.dtype);
      auto [known, isNew] = wholes.try_emplace(part.name, whole);
      if (!bytes || (!isNew && (known->second.dims != whole.dims ||
                                known->second.dtype != whole.dtype)))
        return mismatch(*file, part.name);
      known->second.sizeBytes = *bytes;
      pieces_[part.name].push_back({files_.size(), *entry, part.firstElement});
    }
    files_.push_back(std::move(*file));
  }
  for (auto &[name, pieces] : pieces_) {
    std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) {
      return a.firstElement < b.firstElement;
    });
    const Entry &whole = wholes[name];
    const uint64_t size = elementBytes(whole.dtype);
    uint64_t next = 0;
    for (const Piece &piece : pieces) {
      if (piece.entry.sizeBytes && piece.firstElement != next)
        break;
      next += piece.entry.sizeBytes / size;
    }
    if (next * size != whole.sizeBytes || find(name))
      return Status::failed(path_ + ": the parts of tensor \"" + name +
                            "\" are not the whole of it");
    entries_.push_back(whole);
  }
  return {};
}

Result<std::unique_ptr<CheckpointFile>>
CheckpointFile::open(const std::string &path, const Manifest &manifest) {
  std::unique_ptr<CheckpointFile> file(new CheckpointFile);
  file->path_ = path;
  SINTER_RETURN_IF_ERROR(file->addWhole(manifest));
  SINTER_RETURN_IF_ERROR(file->addParts(manifest));
  return file;
}

Status CheckpointFile::read(const Entry &entry, std::span<uint8_t> out) const {
  auto pieces = pieces_.find(entry.name);
  if (pieces == pieces_.end())
    return files_.front().read(entry, out);
  const uint64_t size = elementBytes(entry.dtype);
  for (const Piece &piece : pieces->second)
    if (piece.entry.sizeBytes)
      SINTER_RETURN_IF_ERROR(files_[piece.file].read(
          piece.entry,
          out.subspan(piece.firstElement * size, piece.entry.sizeBytes)));
  return {};
}
