//===- NpzReader.cpp - NumPy's .npz files: zip archives of .npy members ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Stored members are read in place; deflated ones are inflated in the
// background when they are first used. Members that are not .npy are ignored.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Readers.h"
#include "runtime/data/Zip.h"

using namespace sinter::rt;

Status sinter::rt::readNpz(const std::string &path, Dataset &dataset) {
  Result<std::shared_ptr<InputFile>> file = openDataFile(path, dataset);
  if (!file.ok())
    return file.status();
  Result<std::vector<ZipMember>> members = readZipDirectory(**file);
  if (!members.ok())
    return members.status();
  for (const ZipMember &member : *members) {
    if (!member.name.ends_with(".npy"))
      continue;
    Column column;
    column.name = member.name.substr(0, member.name.size() - 4);
    column.origin = path + ": " + column.name;
    if (dataset.find(column.name))
      return Status::invalid(column.origin + ": appears twice");
    Result<ZipBytes> opened =
        openZipMember(*file, member, column.origin, npyHeadBytes);
    if (!opened.ok())
      return opened.status();
    Result<NpyHeader> header =
        parseNpyHeader(column.origin, opened->head, member.sizeBytes);
    if (!header.ok())
      return header.status();
    SINTER_RETURN_IF_ERROR(describe(*header, column));
    column.bytes = std::move(opened->bytes);
    dataset.columns.push_back(std::move(column));
  }
  if (dataset.columns.empty())
    return Status::invalid(path + ": holds no arrays");
  return {};
}
