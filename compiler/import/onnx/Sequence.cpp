//===- Sequence.cpp - sequences of known length, and optionals ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/TensorReader.h"
#include "compiler/import/onnx/Values.h"

#include <onnx/onnx_pb.h>

#include <numeric>

using namespace mlir;

namespace sinter::compiler {

/// Requires the inputs from `first` on to be tensors; false after fail().
static bool requireTensors(NodeImport &n, size_t first) {
  for (size_t i = first; i < n.numInputs(); ++i) {
    if (!n.has(i) || isTensor(n.in(i)))
      continue;
    std::string why =
        "input " + quoted(n.inputName(i)) + " is " + describe(n.in(i));
    isOpen(n.in(i)) ? n.unsupported(why)
                    : n.fail(why + "; it must be a tensor");
    return false;
  }
  return true;
}

/// Input `i` as a position in [0, count); nothing after fail().
static std::optional<int64_t> position(NodeImport &n, size_t i, int64_t count) {
  if (!requireTensors(n, i))
    return std::nullopt;
  std::optional<int64_t> given = n.knownInt(i, "position");
  if (!given)
    return std::nullopt;
  if (*given < -count || *given >= count) {
    n.fail("position " + std::to_string(*given) +
           " is out of range for a sequence of " + std::to_string(count));
    return std::nullopt;
  }
  return *given < 0 ? *given + count : *given;
}

//===----------------------------------------------------------------------===//
// Operators that create sequences
//===----------------------------------------------------------------------===//

static void importSequenceEmpty(NodeImport &n) {
  n.ignoreAttr("dtype"); // the elements have their own
  n.out(makeSequence(n, {}));
}

static void importSequenceConstruct(NodeImport &n) {
  for (size_t i = 0; i < n.numInputs(); ++i)
    if (!n.has(i)) {
      n.fail("input " + std::to_string(i) + " is missing");
      return;
    }
  n.out(makeSequence(n, n.inputs()));
}

static void importSequenceInsert(NodeImport &n) {
  std::optional<SmallVector<Value>> elements = elementsOf(n, 0);
  if (!elements)
    return;
  int64_t count = elements->size(), at = count;
  if (n.has(2)) {
    // One past the end is also a position.
    std::optional<int64_t> given =
        requireTensors(n, 2) ? n.knownInt(2, "position") : std::nullopt;
    if (!given)
      return;
    at = *given < 0 ? *given + count : *given;
    if (at < 0 || at > count) {
      n.fail("position " + std::to_string(*given) +
             " is out of range for a sequence of " + std::to_string(count));
      return;
    }
  }
  elements->insert(elements->begin() + at, n.in(1));
  n.out(makeSequence(n, *elements));
}

static void importSequenceErase(NodeImport &n) {
  std::optional<SmallVector<Value>> elements = elementsOf(n, 0);
  if (!elements)
    return;
  int64_t count = elements->size(), at = count - 1;
  if (n.has(1)) {
    std::optional<int64_t> given = position(n, 1, count);
    if (!given)
      return;
    at = *given;
  }
  if (count == 0) {
    n.fail("the sequence is empty");
    return;
  }
  elements->erase(elements->begin() + at);
  n.out(makeSequence(n, *elements));
}

/// The sizes of the parts along a dimension of `size`; nothing after fail().
static std::optional<Shape> partSizes(NodeImport &n, int64_t size) {
  if (!n.has(1))
    return Shape(size, 1);
  bool isScalar = n.rankOf(n.in(1)) == 0;
  std::optional<Shape> sizes = n.knownInts(1, "split");
  if (!sizes)
    return std::nullopt;
  if (isScalar) {
    int64_t part = sizes->front();
    if (part < 1) {
      n.fail("parts of the size " + std::to_string(part));
      return std::nullopt;
    }
    Shape parts(size / part, part);
    if (size % part)
      parts.push_back(size % part);
    return parts;
  }
  int64_t rest = size;
  for (int64_t part : *sizes)
    if (part < 0 || (rest -= part) < 0)
      break;
  if (rest != 0 || llvm::any_of(*sizes, [](int64_t s) { return s < 0; })) {
    n.fail("split sizes " + shownShape(*sizes) +
           " do not make up the dimension's " + std::to_string(size));
    return std::nullopt;
  }
  return sizes;
}

static void importSplitToSequence(NodeImport &n) {
  Value x = n.in(0);
  bool keep = n.attrInt("keepdims", 1) || n.has(1);
  std::optional<int64_t> axis = n.axis(n.attrInt("axis", 0), n.rankOf(x));
  if (!axis)
    return;
  int64_t size = n.shapeOf(x)[*axis];
  if (size > (1 << 16)) {
    n.unsupported("of a dimension of more than 2^16 elements");
    return;
  }
  std::optional<Shape> sizes = partSizes(n, size);
  if (!sizes)
    return;
  SmallVector<Value> parts;
  int64_t start = 0;
  for (int64_t part : *sizes) {
    Value slice = n.sliceDim(x, *axis, start, start + part);
    parts.push_back(keep ? slice : n.squeeze(slice, {*axis}));
    start += part;
  }
  n.out(makeSequence(n, parts));
}

//===----------------------------------------------------------------------===//
// Operators that read sequences
//===----------------------------------------------------------------------===//

static void importSequenceAt(NodeImport &n) {
  std::optional<SmallVector<Value>> elements = elementsOf(n, 0);
  if (!elements)
    return;
  if (std::optional<int64_t> at = position(n, 1, int64_t(elements->size())))
    n.out((*elements)[*at]);
}

static void importSequenceLength(NodeImport &n) {
  if (std::optional<SmallVector<Value>> elements = elementsOf(n, 0))
    n.out(n.ints({int64_t(elements->size())}, {}));
}

static void importConcatFromSequence(NodeImport &n) {
  bool isNew = n.attrInt("new_axis", 0);
  std::optional<int64_t> given = n.attrInt("axis");
  std::optional<SmallVector<Value>> elements = elementsOf(n, 0);
  if (!elements || n.failed())
    return;
  if (!given || elements->empty()) {
    n.fail(given ? "the sequence is empty" : "attribute 'axis' is missing");
    return;
  }
  std::optional<int64_t> axis =
      n.axis(*given, n.rankOf(elements->front()) + isNew);
  if (!axis)
    return;
  if (isNew)
    for (Value &element : *elements)
      element = n.expandDims(element, {*axis});
  n.out(n.concat(*elements, *axis));
}

/// Runs the body for each element of the first sequence together with those of
/// the other sequences. Tensors among the inputs go to every call.
static void importSequenceMap(NodeImport &n) {
  const ::onnx::GraphProto *body = n.attrGraph("body");
  std::optional<SmallVector<Value>> first = elementsOf(n, 0);
  if (n.failed() || !first)
    return;
  if (!body || size_t(body->output_size()) != n.numOutputs()) {
    n.fail("attribute 'body' must be a graph of " +
           std::to_string(n.numOutputs()) + " outputs");
    return;
  }
  std::vector<SmallVector<Value>> produced(n.numOutputs());
  for (size_t at = 0; at < first->size(); ++at) {
    SmallVector<Value> arguments, results;
    for (size_t i = 0; i < n.numInputs(); ++i) {
      Value value = n.in(i);
      if (value && isSequence(value)) {
        std::optional<SmallVector<Value>> elements = elementsOf(n, i);
        if (elements->size() != first->size()) {
          n.fail("the sequences have the lengths " +
                 std::to_string(first->size()) + " and " +
                 std::to_string(elements->size()));
          return;
        }
        value = (*elements)[at];
      }
      if (!value) {
        n.fail("input " + std::to_string(i) + " is missing");
        return;
      }
      arguments.push_back(value);
    }
    if (!n.graph().importBody(n, *body, arguments, results))
      return;
    if (llvm::is_contained(results, Value())) {
      n.poison();
      return;
    }
    for (size_t i = 0; i < produced.size(); ++i)
      produced[i].push_back(results[i]);
  }
  for (size_t i = 0; i < produced.size(); ++i)
    n.out(i, makeSequence(n, produced[i]));
}

//===----------------------------------------------------------------------===//
// Optionals
//===----------------------------------------------------------------------===//

static void importOptional(NodeImport &n) {
  n.ignoreAttr("type"); // the value has its own
  n.out(n.has(0) ? n.in(0) : makeAbsentOptional(n));
}

static void importOptionalGetElement(NodeImport &n) {
  if (isAbsentOptional(n.in(0)))
    n.fail("the optional has no value");
  n.out(n.in(0));
}

static void importOptionalHasElement(NodeImport &n) {
  bool isThere = n.has(0) && !isAbsentOptional(n.in(0));
  n.out(n.splat({}, n.i1(), isThere));
}

llvm::ArrayRef<OpRow> sequenceOps() {
  static constexpr OpRow rows[] = {
      takesAny({"ConcatFromSequence", importConcatFromSequence, 1, 1, 1, 11}),
      takesAny({"Optional", importOptional, 0, 1, 1, 15}),
      takesAny({"OptionalGetElement", importOptionalGetElement, 1, 1, 1, 15}),
      takesAny({"OptionalHasElement", importOptionalHasElement, 0, 1, 1, 15}),
      takesAny({"SequenceAt", importSequenceAt, 2, 2, 1, 11}),
      takesAny({"SequenceConstruct", importSequenceConstruct, 1, kAny, 1, 11}),
      {"SequenceEmpty", importSequenceEmpty, 0, 0, 1, 11},
      takesAny({"SequenceErase", importSequenceErase, 1, 2, 1, 11}),
      takesAny({"SequenceInsert", importSequenceInsert, 2, 3, 1, 11}),
      takesAny({"SequenceLength", importSequenceLength, 1, 1, 1, 11}),
      takesAny({"SequenceMap", importSequenceMap, 1, kAny, kAny, 17}),
      {"SplitToSequence", importSplitToSequence, 1, 2, 1, 11},
  };
  return rows;
}

} // namespace sinter::compiler
