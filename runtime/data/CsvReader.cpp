//===- CsvReader.cpp - numbers in comma-separated text --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One row per line, fields separated by commas, optionally in double quotes.
// The first line is a header if one of its fields is not a number. One column
// becomes "labels" (int64 if all its values are whole numbers), the others
// together become "x" (see CsvColumns.h). Numbers are read independently of the
// locale and held as float64; rounding them to the graph's float type is
// allowed, since decimal text has no type.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/base/NumberText.h"
#include "runtime/data/CsvColumns.h"
#include "runtime/data/Readers.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

using namespace sinter::rt;

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  return text;
}

/// Removes the next line from `text`; the result has no line end.
std::string_view nextLine(std::string_view &text) {
  size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

void splitLine(std::string_view line, std::vector<std::string_view> &fields) {
  fields.clear();
  while (true) {
    size_t comma = line.find(',');
    // A comma inside quotes belongs to a text field, such as a header's.
    if (line.starts_with('"')) {
      size_t quote = line.find('"', 1);
      if (quote != std::string_view::npos)
        comma = line.find(',', quote);
    }
    fields.push_back(trim(line.substr(0, comma)));
    if (comma == std::string_view::npos)
      return;
    line.remove_prefix(comma + 1);
  }
}

bool parseNumber(std::string_view field, double &value) {
  if (field.starts_with('+'))
    field.remove_prefix(1);
  auto [end, error] =
      std::from_chars(field.data(), field.data() + field.size(), value);
  // A number out of range is still a number; from_chars did not set `value`.
  if (error == std::errc::result_out_of_range)
    value = INFINITY;
  else if (error != std::errc())
    return false;
  return end == field.data() + field.size();
}

bool isHeader(const std::vector<std::string_view> &fields) {
  double ignored;
  for (std::string_view field : fields)
    if (!field.empty() && !parseNumber(field, ignored))
      return true;
  return false;
}

std::vector<uint8_t> toBytes(const void *data, size_t sizeBytes) {
  std::vector<uint8_t> bytes(sizeBytes);
  if (sizeBytes)
    std::memcpy(bytes.data(), data, sizeBytes);
  return bytes;
}

void addColumn(const char *name, const std::string &path, sinter_dtype dtype,
               std::vector<int64_t> rowDims, int64_t rows,
               std::vector<uint8_t> bytes, HeldMemory &held, Dataset &dataset) {
  Column column;
  column.name = name;
  column.origin = path;
  column.dtype = dtype;
  column.rowDims = std::move(rowDims);
  column.rows = rows;
  column.decimal = dtype == SINTER_F64;
  HeldMemory ofColumn = held.split(bytes.size());
  column.bytes =
      std::make_shared<MemoryBytes>(std::move(bytes), std::move(ofColumn));
  dataset.columns.push_back(std::move(column));
}

} // namespace

Status sinter::rt::readCsv(const std::string &path, const DataOptions &options,
                           Dataset &dataset) {
  Result<std::shared_ptr<InputFile>> file = openDataFile(path, dataset);
  if (!file.ok())
    return file.status();
  dataset.isTable = true;
  // The text, the numbers that are read from it, and their copy, which stays.
  HeldMemory held;
  auto hold = [&](uint64_t numNumbers) -> Status {
    const uint64_t bytes =
        (*file)->sizeBytes() + numNumbers * 2 * sizeof(double);
    return held.resize(bytes)
               ? Status()
               : held.refusal(path, bytes,
                              "a .npz or .npy file is read from disk");
  };
  SINTER_RETURN_IF_ERROR(hold(0));
  std::vector<uint8_t> bytes((*file)->sizeBytes());
  SINTER_RETURN_IF_ERROR((*file)->read(0, bytes));
  std::string_view text(reinterpret_cast<const char *>(bytes.data()),
                        bytes.size());
  if (text.starts_with("\xef\xbb\xbf"))
    text.remove_prefix(3);

  std::vector<std::string_view> fields;
  std::vector<double> features, labels;
  size_t numFields = 0;
  CsvColumns columns;
  bool wholeLabels = true;
  for (uint64_t lineNumber = 1; !text.empty(); ++lineNumber) {
    std::string_view line = nextLine(text);
    if (trim(line).empty())
      continue;
    splitLine(line, fields);
    std::string where = path + ":" + std::to_string(lineNumber) + ": ";
    if (numFields == 0) {
      numFields = fields.size();
      std::vector<std::string> names;
      if (isHeader(fields))
        names.assign(fields.begin(), fields.end());
      Result<CsvColumns> chosen =
          chooseCsvColumns(path, names, numFields, options, dataset);
      if (!chosen.ok())
        return chosen.status();
      columns = std::move(*chosen);
      if (!names.empty())
        continue;
    }
    if (fields.size() != numFields)
      return Status::invalid(where + "has " + std::to_string(fields.size()) +
                             " fields, the first line has " +
                             std::to_string(numFields));
    auto add = [&](size_t i, std::vector<double> &values) -> Status {
      double value = 0;
      if (!parseNumber(fields[i], value) || !std::isfinite(value))
        return Status::invalid(
            where + "field " + std::to_string(i + 1) +
            " is not a finite number: " + quotedField(fields[i]));
      values.push_back(value);
      return {};
    };
    for (size_t feature : columns.features)
      SINTER_RETURN_IF_ERROR(add(feature, features));
    SINTER_RETURN_IF_ERROR(add(columns.label, labels));
    SINTER_RETURN_IF_ERROR(hold(features.size() + labels.size()));
    wholeLabels &= labels.back() == std::nearbyint(labels.back()) &&
                   std::abs(labels.back()) < 9007199254740992.0;
  }
  int64_t rows = static_cast<int64_t>(labels.size());
  if (rows == 0)
    return Status::invalid(path + ": holds no rows");
  if (numFields < 2)
    return Status::invalid(path + ": has one column; features and a label are "
                                  "needed");
  if (wholeLabels) {
    std::vector<int64_t> whole(labels.begin(), labels.end());
    addColumn("labels", path, SINTER_I64, {}, rows,
              toBytes(whole.data(), whole.size() * 8), held, dataset);
  } else {
    addColumn("labels", path, SINTER_F64, {}, rows,
              toBytes(labels.data(), labels.size() * 8), held, dataset);
  }
  addColumn("x", path, SINTER_F64,
            {static_cast<int64_t>(columns.features.size())}, rows,
            toBytes(features.data(), features.size() * 8), held, dataset);
  return {};
}
