//===- IdxReader.cpp - the IDX format of MNIST and its relatives ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Layout: 0, 0, type code, rank, then `rank` big-endian 32-bit sizes, then the
// elements, big-endian, row-major. Usually gzipped.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/data/Inflate.h"
#include "runtime/data/Readers.h"

#include <algorithm>
#include <map>

using namespace sinter::rt;

namespace {

/// The files of one pair.
struct Pair {
  std::string images, labels;
};

/// "train-images-idx3-ubyte.gz" -> {"train", images}. Nothing for other names.
struct IdxName {
  std::string pair;
  bool images;
};
std::optional<IdxName> parseName(const std::string &name) {
  if (name.find("idx") == std::string::npos)
    return std::nullopt;
  for (bool images : {true, false}) {
    size_t at = name.find(images ? "images" : "labels");
    if (at == std::string::npos)
      continue;
    std::string pair = name.substr(0, at);
    while (!pair.empty() &&
           (pair.back() == '-' || pair.back() == '_' || pair.back() == '.'))
      pair.pop_back();
    return IdxName{pair, images};
  }
  return std::nullopt;
}

Status openBytes(const std::string &path, Dataset &dataset, Column &column,
                 std::vector<uint8_t> &head,
                 std::shared_ptr<InflatedBytes> &inflated) {
  Result<std::shared_ptr<InputFile>> file = openDataFile(path, dataset);
  if (!file.ok())
    return file.status();
  uint64_t sizeBytes = (*file)->sizeBytes();
  head.resize(std::min<uint64_t>(sizeBytes, 4 + 4 * SINTER_MAX_RANK));
  SINTER_RETURN_IF_ERROR((*file)->read(0, head));
  if (head.size() < 2 || head[0] != 0x1f || head[1] != 0x8b) {
    column.bytes = std::make_shared<FileBytes>(*file, 0, sizeBytes);
    return {};
  }
  auto source = InflatedBytes::open(*file, path, 0, sizeBytes,
                                    InflatedBytes::Wrapping::Gzip);
  if (!source.ok())
    return source.status();
  inflated = *source;
  head.assign(inflated->head().begin(), inflated->head().end());
  column.bytes = inflated;
  return {};
}

std::optional<sinter_dtype> typeOfCode(uint8_t code) {
  switch (code) {
  case 0x08:
    return SINTER_U8;
  case 0x09:
    return SINTER_I8;
  case 0x0b:
    return SINTER_I16;
  case 0x0c:
    return SINTER_I32;
  case 0x0d:
    return SINTER_F32;
  case 0x0e:
    return SINTER_F64;
  }
  return std::nullopt;
}

Status readColumn(const std::string &path, const char *name, Dataset &dataset) {
  Column column;
  column.name = name;
  column.origin = path;
  column.bigEndian = true;
  std::vector<uint8_t> head;
  std::shared_ptr<InflatedBytes> inflated;
  SINTER_RETURN_IF_ERROR(openBytes(path, dataset, column, head, inflated));
  if (head.size() < 4 || head[0] != 0 || head[1] != 0)
    return Status::invalid(path + ": is not an IDX file (it must begin with "
                                  "two zero bytes)");
  std::optional<sinter_dtype> dtype = typeOfCode(head[2]);
  if (!dtype)
    return Status::invalid(path + ": IDX type code " + std::to_string(head[2]) +
                           " is unknown");
  column.dtype = *dtype;
  uint32_t rank = head[3];
  if (rank == 0 || rank > SINTER_MAX_RANK)
    return Status::invalid(path + ": IDX rank " + std::to_string(rank) +
                           " is not in 1..32");
  column.offsetBytes = 4 + 4 * uint64_t(rank);
  if (head.size() < column.offsetBytes)
    return Status::invalid(path + ": ends inside its header");
  for (uint32_t i = 0; i < rank; ++i) {
    const uint8_t *bytes = head.data() + 4 + 4 * i;
    int64_t dim = int64_t(bytes[0]) << 24 | int64_t(bytes[1]) << 16 |
                  int64_t(bytes[2]) << 8 | int64_t(bytes[3]);
    if (i == 0)
      column.rows = dim;
    else
      column.rowDims.push_back(dim);
  }
  std::vector<int64_t> dims = column.rowDims;
  dims.insert(dims.begin(), column.rows);
  std::optional<uint64_t> dataBytes = tensorBytes(dims, column.dtype);
  if (!dataBytes || !tensorBytes(column.rowDims, column.dtype) ||
      *dataBytes > UINT64_MAX / 2)
    return Status::invalid(path + ": its header promises the shape " +
                           shapeText(dims) + ", which is too large");
  uint64_t expected = column.offsetBytes + *dataBytes;
  if (inflated) {
    SINTER_RETURN_IF_ERROR(inflated->expect(expected));
  } else if (column.bytes->sizeBytes() != expected) {
    return Status::invalid(
        path + ": has " + std::to_string(column.bytes->sizeBytes()) +
        " bytes where its header promises " + std::to_string(expected) +
        " (shape " + shapeText(dims) + ")");
  }
  dataset.columns.push_back(std::move(column));
  return {};
}

} // namespace

bool sinter::rt::hasIdxFiles(const std::vector<std::string> &names) {
  return std::any_of(names.begin(), names.end(), [](const std::string &name) {
    return parseName(name).has_value();
  });
}

Status sinter::rt::readIdx(const std::string &directory,
                           const std::string &name, DataUse use,
                           Dataset &dataset) {
  Result<std::vector<std::string>> names = listFiles(directory);
  if (!names.ok())
    return names.status();
  std::map<std::string, Pair> pairs;
  // Names are sorted: "x" comes before "x.gz", so the uncompressed file is
  // kept.
  for (const std::string &file : *names)
    if (std::optional<IdxName> parsed = parseName(file)) {
      Pair &pair = pairs[parsed->pair];
      std::string &slot = parsed->images ? pair.images : pair.labels;
      if (slot.empty())
        slot = file;
    }
  std::erase_if(pairs, [](const auto &pair) {
    return pair.second.images.empty() || pair.second.labels.empty();
  });
  if (pairs.empty())
    return Status::invalid(directory + ": no pair of IDX files in it (expected "
                                       "NAME-images-idx3-ubyte[.gz] with "
                                       "NAME-labels-idx1-ubyte[.gz])");
  std::vector<std::string> wanted;
  if (!name.empty())
    wanted = {name};
  else if (pairs.size() == 1)
    wanted = {pairs.begin()->first};
  else if (use == DataUse::Train)
    wanted = {"train", "training"};
  else
    wanted = {"t10k", "test", "val", "validation"};
  for (const std::string &candidate : wanted) {
    auto found = pairs.find(candidate);
    if (found == pairs.end())
      continue;
    SINTER_RETURN_IF_ERROR(
        readColumn(directory + "/" + found->second.labels, "labels", dataset));
    return readColumn(directory + "/" + found->second.images, "x", dataset);
  }
  std::string have;
  for (const auto &pair : pairs)
    have += (have.empty() ? "" : ", ") + pair.first;
  return Status::invalid(directory + ": no IDX pair named " + wanted.front() +
                         " in it (it has " + have + "); name one as " +
                         directory + "/NAME");
}
