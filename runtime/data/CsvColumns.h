//===- CsvColumns.h - finds a table's label and features --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_CSVCOLUMNS_H
#define SINTER_RUNTIME_DATA_CSVCOLUMNS_H

#include "runtime/data/Dataset.h"

#include <string_view>

namespace sinter::rt {

/// Numbers of columns, from 0.
struct CsvColumns {
  size_t label = 0;
  std::vector<size_t> features; // in the order of the model's input
};

/// Finds them in the file `path` of `numFields` columns, which are called
/// `names` (none without a header). Choices that no option determines are added
/// to the dataset's notes, the names to its header. Ambiguous names are
/// SINTER_INVALID.
Result<CsvColumns> chooseCsvColumns(const std::string &path,
                                    const std::vector<std::string> &names,
                                    size_t numFields,
                                    const DataOptions &options,
                                    Dataset &dataset);

/// A field of a file in quotes, for a message: cut short and without control
/// characters.
std::string quotedField(std::string_view field);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_CSVCOLUMNS_H
