//===- Npz.cpp - NumPy's .npz files ---------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Zip as in PKWARE's APPNOTE.TXT: members are stored or deflated, and sizes of
// more than 32 bits are in a ZIP64 field.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/Npz.h"

#include "runtime/base/File.h"

#include "llvm/Support/ConvertUTF.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <zlib.h>

using namespace sinter;
using namespace sinter::tools;

using Bytes = std::span<const uint8_t>;

static constexpr uint32_t kLocalHeader = 0x04034b50;
static constexpr uint32_t kCentralHeader = 0x02014b50;
static constexpr uint32_t kEndRecord = 0x06054b50;
static constexpr uint32_t kEndRecord64 = 0x06064b50;
static constexpr uint32_t kEndLocator64 = 0x07064b50;
// Deflate cannot compress better. A member that claims to is malicious.
static constexpr uint64_t kMaxRatio = 1032;

// A little-endian number; the caller has checked that it lies in `bytes`.
static uint64_t number(Bytes bytes, uint64_t offset, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = width; i-- > 0;)
    value = value << 8 | bytes[offset + i];
  return value;
}

static bool has(Bytes bytes, uint64_t offset, uint64_t count) {
  return offset <= bytes.size() && count <= bytes.size() - offset;
}

namespace {
struct Member {
  std::string name;
  unsigned method;
  uint64_t packedBytes, sizeBytes, offset; // of the local header
  uint32_t crc;
};
} // namespace

// Sizes whose bits are all ones are in the extra field, in this order.
static bool readZip64(Bytes extra, Member &member) {
  for (uint64_t at = 0; has(extra, at, 4);) {
    uint64_t tag = number(extra, at, 2), size = number(extra, at + 2, 2);
    at += 4;
    if (!has(extra, at, size))
      return false;
    Bytes field = extra.subspan(at, size);
    at += size;
    if (tag != 1)
      continue;
    uint64_t next = 0;
    for (uint64_t *value :
         {&member.sizeBytes, &member.packedBytes, &member.offset})
      if (*value == UINT32_MAX) {
        if (!has(field, next, 8))
          return false;
        *value = number(field, next, 8);
        next += 8;
      }
  }
  return true;
}

// Where the central directory begins and how many members it lists.
static bool findDirectory(Bytes file, uint64_t &offset, uint64_t &count) {
  if (file.size() < 22)
    return false;
  uint64_t lowest = file.size() > 65557 ? file.size() - 65557 : 0;
  for (uint64_t at = file.size() - 22 + 1; at-- > lowest;) {
    if (number(file, at, 4) != kEndRecord)
      continue;
    count = number(file, at + 10, 2);
    offset = number(file, at + 16, 4);
    if (at >= 20 && number(file, at - 20, 4) == kEndLocator64) {
      uint64_t record = number(file, at - 12, 8);
      if (!has(file, record, 56) || number(file, record, 4) != kEndRecord64)
        return false;
      count = number(file, record + 32, 8);
      offset = number(file, record + 48, 8);
    }
    return true;
  }
  return false;
}

static bool readDirectory(Bytes file, std::vector<Member> &members) {
  uint64_t at = 0, count = 0;
  if (!findDirectory(file, at, count))
    return false;
  for (uint64_t i = 0; i < count; ++i) {
    if (!has(file, at, 46) || number(file, at, 4) != kCentralHeader)
      return false;
    uint64_t nameBytes = number(file, at + 28, 2),
             extraBytes = number(file, at + 30, 2),
             commentBytes = number(file, at + 32, 2);
    if (!has(file, at + 46, nameBytes + extraBytes + commentBytes))
      return false;
    Member member;
    member.name.assign(reinterpret_cast<const char *>(file.data() + at + 46),
                       nameBytes);
    member.method = number(file, at + 10, 2);
    member.crc = number(file, at + 16, 4);
    member.packedBytes = number(file, at + 20, 4);
    member.sizeBytes = number(file, at + 24, 4);
    member.offset = number(file, at + 42, 4);
    if (!readZip64(file.subspan(at + 46 + nameBytes, extraBytes), member))
      return false;
    members.push_back(std::move(member));
    at += 46 + nameBytes + extraBytes + commentBytes;
  }
  return true;
}

static rt::Status inflateInto(Bytes packed, std::vector<uint8_t> &out) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return rt::Status::failed("cannot initialize zlib");
  stream.next_in = const_cast<uint8_t *>(packed.data());
  stream.next_out = out.data();
  uint64_t left = packed.size(), room = out.size();
  int code = Z_OK;
  while (code == Z_OK) {
    // zlib's counters have 32 bits.
    uInt in = std::min<uint64_t>(left, 1u << 30);
    uInt free = std::min<uint64_t>(room, 1u << 30);
    stream.avail_in = in;
    stream.avail_out = free;
    code = inflate(&stream, Z_NO_FLUSH);
    left -= in - stream.avail_in;
    room -= free - stream.avail_out;
  }
  inflateEnd(&stream);
  return code == Z_STREAM_END && room == 0
             ? rt::Status()
             : rt::Status::invalid("its compressed data is damaged");
}

