//===- OpListControl.cpp - cases of repetition ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "test/ops/OpList.h"

using namespace mlir;
using namespace sinter::ir;
using namespace sinter::passes;

namespace sinter::test {

namespace {

using Dims = std::vector<int64_t>;

/// What a trip computes from the arguments of the body: the carried values and
/// then the slices.
using Body =
    std::function<SmallVector<Value>(ValueBuilder &, ValueRange arguments)>;

/// A scan whose operands are `stacks` stacks, `carried` initial values, and
/// whole operands.
SmallVector<Value> buildScan(ValueBuilder &b, ValueRange operands, size_t trips,
                             bool isReverse, size_t stacks, size_t carried,
                             const Body &body) {
  auto block = std::make_unique<Block>();
  for (auto [i, operand] : llvm::enumerate(operands)) {
    RankedTensorType type = tensorType(operand);
    block->addArgument(
        i < stacks ? withShape(type, type.getShape().drop_front()) : type,
        b.loc);
  }
  OpBuilder inner(b.loc.getContext());
  inner.setInsertionPointToEnd(block.get());
  ValueBuilder values(inner, b.loc);
  SmallVector<Value> yielded = body(values, block->getArguments());
  inner.create<YieldOp>(b.loc, yielded);
  SmallVector<Type> types;
  for (auto [i, value] : llvm::enumerate(yielded)) {
    RankedTensorType type = tensorType(value);
    SmallVector<int64_t> shape(type.getShape());
    if (i >= carried)
      shape.insert(shape.begin(), static_cast<int64_t>(trips));
    types.push_back(withShape(type, shape));
  }
  auto scan = b.b.create<ScanOp>(
      b.loc, types, trips, isReverse, operands.take_front(stacks),
      operands.slice(stacks, carried), operands.drop_front(stacks + carried));
  scan.getBody().push_back(block.release());
  return llvm::to_vector(ValueRange(scan.getOutputs()));
}

std::string nameOf(const std::string &what, const Dims &shape, size_t trips,
                   bool isReverse) {
  return "sinter.scan " + what + " " + shapeText(shape) + " trips " +
         std::to_string(trips) + (isReverse ? " reverse" : "");
}

} // namespace

void addControlCases(std::vector<OpCase> &cases) {
  for (bool isReverse : {false, true})
    for (auto [batch, width, trips] :
         std::vector<std::tuple<int64_t, int64_t, size_t>>{
             {1, 1, 1}, {2, 3, 2}, {3, 5, 4}, {1, 17, 3}, {0, 3, 2}}) {
      const auto count = static_cast<int64_t>(trips);
      // h' = tanh(h R^T + x), the step of an RNN.
      cases.push_back(
          {nameOf("recurrent", {batch, width}, trips, isReverse),
           {{{count, batch, width}}, {{batch, width}}, {{width, width}, -1, 1}},
           [=](ValueBuilder &b, ValueRange x) {
             return buildScan(
                 b, x, trips, isReverse, 1, 1,
                 [](ValueBuilder &v, ValueRange in) -> SmallVector<Value> {
                   Value product = v.make<DotGeneralOp>(
                       in[1], in[2], ArrayRef<int64_t>{}, ArrayRef<int64_t>{},
                       ArrayRef<int64_t>{1}, ArrayRef<int64_t>{1});
                   Value next = v.make<TanhOp>(v.add(product, in[0]));
                   return {next, next};
                 });
           }});
      // Two carried values, a stack that is not read, a constant carried value.
      cases.push_back(
          {nameOf("pair", {batch, width}, trips, isReverse),
           {{{count, batch, width}},
            {{count, width}},
            {{batch, width}},
            {{batch, width}}},
           [=](ValueBuilder &b, ValueRange x) {
             return buildScan(
                 b, x, trips, isReverse, 2, 2,
                 [](ValueBuilder &v, ValueRange in) -> SmallVector<Value> {
                   Value product = v.mul(in[2], in[0]);
                   return {v.add(product, in[3]), in[3], product};
                 });
           }});
    }
}

} // namespace sinter::test
