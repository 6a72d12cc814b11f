//===- Zip.cpp - zip archives ---------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Format: PKWARE's APPNOTE.TXT, ZIP64 included.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Zip.h"
#include "runtime/data/Inflate.h"

#include <algorithm>

using namespace sinter::rt;

namespace {

uint64_t little(const uint8_t *bytes, int count) {
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i)
    value = value << 8 | bytes[i];
  return value;
}

struct CentralDirectory {
  uint64_t offset = 0, sizeBytes = 0, count = 0;
};

/// Finds the end record, which may be followed by a comment of up to 64 KiB.
Status findDirectory(const InputFile &file, CentralDirectory &directory) {
  const std::string &path = file.path();
  uint64_t fileBytes = file.sizeBytes();
  uint64_t tailBytes = std::min<uint64_t>(fileBytes, 22 + 65535);
  std::vector<uint8_t> tail(tailBytes);
  SINTER_RETURN_IF_ERROR(file.read(fileBytes - tailBytes, tail));
  uint64_t at = tailBytes;
  for (uint64_t i = tailBytes >= 22 ? tailBytes - 22 + 1 : 0; i-- > 0;)
    if (little(&tail[i], 4) == 0x06054b50 &&
        i + 22 + little(&tail[i + 20], 2) == tailBytes) {
      at = i;
      break;
    }
  if (at == tailBytes)
    return Status::invalid(path + ": is not a .npz file, or it is cut off (no "
                                  "zip directory at its end)");
  directory.count = little(&tail[at + 10], 2);
  directory.sizeBytes = little(&tail[at + 12], 4);
  directory.offset = little(&tail[at + 16], 4);
  uint64_t endOffset = fileBytes - tailBytes + at;
  bool zip64 = directory.count == 0xffff || directory.sizeBytes == 0xffffffff ||
               directory.offset == 0xffffffff;
  if (zip64 && endOffset >= 20) {
    uint8_t locator[20];
    SINTER_RETURN_IF_ERROR(file.read(endOffset - 20, locator));
    uint64_t recordOffset = little(locator + 8, 8);
    if (little(locator, 4) == 0x07064b50 && recordOffset <= endOffset &&
        endOffset - recordOffset >= 56) {
      uint8_t record[56];
      SINTER_RETURN_IF_ERROR(file.read(recordOffset, record));
      if (little(record, 4) != 0x06064b50)
        return Status::invalid(path + ": its zip64 directory is damaged");
      directory.count = little(record + 32, 8);
      directory.sizeBytes = little(record + 40, 8);
      directory.offset = little(record + 48, 8);
    }
  }
  if (directory.offset > endOffset ||
      directory.sizeBytes > endOffset - directory.offset)
    return Status::invalid(path + ": its zip directory lies outside the file");
  return {};
}

/// Sizes of 0xffffffff are in the zip64 extra field, in this order.
bool readZip64(std::span<const uint8_t> extra, ZipMember &member) {
  while (extra.size() >= 4) {
    uint64_t id = little(extra.data(), 2), size = little(extra.data() + 2, 2);
    extra = extra.subspan(4);
    if (size > extra.size())
      return false;
    if (id == 1) {
      std::span<const uint8_t> field = extra.first(size);
      for (uint64_t *value :
           {&member.sizeBytes, &member.compressedBytes, &member.headerOffset}) {
        if (*value != 0xffffffff)
          continue;
        if (field.size() < 8)
          return false;
        *value = little(field.data(), 8);
        field = field.subspan(8);
      }
    }
    extra = extra.subspan(size);
  }
  return true;
}

/// Where the member's data begins: its local header has lengths of its own.
Status locateData(const InputFile &file, const ZipMember &member,
                  const std::string &origin, uint64_t &offset) {
  Status outside = Status::invalid(origin + ": lies outside the file");
  uint64_t fileBytes = file.sizeBytes();
  if (member.headerOffset > fileBytes || fileBytes - member.headerOffset < 30)
    return outside;
  uint8_t local[30];
  SINTER_RETURN_IF_ERROR(file.read(member.headerOffset, local));
  if (little(local, 4) != 0x04034b50)
    return Status::invalid(origin + ": its zip header is damaged");
  offset =
      member.headerOffset + 30 + little(local + 26, 2) + little(local + 28, 2);
  if (offset > fileBytes || member.compressedBytes > fileBytes - offset)
    return outside;
  return {};
}

} // namespace

