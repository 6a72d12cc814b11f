//===- NpyReader.cpp - NumPy's .npy files as columns ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/data/Readers.h"

#include <algorithm>

using namespace sinter::rt;

Status sinter::rt::describe(const NpyHeader &header, Column &column) {
  if (header.isColumnMajor && header.dims.size() > 1)
    return Status::invalid(column.origin +
                           ": is stored in Fortran order; save it with "
                           "np.ascontiguousarray()");
  column.dtype = header.dtype;
  column.bigEndian = header.isBigEndian;
  column.isScalar = header.dims.empty();
  column.rows = 1;
  if (!column.isScalar) {
    column.rows = header.dims.front();
    column.rowDims.assign(header.dims.begin() + 1, header.dims.end());
  }
  column.offsetBytes = header.dataOffsetBytes;
  // The size of an empty array says nothing of its rows.
  if (!tensorBytes(column.rowDims, column.dtype))
    return Status::invalid(column.origin + ": its rows of " +
                           shapeText(column.rowDims) + " are too large");
  return {};
}

Status sinter::rt::readNpyDirectory(const std::string &directory,
                                    Dataset &dataset) {
  Result<std::vector<std::string>> names = listFiles(directory);
  if (!names.ok())
    return names.status();
  for (const std::string &name : *names) {
    if (!name.ends_with(".npy"))
      continue;
    std::string path = directory + "/" + name;
    Result<std::shared_ptr<InputFile>> file = openDataFile(path, dataset);
    if (!file.ok())
      return file.status();
    uint64_t sizeBytes = (*file)->sizeBytes();
    std::vector<uint8_t> head(std::min(sizeBytes, npyHeadBytes));
    SINTER_RETURN_IF_ERROR((*file)->read(0, head));
    Column column;
    column.name = name.substr(0, name.size() - 4);
    column.origin = path;
    Result<NpyHeader> header = parseNpyHeader(path, head, sizeBytes);
    if (!header.ok())
      return header.status();
    SINTER_RETURN_IF_ERROR(describe(*header, column));
    column.bytes = std::make_shared<FileBytes>(*file, 0, sizeBytes);
    dataset.columns.push_back(std::move(column));
  }
  if (dataset.columns.empty())
    return Status::invalid(directory + ": no .npy files in it");
  return {};
}
