//===- Zip.h - zip archives -------------------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Reads the central directory and opens members, stored or deflated, as sources
// of bytes. Every size is checked against the file before it is used. Nothing
// is unpacked to disk, so member names cannot lead anywhere.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_ZIP_H
#define SINTER_RUNTIME_DATA_ZIP_H

#include "runtime/data/ByteSource.h"

#include <string>
#include <vector>

namespace sinter::rt {

struct ZipMember {
  std::string name;
  uint32_t flags = 0, method = 0, crc = 0;
  uint64_t compressedBytes = 0, sizeBytes = 0;
  uint64_t headerOffset = 0; // of the member's own header in the file
};

/// All members, in the order of the directory. SINTER_INVALID names the file
/// and what is wrong with it.
Result<std::vector<ZipMember>> readZipDirectory(const InputFile &file);

struct ZipBytes {
  std::vector<uint8_t> head; // the first bytes; not checked
  /// Compares the member's CRC-32 before it returns bytes: stored members at
  /// the first read, deflated ones at their end.
  std::shared_ptr<ByteSource> bytes;
};

/// Opens `member` of `file`, which errors call `origin`. `head` gets
/// `headBytes` bytes, at most InflatedBytes::headBytes, fewer if the member is
/// shorter.
Result<ZipBytes> openZipMember(std::shared_ptr<InputFile> file,
                               const ZipMember &member,
                               const std::string &origin, uint64_t headBytes);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_ZIP_H
