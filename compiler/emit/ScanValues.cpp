//===- ScanValues.cpp - where the values of a scan's body lie -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/ScanValues.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

static sinter_slice part(const sinter_slice &whole, int64_t offsetBytes,
                         uint64_t sizeBytes) {
  return {whole.space, whole.index,
          whole.offsetBytes + static_cast<uint64_t>(offsetBytes), sizeBytes};
}

/// A trip has a slice of its own, in the direction of the scan.
sinter_scan_value ScanValues::slices(const sinter_slice &stack) const {
  const auto bytes = static_cast<int64_t>(stack.sizeBytes) / trips_;
  auto ofTrip = [&](int64_t trip) {
    return part(stack, (isReverse_ ? trips_ - 1 - trip : trip) * bytes, bytes);
  };
  return {ofTrip(0), ofTrip(std::min<int64_t>(1, trips_ - 1)),
          ofTrip(trips_ - 1), isReverse_ ? -bytes : bytes,
          std::max<int64_t>(1, trips_ - 2)};
}

/// Trips use the two places at `offset` in the scratch in turn; the last one
/// has the result.
sinter_scan_value ScanValues::last(const sinter_slice &result,
                                   int64_t offset) const {
  const int64_t stride =
      exec::alignedBytes(static_cast<int64_t>(result.sizeBytes));
  return {part(scratch_, offset, result.sizeBytes),
          part(scratch_, offset + stride, result.sizeBytes), result, -stride,
          2};
}

/// Each trip but the first reads where the trip before it wrote `output`.
sinter_scan_value ScanValues::carried(const sinter_slice &initial,
                                      const sinter_scan_value &output,
                                      bool isStacked) const {
  // Trip 1 reads the output of trip 0, and so on.
  sinter_scan_value value{initial, output.first, initial, output.strideBytes,
                          output.period};
  if (!isStacked)
    value.strideBytes = -output.strideBytes; // back from place 1 to place 0
  if (trips_ == 1)
    return value;
  const int64_t steps = isStacked ? trips_ - 2 : (trips_ - 2) % value.period;
  value.last = part(output.first, steps * value.strideBytes, initial.sizeBytes);
  return value;
}

sinter_slice ScanValues::valueSlice(const sinter_scan_value &value) {
  values_.push_back(value);
  return {SINTER_SPACE_SCAN, static_cast<uint32_t>(values_.size() - 1), 0,
          value.last.sizeBytes};
}

ScanValues::ScanValues(exec::ScanOp scan,
                       llvm::function_ref<sinter_slice(Value)> sliceOf)
    : body_(SymbolTable::lookupNearestSymbolFrom<exec::ProgramOp>(
          scan->getParentOp()->getParentOp(), scan.getBodyAttr())),
      trips_(static_cast<int64_t>(scan.getTrips())),
      isReverse_(scan.getReverse()), scratch_(sliceOf(scan.getScratch())) {
  auto kinds = scan.getBodyOutputs().getAsRange<exec::ScanOutputAttr>();
  int64_t offset =
      exec::alignedBytes(static_cast<int64_t>(body_.getArenaBytes()));
  for (exec::ScanOutputAttr output : kinds) {
    sinter_slice buffer = sliceOf(scan.getOutputs()[output.getWrite()]);
    if (output.getKind() == exec::ScanOutputKind::slice) {
      outputs_.push_back(valueSlice(slices(buffer)));
      continue;
    }
    outputs_.push_back(valueSlice(last(buffer, offset)));
    offset += 2 * exec::alignedBytes(static_cast<int64_t>(buffer.sizeBytes));
  }
  for (auto input : scan.getBodyInputs().getAsRange<exec::ScanInputAttr>()) {
    sinter_slice buffer = sliceOf(scan.getReads()[input.getRead()]);
    switch (input.getKind()) {
    case exec::ScanInputKind::whole:
      inputs_.push_back(buffer);
      break;
    case exec::ScanInputKind::slice:
      inputs_.push_back(valueSlice(slices(buffer)));
      break;
    case exec::ScanInputKind::carried: {
      auto kind =
          cast<exec::ScanOutputAttr>(scan.getBodyOutputs()[input.getOutput()])
              .getKind();
      // The outputs are the first values, in order.
      inputs_.push_back(
          valueSlice(carried(buffer, values_[input.getOutput()],
                             kind == exec::ScanOutputKind::slice)));
      break;
    }
    }
  }
}

sinter_slice ScanValues::place(exec::SliceAttr slice) const {
  const sinter_slice &whole = slice.getSpace() == exec::Space::arena ? scratch_
                              : slice.getSpace() == exec::Space::input
                                  ? inputs_[slice.getIndex()]
                                  : outputs_[slice.getIndex()];
  return part(whole, slice.getOffset(), slice.getSize());
}
