//===- Loops.cpp - Loop and Scan ------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A loop of known trip count becomes a scan if its body is the same in each
// trip. Other loops are unrolled, trip by trip: those whose shapes or
// conditions depend on the number of the trip, that carry sequences, or that
// check indices.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/Scans.h"
#include "compiler/import/onnx/Values.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

using namespace mlir;

namespace sinter::compiler {

/// Of loops that are unrolled.
static constexpr int64_t kMaxTrips = 4096;
/// Of scans. A loop of more trips has no end in practice.
static constexpr int64_t kMaxScanTrips = INT32_MAX;

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

/// Whether a value known at compile time is true.
static bool isTrue(NodeImport &n, Value condition) {
  std::optional<ir::Tensor> known = n.constantOf(condition);
  return known && !known->isFloat() && known->size() == 1 && known->ints[0];
}

/// Builds a Loop as a scan. `values` are the initial values.
static bool buildLoopScan(NodeImport &n, const ::onnx::GraphProto &body,
                          int64_t trips, ArrayRef<Value> values) {
  // What fails here is tried again without a scan, and reported then.
  NodeImport trial(n.graph(), n.scope(), n.frame(), n.node, n.version, n.b,
                   n.loc);
  ScanBuilder scan(trial);
  Value trip = scan.argument(RankedTensorType::get({}, n.i64()));
  SmallVector<Value> arguments{trip, n.splat({}, n.i1(), 1)}, results;
  for (Value value : values)
    arguments.push_back(scan.argument(ir::tensorType(value)));
  n.graph().pushRange(trip, 0, trips - 1);
  bool isBuilt = n.graph().importBody(trial, body, arguments, results);
  n.graph().popRange();
  if (!isBuilt || llvm::is_contained(results, Value()) ||
      !llvm::all_of(results, isTensor) || !isTrue(n, results.front()))
    return false;
  ArrayRef<Value> next = ArrayRef(results).slice(1, values.size());
  if (TypeRange(ValueRange(next)) != TypeRange(ValueRange(values)))
    return false;
  SmallVector<Value> slices;
  SmallVector<size_t> wanted;
  for (size_t i = values.size(); i + 1 < results.size(); ++i)
    if (n.wants(i)) {
      slices.push_back(results[i + 1]);
      wanted.push_back(i);
    }
  ScanBuilder::Operands operands;
  operands.stacks.push_back(n.iota({trips}, 0, n.i64()));
  operands.initial.assign(values.begin(), values.end());
  if (n.failed())
    return false;
  ir::ScanOp made =
      scan.finish(trips, /*isReverse=*/false, operands, next, slices);
  if (!made)
    return false;
  for (auto [i, value] : llvm::enumerate(made.getLast()))
    n.out(i, value);
  for (auto [i, value] : llvm::zip_equal(wanted, made.getStacked()))
    n.out(i, value);
  return true;
}

/// The trip count and the conditions must be known at compile time.
static void importLoop(NodeImport &n) {
  const ::onnx::GraphProto *body = n.attrGraph("body");
  if (n.failed())
    return;
  size_t carried = n.numInputs() > 2 ? n.numInputs() - 2 : 0;
  if (!body || size_t(body->input_size()) != carried + 2 ||
      size_t(body->output_size()) < carried + 1 ||
      n.numOutputs() > size_t(body->output_size()) - 1) {
    n.fail("attribute 'body' must be a graph of " +
           std::to_string(carried + 2) + " inputs and " +
           std::to_string(carried + 1) + " or more outputs");
    return;
  }
  for (size_t i : {0, 1})
    if (n.has(i) && !isTensor(n.in(i))) {
      n.fail("input " + quoted(n.inputName(i)) + " is " + describe(n.in(i)) +
             "; it must be a tensor");
      return;
    }
  size_t scanned = size_t(body->output_size()) - 1 - carried;
  int64_t trips = INT64_MAX;
  if (n.has(0)) {
    std::optional<int64_t> given = n.knownInt(0, "M");
    if (!given)
      return;
    trips = std::max<int64_t>(*given, 0);
  }
  Value condition = n.in(1);
  SmallVector<Value> values(
      n.inputs().drop_front(std::min<size_t>(2, n.numInputs())));
  if (llvm::is_contained(values, Value())) {
    n.fail("an initial value is missing");
    return;
  }
  if (trips > 1 && trips <= kMaxScanTrips &&
      (!condition || isTrue(n, condition)) && llvm::all_of(values, isTensor) &&
      n.graph().tryScan(*body,
                        [&] { return buildLoopScan(n, *body, trips, values); }))
    return;
  std::vector<SmallVector<Value>> scans(scanned);
  for (int64_t trip = 0; trip < trips; ++trip) {
    if (condition) {
      std::optional<ir::Tensor> known = n.constantOf(condition);
      if (!known || known->isFloat() || known->size() != 1) {
        n.unsupported("a condition that is not known at compile time");
        return;
      }
      if (!known->ints[0])
        break;
    }
    if (trip == kMaxTrips) {
      n.unsupported("more than " + std::to_string(kMaxTrips) + " iterations");
      return;
    }
    SmallVector<Value> arguments = {
        n.ints({trip}, {}), condition ? condition : n.splat({}, n.i1(), 1)};
    llvm::append_range(arguments, values);
    SmallVector<Value> results;
    if (!n.graph().importBody(n, *body, arguments, results))
      return;
    if (llvm::is_contained(results, Value())) {
      n.poison();
      return;
    }
    condition = results[0];
    if (!isTensor(condition)) {
      n.fail("the condition is " + describe(condition));
      return;
    }
    values.assign(results.begin() + 1, results.begin() + 1 + carried);
    for (size_t i = 0; i < scanned; ++i) {
      Value slice = results[1 + carried + i];
      if (!isTensor(slice)) {
        n.unsupported("a scan output that is " + describe(slice));
        return;
      }
      scans[i].push_back(slice);
    }
  }
  for (size_t i = 0; i < carried; ++i)
    n.out(i, values[i]);
  for (size_t i = 0; i < scanned; ++i) {
    if (!n.wants(carried + i))
      continue;
    if (scans[i].empty()) {
      n.unsupported("scan outputs of no iterations");
      return;
    }
    SmallVector<Value> slices;
    for (Value slice : scans[i])
      slices.push_back(n.expandDims(slice, {0}));
    n.out(carried + i, n.concat(slices, 0));
  }
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

/// A list of one entry per scan input or output; zeros if absent. Nothing after
/// fail().
static std::optional<Shape> scanList(NodeImport &n, llvm::StringRef name,
                                     size_t count) {
  Shape values = n.attrInts(name).value_or(Shape(count, 0));
  if (!n.failed() && values.size() != count)
    n.fail("attribute " + quoted(name) + " must have " + std::to_string(count) +
           " entries");
  return n.failed() ? std::nullopt : std::optional<Shape>(values);
}

/// The attributes of a Scan, an entry for each scan input or output.
struct ScanAxes {
  Shape inputAxes, inputReversed, outputAxes, outputReversed;
};

/// Dimension `from` becomes dimension `to`; the others keep their order.
static Value moveDim(NodeImport &n, Value x, int64_t from, int64_t to) {
  Shape perm;
  for (int64_t dim = 0; dim < n.rankOf(x); ++dim)
    if (dim != from)
      perm.push_back(dim);
  perm.insert(perm.begin() + to, from);
  return from == to ? x : n.transpose(x, perm);
}

/// Builds a Scan as ours. Both directions of a stack are possible: those that
/// differ from the first input's are reversed outside.
static bool buildScan(NodeImport &n, const ::onnx::GraphProto &body,
                      int64_t trips, ArrayRef<Value> values,
                      const ScanAxes &axes) {
  NodeImport trial(n.graph(), n.scope(), n.frame(), n.node, n.version, n.b,
                   n.loc);
  ScanBuilder scan(trial);
  const size_t scanned = axes.inputAxes.size();
  ArrayRef<Value> inputs = n.inputs().take_back(scanned);
  SmallVector<Value> slices, arguments, results;
  for (auto [input, axis] : llvm::zip_equal(inputs, axes.inputAxes)) {
    Shape shape(n.shapeOf(input));
    shape.erase(shape.begin() + axis);
    slices.push_back(
        scan.argument(RankedTensorType::get(shape, n.elementOf(input))));
  }
  for (Value value : values)
    arguments.push_back(scan.argument(ir::tensorType(value)));
  llvm::append_range(arguments, slices);
  if (!n.graph().importBody(trial, body, arguments, results) ||
      llvm::is_contained(results, Value()) || !llvm::all_of(results, isTensor))
    return false;
  ArrayRef<Value> next = ArrayRef(results).take_front(values.size()),
                  stacked = ArrayRef(results).drop_front(values.size());
  if (TypeRange(ValueRange(next)) != TypeRange(ValueRange(values)))
    return false;
  const bool isReverse = axes.inputReversed.front();
  ScanBuilder::Operands operands;
  for (size_t i = 0; i < scanned; ++i) {
    Value stack = moveDim(n, inputs[i], axes.inputAxes[i], 0);
    if (bool(axes.inputReversed[i]) != isReverse)
      stack = n.reverse(stack, {0});
    operands.stacks.push_back(stack);
  }
  operands.initial.assign(values.begin(), values.end());
  Shape outputAxes;
  for (auto [value, axis] : llvm::zip_equal(stacked, axes.outputAxes)) {
    std::optional<int64_t> normal = trial.axis(axis, n.rankOf(value) + 1);
    if (!normal)
      return false;
    outputAxes.push_back(*normal);
  }
  ir::ScanOp made = scan.finish(trips, isReverse, operands, next, stacked);
  if (!made)
    return false;
  for (auto [i, value] : llvm::enumerate(made.getLast()))
    n.out(i, value);
  for (auto [i, value] : llvm::enumerate(made.getStacked())) {
    Value all = value;
    if (bool(axes.outputReversed[i]) != isReverse)
      all = n.reverse(all, {0});
    n.out(values.size() + i, moveDim(n, all, 0, outputAxes[i]));
  }
  return true;
}

/// The body gets state values and one slice of each scan input; it returns new
/// state values and one slice of each scan output.
static void importScan(NodeImport &n) {
  const ::onnx::GraphProto *body = n.attrGraph("body");
  std::optional<int64_t> given = n.attrInt("num_scan_inputs");
  if (n.failed())
    return;
  if (n.version < 9) {
    n.unsupported("of operator set 8");
    return;
  }
  size_t numInputs = n.numInputs();
  if (!body || !given || *given < 1 || *given > int64_t(numInputs) ||
      llvm::is_contained(n.inputs(), Value()) ||
      size_t(body->input_size()) != numInputs ||
      size_t(body->output_size()) != n.numOutputs() ||
      n.numOutputs() < numInputs - size_t(*given)) {
    n.fail("attributes 'body' and 'num_scan_inputs' do not fit the node's "
           "inputs and "
           "outputs");
    return;
  }
  size_t scanned = size_t(*given), carried = numInputs - scanned;
  size_t produced = n.numOutputs() - carried;
  std::optional<Shape> inputAxes = scanList(n, "scan_input_axes", scanned);
  std::optional<Shape> inputReversed =
      scanList(n, "scan_input_directions", scanned);
  std::optional<Shape> outputAxes = scanList(n, "scan_output_axes", produced);
  std::optional<Shape> outputReversed =
      scanList(n, "scan_output_directions", produced);
  if (!inputAxes || !inputReversed || !outputAxes || !outputReversed)
    return;
  std::optional<int64_t> trips;
  for (size_t i = 0; i < scanned; ++i) {
    Value v = n.in(carried + i);
    std::optional<int64_t> axis = n.axis((*inputAxes)[i], n.rankOf(v));
    if (!axis)
      return;
    (*inputAxes)[i] = *axis;
    int64_t size = n.shapeOf(v)[*axis];
    if (trips.value_or(size) != size) {
      n.fail("scan inputs have the lengths " + std::to_string(*trips) +
             " and " + std::to_string(size));
      return;
    }
    trips = size;
  }
  SmallVector<Value> values(n.inputs().take_front(carried));
  const ScanAxes axes{*inputAxes, *inputReversed, *outputAxes, *outputReversed};
  if (*trips > 1 && *trips <= kMaxScanTrips && llvm::all_of(values, isTensor) &&
      n.graph().tryScan(
          *body, [&] { return buildScan(n, *body, *trips, values, axes); }))
    return;
  if (*trips > kMaxTrips || *trips == 0) {
    n.unsupported("over " + std::to_string(*trips) + " slices");
    return;
  }
  std::vector<SmallVector<Value>> slices(produced);
  for (int64_t trip = 0; trip < *trips; ++trip) {
    SmallVector<Value> arguments(values), results;
    for (size_t i = 0; i < scanned; ++i) {
      int64_t at = (*inputReversed)[i] ? *trips - 1 - trip : trip;
      Value slice = n.sliceDim(n.in(carried + i), (*inputAxes)[i], at, at + 1);
      arguments.push_back(n.squeeze(slice, {(*inputAxes)[i]}));
    }
    if (!n.graph().importBody(n, *body, arguments, results))
      return;
    if (llvm::is_contained(results, Value())) {
      n.poison();
      return;
    }
    values.assign(results.begin(), results.begin() + carried);
    for (size_t i = 0; i < produced; ++i) {
      Value slice = results[carried + i];
      if (!isTensor(slice)) {
        n.unsupported("a scan output that is " + describe(slice));
        return;
      }
      slices[i].push_back(slice);
    }
  }
  for (size_t i = 0; i < carried; ++i)
    n.out(i, values[i]);
  for (size_t i = 0; i < produced; ++i) {
    if ((*outputReversed)[i])
      std::reverse(slices[i].begin(), slices[i].end());
    std::optional<int64_t> axis =
        n.axis((*outputAxes)[i], n.rankOf(slices[i].front()) + 1);
    if (!axis)
      return;
    SmallVector<Value> parts;
    for (Value slice : slices[i])
      parts.push_back(n.expandDims(slice, {*axis}));
    n.out(carried + i, n.concat(parts, *axis));
  }
}

llvm::ArrayRef<OpRow> loopOps() {
  static constexpr OpRow rows[] = {
      takesAny({"Loop", importLoop, 0, kAny, kAny}),
      {"Scan", importScan, 0, kAny, kAny, 8},
  };
  return rows;
}

} // namespace sinter::compiler
