//===- Readers.h - one function for each file format ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Called by openDataset() only. Each one adds the columns and the files that it
// opened to `dataset`.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_READERS_H
#define SINTER_RUNTIME_DATA_READERS_H

#include "runtime/data/Dataset.h"
#include "runtime/data/NpyHeader.h"

namespace sinter::rt {

/// Opens a file of `dataset` and remembers what it is like before it is read.
Result<std::shared_ptr<InputFile>> openDataFile(const std::string &path,
                                                Dataset &dataset);

/// Whether `directory` has files that are named like IDX files.
bool hasIdxFiles(const std::vector<std::string> &names);
/// `name` chooses the pair NAME-images.., NAME-labels..; empty: by `use`.
Status readIdx(const std::string &directory, const std::string &name,
               DataUse use, Dataset &dataset);
Status readNpyDirectory(const std::string &directory, Dataset &dataset);
Status readNpz(const std::string &path, Dataset &dataset);
Status readCsv(const std::string &path, const DataOptions &options,
               Dataset &dataset);

/// Sets the column's dtype, shape, rows, byte order and offset. Refuses what
/// cannot be read in rows.
Status describe(const NpyHeader &header, Column &column);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_READERS_H
