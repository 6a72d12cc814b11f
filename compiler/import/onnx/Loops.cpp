//===- Loops.cpp - Loop and Scan ------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/Values.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

using namespace mlir;

namespace sinter::compiler {

static constexpr int64_t kMaxTrips = 4096;

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

/// Loops are unrolled, so the trip count and the conditions must be known at
/// compile time.
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

/// Unrolled. The body gets state values and one slice of each scan input; it
/// returns new state values and one slice of each scan output.
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
  if (*trips > kMaxTrips || *trips == 0) {
    n.unsupported("over " + std::to_string(*trips) + " slices");
    return;
  }
  SmallVector<Value> values(n.inputs().take_front(carried));
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