Result<std::vector<ZipMember>>
sinter::rt::readZipDirectory(const InputFile &file) {
  constexpr uint64_t maxDirectoryBytes = 16 << 20;
  CentralDirectory directory;
  SINTER_RETURN_IF_ERROR(findDirectory(file, directory));
  if (directory.sizeBytes > maxDirectoryBytes)
    return Status::invalid(file.path() + ": its zip directory is too large");
  std::vector<uint8_t> bytes(directory.sizeBytes);
  SINTER_RETURN_IF_ERROR(file.read(directory.offset, bytes));
  Status damaged =
      Status::invalid(file.path() + ": its zip directory is damaged");
  std::vector<ZipMember> members;
  std::span<const uint8_t> rest(bytes);
  for (uint64_t i = 0; i < directory.count; ++i) {
    if (rest.size() < 46 || little(rest.data(), 4) != 0x02014b50)
      return damaged;
    const uint8_t *entry = rest.data();
    uint64_t nameBytes = little(entry + 28, 2);
    uint64_t extraBytes = little(entry + 30, 2);
    uint64_t totalBytes = 46 + nameBytes + extraBytes + little(entry + 32, 2);
    if (rest.size() < totalBytes)
      return damaged;
    ZipMember member;
    member.flags = static_cast<uint32_t>(little(entry + 8, 2));
    member.method = static_cast<uint32_t>(little(entry + 10, 2));
    member.crc = static_cast<uint32_t>(little(entry + 16, 4));
    member.compressedBytes = little(entry + 20, 4);
    member.sizeBytes = little(entry + 24, 4);
    member.headerOffset = little(entry + 42, 4);
    member.name.assign(reinterpret_cast<const char *>(entry) + 46, nameBytes);
    if (!readZip64(rest.subspan(46 + nameBytes, extraBytes), member))
      return damaged;
    members.push_back(std::move(member));
    rest = rest.subspan(totalBytes);
  }
  return members;
}

Result<ZipBytes> sinter::rt::openZipMember(std::shared_ptr<InputFile> file,
                                           const ZipMember &member,
                                           const std::string &origin,
                                           uint64_t headBytes) {
  if (member.flags & 1)
    return Status::invalid(origin + ": is encrypted");
  uint64_t offset = 0;
  SINTER_RETURN_IF_ERROR(locateData(*file, member, origin, offset));
  ZipBytes opened;
  headBytes = std::min(headBytes, member.sizeBytes);
  if (member.method == 0) {
    if (member.compressedBytes != member.sizeBytes)
      return Status::invalid(origin + ": its two sizes differ, although it is "
                                      "not compressed");
    opened.head.resize(headBytes);
    SINTER_RETURN_IF_ERROR(file->read(offset, opened.head));
    opened.bytes = std::make_shared<CheckedBytes>(
        FileBytes(std::move(file), offset, member.sizeBytes), origin,
        member.crc);
    return opened;
  }
  if (member.method != 8)
    return Status::invalid(origin + ": zip method " +
                           std::to_string(member.method) +
                           " is not supported (stored and deflated are)");
  auto source =
      InflatedBytes::open(std::move(file), origin, offset,
                          member.compressedBytes, InflatedBytes::Wrapping::Raw);
  if (!source.ok())
    return source.status();
  std::span<const uint8_t> head = (*source)->head();
  head = head.first(std::min<size_t>(head.size(), headBytes));
  opened.head.assign(head.begin(), head.end());
  SINTER_RETURN_IF_ERROR((*source)->expect(member.sizeBytes, member.crc));
  opened.bytes = std::move(*source);
  return opened;
}
