//===- Npz.cpp - NumPy's .npz files ---------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Written as in PKWARE's APPNOTE.TXT: members are stored, and their sizes are
// in a ZIP64 field.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/Npz.h"

#include "runtime/base/File.h"
#include "runtime/data/Inflate.h"
#include "runtime/data/NpyHeader.h"
#include "runtime/data/Zip.h"

#include "llvm/Support/ConvertUTF.h"

#include <algorithm>
#include <cstring>
#include <span>

using namespace sinter;
using namespace sinter::tools;

using Bytes = std::span<const uint8_t>;

static constexpr uint32_t kLocalHeader = 0x04034b50;
static constexpr uint32_t kCentralHeader = 0x02014b50;
static constexpr uint32_t kEndRecord = 0x06054b50;
static constexpr uint32_t kEndRecord64 = 0x06064b50;
static constexpr uint32_t kEndLocator64 = 0x07064b50;

static void swapBytes(uint8_t *bytes, uint64_t count, uint32_t width) {
  for (uint64_t i = 0; i < count; ++i)
    std::reverse(bytes + i * width, bytes + (i + 1) * width);
}

// Copies `from`, whose first index varies fastest, to row-major `to`.
static void transpose(const uint8_t *from, HostTensor &to) {
  uint32_t width = rt::elementBytes(to.dtype);
  std::vector<int64_t> index(to.dims.size(), 0), strides(to.dims.size(), 1);
  for (size_t d = 1; d < to.dims.size(); ++d)
    strides[d] = strides[d - 1] * to.dims[d - 1];
  for (int64_t i = 0; i < to.elements(); ++i) {
    int64_t position = 0;
    for (size_t d = 0; d < index.size(); ++d)
      position += index[d] * strides[d];
    std::memcpy(to.bytes.data() + i * width, from + position * width, width);
    for (size_t d = index.size(); d-- > 0 && ++index[d] == to.dims[d];)
      index[d] = 0;
  }
}

static rt::Result<std::shared_ptr<HostTensor>>
readMember(const std::shared_ptr<rt::InputFile> &file,
           const rt::ZipMember &member, const std::string &name,
           const std::string &origin) {
  auto opened = rt::openZipMember(file, member, origin, rt::npyHeadBytes);
  if (!opened.ok())
    return opened.status();
  auto header = rt::parseNpyHeader(origin, opened->head, member.sizeBytes);
  if (!header.ok())
    return header.status();
  auto tensor = HostTensor::zeros(name, header->dtype, header->dims);
  if (!tensor.ok())
    return tensor.status();
  uint8_t *data = (*tensor)->bytes.data();
  uint64_t dataBytes = (*tensor)->bytes.sizeBytes();
  // An empty array is read, too, so that its checksum is compared.
  if (header->isColumnMajor && header->dims.size() > 1) {
    std::vector<uint8_t> columns(dataBytes);
    SINTER_RETURN_IF_ERROR(
        opened->bytes->read(header->dataOffsetBytes, columns));
    transpose(columns.data(), **tensor);
  } else {
    SINTER_RETURN_IF_ERROR(
        opened->bytes->read(header->dataOffsetBytes, {data, dataBytes}));
  }
  if (header->isBigEndian)
    swapBytes(data, (*tensor)->elements(), rt::elementBytes(header->dtype));
  return tensor;
}

rt::Result<HostTensors> tools::readNpz(const std::string &path) {
  auto file = rt::InputFile::open(path);
  if (!file.ok())
    return rt::Status::invalid(file.status().message());
  auto members = rt::readZipDirectory(**file);
  if (!members.ok())
    return members.status();
  HostTensors tensors;
  for (const rt::ZipMember &member : *members) {
    std::string name = member.name;
    if (name.ends_with(".npy"))
      name.resize(name.size() - 4);
    std::string origin = path + ": '" + name + "'";
    if (find(tensors, name))
      return rt::Status::invalid(origin + " occurs twice");
    auto tensor = readMember(*file, member, name, origin);
    if (!tensor.ok())
      return tensor.status();
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
    std::string name = tensor->name + ".npy",
                npy = rt::npyHeaderText(tensor->dtype, tensor->dims);
    uint64_t dataBytes = tensor->bytes.sizeBytes();
    uint64_t sizeBytes = npy.size() + dataBytes;
    uint32_t crc = rt::crc32(
        0, {reinterpret_cast<const uint8_t *>(npy.data()), npy.size()});
    crc = rt::crc32(crc, {tensor->bytes.data(), dataBytes});
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
