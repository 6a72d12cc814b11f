//===- BatchReader.cpp - a dataset's rows as a program's inputs -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/BatchReader.h"

#include <algorithm>

using namespace sinter::rt;

namespace {

/// Whether `from` becomes `to` by inserting dimensions of size 1.
bool insertsUnits(std::span<const int64_t> from, std::span<const int64_t> to) {
  size_t next = 0;
  for (int64_t dim : to) {
    if (next < from.size() && from[next] == dim)
      ++next;
    else if (dim != 1)
      return false;
  }
  return next == from.size();
}

/// A hint for labels of the row shape `given` where the program needs `needed`:
/// the axes of the logits that leave labels of `given` if the classes are
/// there. The program does not say which axis it has, so two axes may leave the
/// same. Empty if another axis would not help.
std::string classAxisHint(std::span<const int64_t> given,
                          std::span<const int64_t> needed, int64_t numClasses) {
  using Dims = std::vector<int64_t>;
  const size_t rank = needed.size() + 1; // of the logits, without the batch
  if (numClasses <= 0 || given.size() != needed.size())
    return "";
  std::vector<bool> mayBe(rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    Dims logits(needed.begin(), needed.end());
    logits.insert(logits.begin() + axis, numClasses);
    for (size_t other = 0; other < rank; ++other) {
      Dims labels = logits;
      labels.erase(labels.begin() + other);
      if (other != axis &&
          std::equal(labels.begin(), labels.end(), given.begin(), given.end()))
        mayBe[other] = true;
    }
  }
  std::string axes;
  for (size_t axis = 0; axis < rank; ++axis)
    if (mayBe[axis])
      axes += (axes.empty() ? "axis=" : " or axis=") + std::to_string(axis + 1);
  if (axes.empty())
    return "";
  return "; labels of that shape need the classes on another axis of the "
         "logits: compile with --loss=cross-entropy:" +
         axes;
}

std::string columnNames(const Dataset &dataset) {
  std::string text;
  for (const Column &column : dataset.columns)
    text += (text.empty() ? "\"" : ", \"") + column.name + "\"";
  return text;
}

} // namespace

Result<BatchReader>
BatchReader::bind(std::shared_ptr<const Dataset> dataset,
                  std::span<const sinter_tensor_desc> inputs,
                  const BatchOptions &options) {
  BatchReader reader;
  reader.dataset_ = std::move(dataset);
  reader.inputs_ = inputs;
  reader.options_ = options;
  if (inputs.empty())
    return Status::invalid("the program has no inputs to feed");
  std::string missing;
  int numMissing = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!reader.findColumn(i, options)) {
      missing += (missing.empty() ? "\"" : ", \"") +
                 std::string(inputs[i].name) + "\"";
      ++numMissing;
    }
  if (numMissing)
    return Status::invalid(reader.dataset_->spec +
                           ": no column for the model's input" +
                           (numMissing > 1 ? "s " : " ") + missing +
                           " (it has " + columnNames(*reader.dataset_) + ")");
  for (size_t i = 0; i < inputs.size(); ++i)
    SINTER_RETURN_IF_ERROR(
        reader.bindInput(i, *reader.findColumn(i, options), options));
  const Column &first = *reader.bindings_.front().column;
  reader.rows_ = first.rows;
  for (const Binding &binding : reader.bindings_)
    if (binding.column->rows != first.rows)
      return Status::invalid(binding.column->origin + ": has " +
                             std::to_string(binding.column->rows) +
                             " rows, but " + first.origin + " has " +
                             std::to_string(first.rows));
  return reader;
}

const Column *BatchReader::findColumn(size_t index,
                                      const BatchOptions &options) const {
  const bool labels = options.labels == index;
  const size_t others = inputs_.size() - (options.labels ? 1 : 0);
  auto findOther = [&](const char *usual) -> const Column * {
    bool isTaken = std::any_of(inputs_.begin(), inputs_.end(),
                               [&](const sinter_tensor_desc &desc) {
                                 return std::string_view(desc.name) == usual;
                               });
    return isTaken ? nullptr : dataset_->find(usual);
  };
  const Column *column = dataset_->find(inputs_[index].name);
  if (!column && labels)
    column = findOther("labels");
  if (!column && labels)
    column = findOther("y");
  if (!column && !labels && others == 1)
    column = findOther("x");
  return column;
}

