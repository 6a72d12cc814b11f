//===- BatchReader.h - a dataset's rows as a program's inputs ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Binds each input of a "step" or "eval" entry to a column, and fills the
// inputs' buffers with chosen rows, converted to the graph's types.
//
// An input takes the column with its name. If no other input has that name, the
// labels also take "labels" or "y", and the only other input takes "x". Shapes
// must agree, except that dimensions of size 1 may be missing in the data ([28,
// 28] -> [1, 28, 28]).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_BATCHREADER_H
#define SINTER_RUNTIME_DATA_BATCHREADER_H

#include "runtime/data/Convert.h"
#include "runtime/data/Dataset.h"

#include <atomic>
#include <memory>
#include <optional>
#include <span>

namespace sinter::rt {

struct BatchOptions {
  /// The input that has the loss's labels, which are never scaled and are
  /// checked against `numClasses`.
  std::optional<size_t> labels;
  bool scale = true;       // uint8 to float: divide by 255
  bool checkFinite = true; // refuse NaN and infinity in float data
  /// Round float64 to the graph's float32, and decimal text to any float type
  /// (Convert.h has what is never rounded).
  bool round = true;
  /// Integer labels must lie in [0, numClasses) or be ignoreIndex; 0: any.
  int64_t numClasses = 0;
  bool hasIgnoreIndex = false;
  int64_t ignoreIndex = 0;
};

class BatchReader {
public:
  /// `inputs` outlive the reader; all must have the same leading dimension.
  /// Errors (SINTER_INVALID) name the input, the column and both shapes.
  static Result<BatchReader> bind(std::shared_ptr<const Dataset> dataset,
                                  std::span<const sinter_tensor_desc> inputs,
                                  const BatchOptions &options);

  int64_t rows() const { return rows_; }
  int64_t batch() const { return batch_; }
  const Dataset &dataset() const { return *dataset_; }
  std::span<const sinter_tensor_desc> inputs() const { return inputs_; }
  /// Lines for the user: what is rounded, what is divided by 255, and what no
  /// input reads.
  std::vector<std::string> notes() const;
  /// The names of columns whose bytes are divided by 255: "a, b".
  std::string scaledColumns() const;
  /// A line for each input whose values are divided by 255 here and not in
  /// `other`, or the other way round.
  std::vector<std::string> scalingWarnings(const BatchReader &other) const;
  /// Starts what can be done ahead of reads (decompression).
  void prefetch() const;
  /// Says that every row was read and is kept: files may change from now on.
  void endReading() { hasEnded_ = true; }
  /// SINTER_FAILED naming a file that rows are still read from and whose
  /// content has changed since it was opened, as far as sampling can tell.
  Status checkUnchanged() const;
  /// A warning for each file that was modified, without what checkUnchanged()
  /// fails for, since it was opened or since the last call.
  std::vector<std::string> takeModifications() const;

  /// Fills `buffers[i]`, one for each input and aligned to its element, with
  /// `rows` (at most batch() of them). Thread-safe. Errors name row and value.
  Status fill(std::span<const int64_t> rows, void *const *buffers) const;
  /// Sets the labels of the rows from `validRows` on to the ignored label, if
  /// there is one.
  void ignoreLabels(int64_t validRows, void *const *buffers) const;
  /// The input that ignoreLabels() changes; nothing if there is none.
  std::optional<size_t> ignorableInput() const {
    return options_.hasIgnoreIndex ? options_.labels : std::nullopt;
  }

  /// Whether labels were read, and all of them are the ignored label.
  bool allLabelsIgnored() const { return *labelsRead_ == LabelsRead::Ignored; }

private:
  enum class LabelsRead { None, Ignored, Counted };
  struct Binding {
    const Column *column;
    Converter converter;
    sinter_dtype dtype;
    int64_t rowElements;
    bool isLabels;
    bool rounds;
    bool isScaled; // bytes are divided by 255
    bool checkFinite;
  };
  /// The column for an input, by its name or a usual one; null if there is
  /// none.
  const Column *findColumn(size_t index, const BatchOptions &options) const;
  Status bindInput(size_t index, const Column &column,
                   const BatchOptions &options);
  bool readsFrom(const InputFile &file) const;
  Status fillInput(const Binding &binding, std::span<const int64_t> rows,
                   uint8_t *out, std::vector<uint8_t> &scratch) const;
  Status fillRun(const Binding &binding, int64_t firstRow, int64_t numRows,
                 uint8_t *out, std::vector<uint8_t> &scratch) const;
  Status checkLabels(const Binding &binding, int64_t firstRow, int64_t numRows,
                     const uint8_t *values) const;

  std::shared_ptr<const Dataset> dataset_;
  std::span<const sinter_tensor_desc> inputs_;
  std::vector<Binding> bindings_;
  BatchOptions options_;
  int64_t rows_ = 0;
  int64_t batch_ = 0;
  bool hasEnded_ = false;
  /// Of all fill()s, in any thread.
  std::shared_ptr<std::atomic<LabelsRead>> labelsRead_ =
      std::make_shared<std::atomic<LabelsRead>>(LabelsRead::None);
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_BATCHREADER_H
