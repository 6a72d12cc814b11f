//===- CsvColumns.h - which columns of a table are what ---------*- C++ -*-===//
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

/// For the file `path` of `numFields` columns, which are called `names` (none
/// without a header). What it chooses without being told is added to the
/// dataset's notes, the names to its header. Ambiguous names are
/// SINTER_INVALID.
Result<CsvColumns> chooseCsvColumns(const std::string &path,
                                    const std::vector<std::string> &names,
                                    size_t numFields,
                                    const DataOptions &options,
                                    Dataset &dataset);

/// A field of a file in quotes, for a message: cut, and without what a terminal
/// would act on.
std::string quotedField(std::string_view field);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_CSVCOLUMNS_H
