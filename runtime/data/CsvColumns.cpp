//===- CsvColumns.cpp - finds a table's label and features ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/CsvColumns.h"

#include <charconv>

using namespace sinter::rt;

namespace {

class Chooser {
public:
  Chooser(const std::string &path, const std::vector<std::string> &names,
          size_t numFields, const DataOptions &options, Dataset &dataset)
      : path_(path), names_(names), numFields_(numFields), options_(options),
        dataset_(dataset) {}

  Result<CsvColumns> choose() {
    SINTER_RETURN_IF_ERROR(chooseLabel());
    SINTER_RETURN_IF_ERROR(chooseFeatures());
    if (!names_.empty()) {
      dataset_.header.label = names_[columns_.label];
      for (size_t feature : columns_.features)
        dataset_.header.features.push_back(names_[feature]);
    }
    return std::move(columns_);
  }

private:
  Status error(const std::string &what) const {
    return Status::invalid(path_ + ": " + what);
  }
  void note(const std::string &what) {
    dataset_.notes.push_back(path_ + ": " + what);
  }
  std::vector<size_t> called(const std::string &name) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name)
        found.push_back(i);
    return found;
  }

  Status chooseLabel() {
    std::vector<size_t> found;
    if (!options_.header.label.empty())
      found = called(options_.header.label);
    if (found.empty() && !options_.labelColumn.empty()) {
      found = given();
      if (found.empty())
        return error("--label-column: no column is called " +
                     quotedField(options_.labelColumn) +
                     " or has this number (columns are numbered 0 to " +
                     std::to_string(numFields_ - 1) + ")");
    }
    if (found.empty() && options_.labelsName != "labels")
      found = called(options_.labelsName);
    if (found.empty())
      for (const char *name : {"label", "labels", "y"})
        for (size_t column : called(name))
          found.push_back(column);
    if (found.size() > 1)
      return error("columns " + columnText(found[0]) + " and " +
                   columnText(found[1]) +
                   " may both be the label; --label-column=NAME|INDEX says "
                   "which one is");
    columns_.label = found.empty() ? numFields_ - 1 : found.front();
    if (found.empty())
      note("no column is called label, labels or y; the last one, " +
           columnText(columns_.label) +
           ", is taken as the label (or --label-column=NAME|INDEX)");
    return {};
  }

  /// The columns that --label-column may mean: by name, and by number.
  std::vector<size_t> given() const {
    const std::string &text = options_.labelColumn;
    std::vector<size_t> found = called(text);
    size_t index = 0;
    auto [end, failure] =
        std::from_chars(text.data(), text.data() + text.size(), index);
    if (failure == std::errc() && end == text.data() + text.size() &&
        index < numFields_ && (found.empty() || found.front() != index))
      found.push_back(index);
    return found;
  }

  /// "2", or "2 "width"" if it has a name.
  std::string columnText(size_t column) const {
    return std::to_string(column) +
           (names_.empty() ? "" : " " + quotedField(names_[column]));
  }

  Status chooseFeatures() {
    const std::vector<std::string> &wanted = options_.header.features;
    std::vector<std::string> others;
    for (size_t i = 0; i < numFields_; ++i) {
      if (i == columns_.label)
        continue;
      columns_.features.push_back(i);
      if (!names_.empty())
        others.push_back(names_[i]);
    }
    if (wanted.empty() || others == wanted)
      return {};
    if (names_.empty()) {
      note("has no header; its columns are taken to be in the order of the "
           "training data's");
      return {};
    }
    columns_.features.clear();
    for (const std::string &name : wanted) {
      std::vector<size_t> found = called(name);
      std::erase(found, columns_.label);
      if (found.size() != 1)
        return error((found.empty() ? "no column is called "
                                    : "more than one column is called ") +
                     quotedField(name) + ", unlike in the training data");
      columns_.features.push_back(found.front());
    }
    if (others.size() > wanted.size())
      note(std::to_string(others.size() - wanted.size()) +
           " of its columns are not used: the training data does not have "
           "them");
    return {};
  }

  const std::string &path_;
  const std::vector<std::string> &names_;
  size_t numFields_;
  const DataOptions &options_;
  Dataset &dataset_;
  CsvColumns columns_;
};

} // namespace

std::string sinter::rt::quotedField(std::string_view field) {
  std::string text(field.substr(0, 24));
  for (char &c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return "\"" + text + "\"";
}

Result<CsvColumns> sinter::rt::chooseCsvColumns(
    const std::string &path, const std::vector<std::string> &names,
    size_t numFields, const DataOptions &options, Dataset &dataset) {
  return Chooser(path, names, numFields, options, dataset).choose();
}