Status BatchReader::bindInput(size_t index, const Column &column,
                              const BatchOptions &options) {
  const sinter_tensor_desc &input = inputs_[index];
  const std::string name = input.name;
  const bool labels = options.labels == index;
  std::span<const int64_t> dims(input.dims, input.rank);
  if (dims.empty() || dims[0] <= 0 || (batch_ != 0 && dims[0] != batch_))
    return Status::invalid("the model's input \"" + name + "\" has the shape " +
                           shapeText(dims) +
                           ", which does not begin with the batch size");
  batch_ = dims[0];
  if (!insertsUnits(column.rowDims, dims.subspan(1)))
    return Status::invalid(
        column.origin + ": its rows have the shape " +
        shapeText(column.rowDims) + ", the model's input \"" + name +
        "\" needs " + shapeText(dims.subspan(1)) +
        (labels ? classAxisHint(column.rowDims, dims.subspan(1),
                                options.numClasses)
                : ""));
  Binding binding;
  binding.column = &column;
  binding.dtype = static_cast<sinter_dtype>(input.dtype);
  binding.isLabels = labels;
  binding.checkFinite = options.checkFinite && isFloatType(column.dtype) &&
                        isFloatType(input.dtype);
  binding.rowElements = 1;
  for (int64_t dim : dims.subspan(1))
    binding.rowElements *= dim;
  Converter::Options conversion;
  conversion.bigEndian = column.bigEndian;
  binding.isScaled = options.scale && !labels && column.dtype == SINTER_U8 &&
                     isFloatType(binding.dtype);
  conversion.scale = binding.isScaled;
  binding.rounds = options.round && column.dtype == SINTER_F64 &&
                   (binding.dtype == SINTER_F32 ||
                    (column.decimal && isFloatType(binding.dtype) &&
                     binding.dtype != SINTER_F64));
  conversion.mayRound = binding.rounds;
  binding.converter = Converter(column.dtype, binding.dtype, conversion);
  bindings_.push_back(std::move(binding));
  return {};
}

static void addName(std::string &names, const std::string &name) {
  names += (names.empty() ? "" : ", ") + name;
}

std::vector<std::string> BatchReader::notes() const {
  std::string rounded;
  for (const Binding &binding : bindings_)
    if (binding.rounds)
      addName(rounded,
              binding.column->name + " to " + elementTypeName(binding.dtype));
  std::vector<std::string> lines;
  if (!rounded.empty())
    lines.push_back(dataset_->spec + ": float64 is rounded: " + rounded +
                    " (--cast=exact forbids this)");
  if (std::string scaled = scaledColumns(); !scaled.empty())
    lines.push_back(dataset_->spec + ": bytes are divided by 255: " + scaled +
                    " (--scale=none keeps them)");
  std::string unread;
  for (const Column &column : dataset_->columns)
    if (std::none_of(
            bindings_.begin(), bindings_.end(),
            [&](const Binding &binding) { return binding.column == &column; }))
      addName(unread, column.name);
  if (!unread.empty())
    lines.push_back(dataset_->spec + ": not read: " + unread);
  return lines;
}

std::string BatchReader::scaledColumns() const {
  std::string names;
  for (const Binding &binding : bindings_)
    if (binding.isScaled)
      addName(names, binding.column->name);
  return names;
}

std::vector<std::string>
BatchReader::scalingWarnings(const BatchReader &other) const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < bindings_.size(); ++i)
    for (size_t j = 0; j < other.bindings_.size(); ++j) {
      const Binding *scaled = &bindings_[i], *plain = &other.bindings_[j];
      if (std::string_view(inputs_[i].name) != other.inputs_[j].name ||
          scaled->isScaled == plain->isScaled)
        continue;
      if (plain->isScaled)
        std::swap(scaled, plain);
      lines.push_back("the bytes of " + scaled->column->origin +
                      " are divided by 255, the values (" +
                      elementTypeName(plain->column->dtype) + ") of " +
                      plain->column->origin +
                      " are not: this is right only if they were divided "
                      "before (--scale=none divides nothing)");
    }
  return lines;
}

void BatchReader::prefetch() const {
  for (const Binding &binding : bindings_)
    binding.column->bytes->prefetch();
}

bool BatchReader::readsFrom(const InputFile &file) const {
  return !hasEnded_ &&
         std::any_of(bindings_.begin(), bindings_.end(),
                     [&](const Binding &binding) {
                       return binding.column->bytes->file() == &file;
                     });
}

Status BatchReader::checkUnchanged() const {
  for (const std::shared_ptr<InputFile> &file : dataset_->files)
    if (readsFrom(*file))
      SINTER_RETURN_IF_ERROR(file->checkUnchanged());
  return {};
}

