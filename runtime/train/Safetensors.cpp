//===- Safetensors.cpp - named tensors in a file --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Safetensors.h"

#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/train/SafetensorsHeader.h"

#include <algorithm>
#include <tuple>

using namespace sinter::rt;

Status sinter::rt::writeSafetensors(const std::string &path,
                                    std::span<const NamedTensor> tensors) {
  std::string header = safetensorsHeader(tensors);
  header.resize((header.size() + 8 + 63) / 64 * 64 - 8, ' '); // aligns the data
  std::string prefix(8, '\0');
  for (int i = 0; i < 8; ++i)
    prefix[i] = static_cast<char>(header.size() >> (8 * i));
  prefix += header;
  std::vector<std::span<const uint8_t>> pieces;
  pieces.reserve(tensors.size() + 1);
  pieces.push_back(
      {reinterpret_cast<const uint8_t *>(prefix.data()), prefix.size()});
  for (const NamedTensor &tensor : tensors)
    pieces.push_back(tensor.bytes);
  return writeFileAtomic(path, pieces);
}

namespace {

/// The bytes must follow one another without gap or overlap up to the end.
Status checkLayout(std::vector<SafetensorsFile::Entry> &entries,
                   uint64_t dataBytes) {
  std::sort(entries.begin(), entries.end(), [](const auto &a, const auto &b) {
    return std::tie(a.offsetBytes, a.sizeBytes, a.name) <
           std::tie(b.offsetBytes, b.sizeBytes, b.name);
  });
  uint64_t next = 0;
  for (const SafetensorsFile::Entry &entry : entries) {
    std::string tensor = "tensor \"" + entry.name + "\" ";
    if (entry.offsetBytes != next)
      return Status::invalid(tensor + (entry.offsetBytes < next
                                           ? "overlaps the one before it"
                                           : "leaves a gap before it"));
    if (entry.sizeBytes > dataBytes - next)
      return Status::invalid(tensor + "ends past the end of the file");
    std::optional<uint64_t> bytes = tensorBytes(entry.dims, entry.dtype);
    if (!bytes || *bytes != entry.sizeBytes)
      return Status::invalid(tensor + "has " + std::to_string(entry.sizeBytes) +
                             " bytes, which does not fit its shape " +
                             shapeText(entry.dims) + " of " +
                             elementTypeName(entry.dtype));
    next += entry.sizeBytes;
  }
  if (next != dataBytes)
    return Status::invalid("has " + std::to_string(dataBytes - next) +
                           " bytes after its last tensor");
  return {};
}

Status checkMagic(const std::string &path, const uint8_t *head) {
  bool zip = head[0] == 'P' && head[1] == 'K';
  bool pickle = head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;
  if (zip || pickle)
    return Status::invalid(path +
                           ": is a PyTorch (pickle) file, which is never "
                           "read; save the tensors as .safetensors");
  return {};
}

} // namespace

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  constexpr uint64_t maxHeaderBytes = 100 << 20;
  Result<std::shared_ptr<InputFile>> opened = InputFile::open(path);
  if (!opened.ok())
    return opened.status();
  SafetensorsFile result;
  result.file_ = *opened;
  const InputFile &file = *result.file_;
  uint8_t head[8];
  if (file.sizeBytes() < 8)
    return Status::invalid(path + ": is too short for a safetensors file");
  SINTER_RETURN_IF_ERROR(file.read(0, head));
  SINTER_RETURN_IF_ERROR(checkMagic(path, head));
  uint64_t headerBytes = 0;
  for (int i = 7; i >= 0; --i)
    headerBytes = headerBytes << 8 | head[i];
  if (headerBytes > file.sizeBytes() - 8 || headerBytes > maxHeaderBytes)
    return Status::invalid(path + ": its header length of " +
                           std::to_string(headerBytes) +
                           " bytes does not fit the file or is above 100 MiB");
  std::string header(headerBytes, '\0');
  SINTER_RETURN_IF_ERROR(file.read(
      8, std::span(reinterpret_cast<uint8_t *>(header.data()), headerBytes)));
  Result<std::vector<Entry>> entries = parseSafetensorsHeader(header);
  if (!entries.ok())
    return Status::invalid(path + ": " + entries.status().message());
  Status layout = checkLayout(*entries, file.sizeBytes() - 8 - headerBytes);
  if (!layout.ok())
    return Status::invalid(path + ": " + layout.message());
  result.entries_ = std::move(*entries);
  for (Entry &entry : result.entries_)
    entry.offsetBytes += 8 + headerBytes;
  return result;
}

Status SafetensorsFile::read(const Entry &entry, std::span<uint8_t> out) const {
  SINTER_RETURN_IF_ERROR(file_->read(entry.offsetBytes, out));
  if (entry.hasHash && hash64(out) != entry.hash)
    return Status::failed(path() + ": tensor \"" + entry.name +
                          "\" is damaged (its checksum does not match)");
  return {};
}

Result<std::vector<std::string>>
sinter::rt::differentTensors(const TensorFile &a, const TensorFile &b) {
  std::vector<std::string> different;
  for (const TensorFile::Entry &entry : a.entries()) {
    const TensorFile::Entry *other = b.find(entry.name);
    if (!other || other->dtype != entry.dtype || other->dims != entry.dims) {
      different.push_back(entry.name);
      continue;
    }
    std::vector<uint8_t> bytes(entry.sizeBytes), others(entry.sizeBytes);
    SINTER_RETURN_IF_ERROR(a.read(entry, bytes));
    SINTER_RETURN_IF_ERROR(b.read(*other, others));
    if (bytes != others)
      different.push_back(entry.name);
  }
  for (const TensorFile::Entry &entry : b.entries())
    if (!a.find(entry.name))
      different.push_back(entry.name);
  return different;
}