static rt::Result<std::vector<uint8_t>> extract(Bytes file,
                                                const Member &member) {
  rt::Status damaged = rt::Status::invalid("the zip directory is damaged");
  if (!has(file, member.offset, 30) ||
      number(file, member.offset, 4) != kLocalHeader)
    return damaged;
  uint64_t begin = member.offset + 30 + number(file, member.offset + 26, 2) +
                   number(file, member.offset + 28, 2);
  if (!has(file, begin, member.packedBytes))
    return damaged;
  Bytes packed = file.subspan(begin, member.packedBytes);
  if (member.method != 0 && member.method != 8)
    return rt::Status::invalid("compressed in a way that NumPy does not use");
  if (member.method == 0 && member.packedBytes != member.sizeBytes)
    return damaged;
  if (member.sizeBytes / kMaxRatio > member.packedBytes)
    return damaged;
  std::vector<uint8_t> bytes(member.sizeBytes);
  if (member.method == 8)
    SINTER_RETURN_IF_ERROR(inflateInto(packed, bytes));
  else
    std::copy(packed.begin(), packed.end(), bytes.begin());
  if (crc32_z(0, bytes.data(), bytes.size()) != member.crc)
    return rt::Status::invalid("its checksum is wrong");
  return bytes;
}

rt::Result<HostTensors> tools::readNpz(const std::string &path) {
  auto file = rt::readFile(path);
  if (!file.ok())
    return rt::Status::invalid(file.status().message());
  std::vector<Member> members;
  if (!readDirectory(*file, members))
    return rt::Status::invalid(path + ": is not a .npz file, or is truncated");
  HostTensors tensors;
  for (Member &member : members) {
    if (member.name.ends_with(".npy"))
      member.name.resize(member.name.size() - 4);
    std::string origin = path + ": '" + member.name + "'";
    auto bytes = extract(*file, member);
    if (!bytes.ok())
      return rt::Status::invalid(origin + ": " + bytes.status().message());
    auto tensor = parseNpy(member.name, *bytes);
    if (!tensor.ok())
      return rt::Status(tensor.status().code(),
                        path + ": " + tensor.status().message());
    if (find(tensors, member.name))
      return rt::Status::invalid(origin + " occurs twice");
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

static void put(std::string &out, uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i)
    out += static_cast<char>(value >> 8 * i & 255);
}

// Writes the common part of local and central headers, from "version needed" to
// the name's length. Sizes are in a ZIP64 field, as in NumPy's files, so that
// any size fits.
static void putCommon(std::string &out, const std::string &name, uint32_t crc,
                      uint64_t extraBytes) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(name.data()),
       *end = begin + name.size();
  bool isAscii = std::all_of(begin, end, [](auto c) { return c < 128; }),
       isUtf8 = !isAscii && llvm::isLegalUTF8String(&begin, end);
  put(out, 45, 2);                   // version needed: ZIP64
  put(out, isUtf8 ? 1 << 11 : 0, 2); // flags
  put(out, 0, 2);                    // stored
  put(out, 0x00210000, 4); // 1980-01-01: equal arrays give equal files
  put(out, crc, 4);
  put(out, UINT32_MAX, 4);
  put(out, UINT32_MAX, 4);
  put(out, name.size(), 2);
  put(out, extraBytes, 2);
}

rt::Status tools::writeNpz(const std::string &path,
                           const HostTensors &tensors) {
  std::vector<std::string> heads;
  std::string directory;
  uint64_t offset = 0;
  for (const auto &tensor : tensors) {
    std::string name = tensor->name + ".npy", npy = npyHeader(*tensor);
    uint64_t dataBytes = tensor->bytes.sizeBytes();
    uint64_t sizeBytes = npy.size() + dataBytes;
    uint32_t crc =
        crc32_z(0, reinterpret_cast<const Bytef *>(npy.data()), npy.size());
    if (dataBytes)
      crc = crc32_z(crc, tensor->bytes.data(), dataBytes);
    std::string head;
    put(head, kLocalHeader, 4);
    putCommon(head, name, crc, 20);
    head += name;
    put(head, 1, 2), put(head, 16, 2);
    put(head, sizeBytes, 8), put(head, sizeBytes, 8);

    put(directory, kCentralHeader, 4);
    put(directory, 45, 2); // version made by
    putCommon(directory, name, crc, 28);
    put(directory, 0, 2); // comment
    put(directory, 0, 2); // disk
    put(directory, 0, 2); // internal attributes
    put(directory, 0, 4); // external attributes
    put(directory, UINT32_MAX, 4);
    directory += name;
    put(directory, 1, 2), put(directory, 24, 2);
    put(directory, sizeBytes, 8), put(directory, sizeBytes, 8);
    put(directory, offset, 8);
    offset += head.size() + sizeBytes;
    heads.push_back(head + npy);
  }
  std::string end;
  put(end, kEndRecord64, 4), put(end, 44, 8), put(end, 45, 2), put(end, 45, 2);
  put(end, 0, 4), put(end, 0, 4);
  put(end, tensors.size(), 8), put(end, tensors.size(), 8);
  put(end, directory.size(), 8), put(end, offset, 8);
  put(end, kEndLocator64, 4), put(end, 0, 4);
  put(end, offset + directory.size(), 8), put(end, 1, 4);
  put(end, kEndRecord, 4), put(end, 0, 2), put(end, 0, 2);
  put(end, std::min<uint64_t>(tensors.size(), UINT16_MAX), 2);
  put(end, std::min<uint64_t>(tensors.size(), UINT16_MAX), 2);
  put(end, std::min<uint64_t>(directory.size(), UINT32_MAX), 4);
  put(end, UINT32_MAX, 4), put(end, 0, 2);

  std::vector<Bytes> pieces;
  auto add = [&](const std::string &text) {
    pieces.emplace_back(reinterpret_cast<const uint8_t *>(text.data()),
                        text.size());
  };
  for (size_t i = 0; i < tensors.size(); ++i) {
    add(heads[i]);
    pieces.emplace_back(tensors[i]->bytes.data(),
                        tensors[i]->bytes.sizeBytes());
  }
  add(directory);
  add(end);
  return rt::writeFileAtomic(path, pieces);
}