std::vector<std::string> BatchReader::takeModifications() const {
  std::vector<std::string> lines;
  for (const std::shared_ptr<InputFile> &file : dataset_->files)
    if (file->takeModified())
      lines.push_back(
          file->path() +
          (readsFrom(*file)
               ? " was modified while it was read; the bytes that are compared "
                 "(all of a small file, samples of a large one) are unchanged"
               : " was modified after it was read into memory; the run goes on "
                 "with what was read; if its content differs, --resume needs "
                 "--accept-dataset-change"));
  return lines;
}

Status BatchReader::fill(std::span<const int64_t> rows,
                         void *const *buffers) const {
  std::vector<uint8_t> scratch;
  for (size_t i = 0; i < bindings_.size(); ++i)
    SINTER_RETURN_IF_ERROR(fillInput(
        bindings_[i], rows, static_cast<uint8_t *>(buffers[i]), scratch));
  return {};
}

void BatchReader::ignoreLabels(int64_t validRows, void *const *buffers) const {
  if (!ignorableInput())
    return;
  const Binding &labels = bindings_[*options_.labels];
  const Converter converter(SINTER_I64, labels.dtype, {});
  auto *out = static_cast<uint8_t *>(buffers[*options_.labels]);
  for (int64_t i = validRows * labels.rowElements;
       i < batch_ * labels.rowElements; ++i)
    converter.convert(reinterpret_cast<const uint8_t *>(&options_.ignoreIndex),
                      out + i * elementBytes(labels.dtype), 1);
}

Status BatchReader::fillInput(const Binding &binding,
                              std::span<const int64_t> rows, uint8_t *out,
                              std::vector<uint8_t> &scratch) const {
  uint64_t outRowBytes = binding.rowElements * elementBytes(binding.dtype);
  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin + 1; // adjacent rows are one read
    while (end < rows.size() && rows[end] == rows[end - 1] + 1)
      ++end;
    SINTER_RETURN_IF_ERROR(fillRun(binding, rows[begin],
                                   static_cast<int64_t>(end - begin),
                                   out + begin * outRowBytes, scratch));
    begin = end;
  }
  return {};
}

Status BatchReader::fillRun(const Binding &binding, int64_t firstRow,
                            int64_t numRows, uint8_t *out,
                            std::vector<uint8_t> &scratch) const {
  const Column &column = *binding.column;
  uint64_t rowBytes =
      static_cast<uint64_t>(binding.rowElements) * elementBytes(column.dtype);
  int64_t count = numRows * binding.rowElements;
  auto rowOf = [&](int64_t element) {
    return " row " + std::to_string(firstRow + element / binding.rowElements);
  };
  scratch.resize(numRows * rowBytes);
  SINTER_RETURN_IF_ERROR(column.bytes->read(
      column.offsetBytes + static_cast<uint64_t>(firstRow) * rowBytes,
      scratch));
  int64_t bad = binding.converter.convert(scratch.data(), out, count);
  if (bad >= 0)
    return Status::invalid(
        column.origin + ":" + rowOf(bad) + " holds " +
        binding.converter.elementText(scratch.data(), bad) + " (" +
        elementTypeName(column.dtype) + "), which the model's " +
        elementTypeName(binding.dtype) + " cannot hold exactly");
  if (binding.checkFinite) {
    bad = firstNonFinite(binding.dtype, out, count);
    if (bad >= 0)
      return Status::invalid(
          column.origin + ":" + rowOf(bad) + " holds " +
          binding.converter.elementText(scratch.data(), bad) +
          ", which is not a finite number");
  }
  return checkLabels(binding, firstRow, numRows, out);
}

Status BatchReader::checkLabels(const Binding &binding, int64_t firstRow,
                                int64_t numRows, const uint8_t *values) const {
  if (!binding.isLabels || options_.numClasses <= 0 ||
      !isIntegerType(binding.dtype))
    return {};
  bool isCounted = false;
  for (int64_t i = 0; i < numRows * binding.rowElements; ++i) {
    int64_t label = integerAt(binding.dtype, values, i);
    const bool isIgnored =
        options_.hasIgnoreIndex && label == options_.ignoreIndex;
    isCounted |= !isIgnored;
    if (isIgnored || (label >= 0 && label < options_.numClasses))
      continue;
    return Status::invalid(binding.column->origin + ": row " +
                           std::to_string(firstRow + i / binding.rowElements) +
                           " has the label " + std::to_string(label) +
                           "; the model has the classes 0 to " +
                           std::to_string(options_.numClasses - 1));
  }
  LabelsRead none = LabelsRead::None;
  if (isCounted)
    *labelsRead_ = LabelsRead::Counted;
  else if (numRows > 0)
    labelsRead_->compare_exchange_strong(none, LabelsRead::Ignored);
  return {};
}
