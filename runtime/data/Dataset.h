//===- Dataset.h - named columns of rows ------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// openDataset() understands (`--data=SPEC`):
//
//   DIR           recognised by its content: IDX files, .npy files, one .npz or
//                 one .csv file
//   idx:DIR       IDX files, gzipped or not: NAME-images-idx3-ubyte[.gz] with
//                 NAME-labels-idx1-ubyte[.gz]. With several NAMEs, training
//                 takes "train", evaluation "t10k", "test" or "val"
//   idx:DIR/NAME  (also without "idx:") that pair, for either use
//   npy:DIR       one .npy per column
//   npz:FILE      one member per column, stored or deflated
//   csv:FILE      numbers; one column is the label, the others are the features
//                 (CsvColumns.h)
//   FILE          by its extension: .npz, .csv
//
// Columns are named after the file or member ("x", "labels", ...); those of
// IDX and CSV are "x" and "labels". Nothing in here evaluates or trusts what a
// file says about itself: every size is checked against the file before it is
// used.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_DATASET_H
#define SINTER_RUNTIME_DATA_DATASET_H

#include "runtime/data/ByteSource.h"
#include "runtime/data/ElementType.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sinter::rt {

/// Rows of dense row-major tensors of one shape and dtype.
struct Column {
  std::string name;
  std::string origin; // "FILE" or "FILE: MEMBER", for messages
  sinter_dtype dtype = SINTER_U8;
  std::vector<int64_t> rowDims; // without the row dimension
  int64_t rows = 0;
  bool bigEndian = false;
  bool isScalar = false; // no dimensions: cannot be data, may be a weight
  /// The values come from decimal text: they may be rounded to the graph's
  /// type.
  bool decimal = false;
  uint64_t offsetBytes = 0; // of row 0 in `bytes`
  std::shared_ptr<ByteSource> bytes;

  uint64_t rowBytes() const { return *tensorBytes(rowDims, dtype); }
};

/// The names of a table's columns, as its header has them; empty without one.
struct TableHeader {
  std::string label;
  std::vector<std::string> features; // in the order of "x"
};

struct Dataset {
  std::string spec;
  bool isTable = false; // has a label column that can be chosen
  TableHeader header;
  std::vector<std::string> notes; // for the user, about how it was read
  std::vector<Column> columns;
  std::vector<std::shared_ptr<InputFile>> files;

  const Column *find(const std::string &name) const;
};

enum class DataUse { Train, Eval };

/// How the columns of a table are found.
struct DataOptions {
  std::string labelColumn;           // a name or a number; "": found by name
  std::string labelsName = "labels"; // what the program calls its labels
  /// Header of the data that the model was trained on; columns are matched by
  /// its names.
  TableHeader header;
};

/// Errors: SINTER_INVALID with one line naming the file and what is wrong in
/// it, or "not yet" for the kinds that are planned.
Result<std::shared_ptr<const Dataset>>
openDataset(const std::string &spec, DataUse use,
            const DataOptions &options = {});

/// What a checkpoint remembers of the data it was trained on. Two datasets with
/// equal `contentHash` hold the same bytes as far as sampling can tell.
struct DatasetFingerprint {
  uint64_t sizeBytes = 0;   // of all files
  int64_t modifiedNs = 0;   // the latest modification
  uint64_t contentHash = 0; // of the sizes and of samples of all files
  /// Whether equal hashes leave bytes uncompared; not part of a checkpoint.
  bool isSampled = false;
};
/// Of the dataset's files when they were opened.
DatasetFingerprint fingerprint(const Dataset &dataset);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_DATASET_H
