//===- OpListReduce.cpp - cases of reductions and windows -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "test/ops/OpList.h"

#include <tuple>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::test {
namespace {

using passes::ValueBuilder;
using Dims = std::vector<int64_t>;

std::string listText(const Dims &dims) {
  return dims.empty() ? "-" : shapeText(dims);
}

struct Reduction {
  Dims shape, dims;
};
const std::vector<Reduction> kReductions = {
    {{5}, {0}},
    {{1}, {0}},
    {{3, 5}, {0}},
    {{3, 5}, {1}},
    {{3, 5}, {0, 1}},
    {{2, 3, 5}, {1}},
    {{2, 3, 5}, {0, 2}},
    {{7, 1, 3}, {1}},
    {{4, 33}, {1}},
    {{33, 4}, {0}},
    {{2, 3, 4, 5}, {2, 3}},
    {{2, 3, 4, 5}, {0, 2, 3}},
    {{13, 17}, {1}},
    {{3, 5}, {}},
    {{0, 5}, {1}},
    {{3, 0}, {0}},
    // Sums in chunks; more than one tile of rows, of columns.
    {{10007}, {0}},
    {{301, 257}, {1}},
    {{301, 257}, {0}},
    // Vectors of columns, two and four.
    {{37, 34}, {0}},
    {{70, 36}, {0}},
    {{3, 40, 20}, {0, 1}},
};

void addReductions(std::vector<OpCase> &cases) {
  for (auto kind :
       {ReduceKind::sum, ReduceKind::prod, ReduceKind::max, ReduceKind::min})
    for (const Reduction &reduction : kReductions)
      cases.push_back(
          {"sinter.reduce " + stringifyReduceKind(kind).str() + " " +
               shapeText(reduction.shape) + " dims " + listText(reduction.dims),
           {{reduction.shape, -1.5, 1.5}},
           [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             return {b.make<ReduceOp>(kind, x[0], reduction.dims)};
           }});
  // Sums of an empty tensor, and the tensor itself.
  for (const Reduction &reduction :
       std::vector<Reduction>{{{4, 0}, {1}}, {{0, 4, 5}, {0, 2}}})
    cases.push_back(
        {"sinter.reduce sum of squares, and these, " +
             shapeText(reduction.shape) + " dims " + listText(reduction.dims),
         {{reduction.shape, -1.5, 1.5}},
         [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
           Value squares = b.make<MulOp>(x[0], x[0]);
           return {b.make<ReduceOp>(ReduceKind::sum, squares, reduction.dims),
                   squares};
         }});
  // Several reductions of one operand: of rows, of columns, one that waits.
  for (const Reduction &reduction : std::vector<Reduction>{
           {{9, 70}, {1}}, {{70, 9}, {0}}, {{70, 12}, {0}}, {{600, 4}, {0}}})
    cases.push_back(
        {"sinter.reduce sums of squares, of absolute values and of what "
         "exceeds them, " +
             shapeText(reduction.shape) + " dims " + listText(reduction.dims),
         {{reduction.shape, 0.5, 1.5}},
         [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
           auto sum = [&](Value value) -> Value {
             return b.make<ReduceOp>(ReduceKind::sum, value, reduction.dims);
           };
           Value squares = sum(b.make<MulOp>(x[0], x[0]));
           Value absolute = sum(b.make<AbsOp>(x[0]));
           Value spread = spreadOver(b.b, b.loc, absolute, reduction.shape,
                                     reduction.dims);
           Value ratio = b.make<DivOp>(x[0], spread);
           return {squares, absolute, sum(b.make<MulOp>(ratio, ratio)), ratio};
         }});
  for (auto kind : {ReduceKind::all, ReduceKind::any})
    for (const Reduction &reduction : kReductions)
      cases.push_back(
          {"sinter.reduce " + stringifyReduceKind(kind).str() + " " +
               shapeText(reduction.shape) + " dims " + listText(reduction.dims),
           {{reduction.shape, 0, 2, Element::I1}},
           [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             return {b.make<ReduceOp>(kind, x[0], reduction.dims)};
           }});
  for (auto kind : {ReduceKind::max, ReduceKind::min})
    for (bool last : {false, true})
      for (auto [shape, axis] : {std::pair{Dims{5}, 0},
                                 {Dims{3, 5}, 0},
                                 {Dims{3, 5}, 1},
                                 {Dims{2, 3, 7}, 1},
                                 {Dims{1, 1}, 1},
                                 {Dims{4, 33}, 1},
                                 {Dims{2, 3001}, 1}})
        cases.push_back(
            {"sinter.arg_reduce " + stringifyReduceKind(kind).str() + " " +
                 shapeText(shape) + " axis " + std::to_string(axis) +
                 (last ? " last" : ""),
             {{shape}},
             [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
               return {b.make<ArgReduceOp>(kind, x[0], axis, last)};
             }});
}

struct Window {
  Dims input, window, strides, dilations, padsLow, padsHigh;
};
const std::vector<Window> kWindows = {
    {{5}, {2}, {1}, {1}, {0}, {0}},
    {{1}, {1}, {1}, {1}, {0}, {0}},
    {{7}, {3}, {2}, {1}, {1}, {1}},
    {{9}, {2}, {3}, {2}, {0}, {1}},
    {{3, 5}, {1, 2}, {1, 2}, {1, 1}, {0, 0}, {0, 0}},
    {{1, 2, 4, 6},
     {1, 1, 2, 2},
     {1, 1, 2, 2},
     {1, 1, 1, 1},
     {0, 0, 0, 0},
     {0, 0, 0, 0}},
    {{2, 3, 5, 5},
     {1, 1, 3, 3},
     {1, 1, 2, 2},
     {1, 1, 1, 1},
     {0, 0, 1, 1},
     {0, 0, 1, 1}},
    {{2, 3, 5, 7},
     {1, 1, 3, 2},
     {1, 1, 1, 3},
     {1, 1, 1, 1},
     {0, 0, 1, 0},
     {0, 0, 0, 1}},
    {{1, 1, 7, 7},
     {1, 1, 3, 3},
     {1, 1, 2, 1},
     {1, 1, 2, 3},
     {0, 0, 1, 1},
     {0, 0, 0, 1}},
    {{2, 5, 5, 3},
     {1, 2, 2, 1},
     {1, 2, 2, 1},
     {1, 1, 1, 1},
     {0, 0, 0, 0},
     {0, 1, 1, 0}},
    // Channels last: exact tiles, and windows that overlap in the padding.
    {{2, 4, 6, 7},
     {1, 2, 3, 1},
     {1, 2, 3, 1},
     {1, 1, 1, 1},
     {0, 0, 0, 0},
     {0, 0, 0, 0}},
    {{1, 5, 6, 5},
     {1, 3, 3, 1},
     {1, 2, 1, 1},
     {1, 1, 2, 1},
     {0, 1, 1, 0},
     {0, 1, 2, 0}},
    // Vectors of channels: windows that overlap, dilated ones, and gaps.
    {{1, 5, 6, 8},
     {1, 3, 3, 1},
     {1, 2, 2, 1},
     {1, 1, 1, 1},
     {0, 1, 1, 0},
     {0, 1, 1, 0}},
    {{2, 7, 5, 4},
     {1, 3, 2, 1},
     {1, 1, 4, 1},
     {1, 2, 1, 1},
     {0, 2, 0, 0},
     {0, 1, 1, 0}},
    // A batch without rows.
    {{0, 2, 4, 4},
     {1, 1, 2, 2},
     {1, 1, 2, 2},
     {1, 1, 1, 1},
     {0, 0, 0, 0},
     {0, 0, 0, 0}},
    {{1, 2, 3, 4, 5},
     {1, 1, 2, 2, 2},
     {1, 1, 1, 2, 2},
     {1, 1, 1, 1, 1},
     {0, 0, 0, 0, 0},
     {0, 0, 0, 0, 1}},
};

Dims windowOutput(const Window &w) {
  Dims shape;
  for (size_t i = 0; i < w.input.size(); ++i) {
    int64_t padded = w.input[i] + w.padsLow[i] + w.padsHigh[i];
    shape.push_back(padded == 0 ? 0
                                : (padded - (w.window[i] - 1) * w.dilations[i] -
                                   1) / w.strides[i] +
                                      1);
  }
  return shape;
}

std::string windowText(const Window &w) {
  return shapeText(w.input) + " window " + shapeText(w.window) + " strides " +
         shapeText(w.strides) + " dilations " + shapeText(w.dilations) +
         " pads " + shapeText(w.padsLow) + " " + shapeText(w.padsHigh);
}

void addWindows(std::vector<OpCase> &cases) {
  for (const Window &w : kWindows) {
    for (auto kind : {ReduceKind::sum, ReduceKind::max, ReduceKind::min})
      cases.push_back(
          {"sinter.reduce_window " + stringifyReduceKind(kind).str() + " " +
               windowText(w),
           {{w.input}},
           [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             return {b.make<ReduceWindowOp>(kind, x[0], w.window, w.strides,
                                            w.dilations, w.padsLow,
                                            w.padsHigh)};
           }});
    cases.push_back({"sinter.reduce_window_grad sum " + windowText(w),
                     {{w.input}, {windowOutput(w)}},
                     [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                       return {b.make<ReduceWindowGradOp>(
                           x[0].getType(), ReduceKind::sum, x[0], x[1],
                           w.window, w.strides, w.dilations, w.padsLow,
                           w.padsHigh)};
                     }});
  }
}

void addScans(std::vector<OpCase> &cases) {
  const std::vector<std::pair<Dims, int64_t>> shapes = {
      {{5}, 0},       {{1}, 0},          {{3, 5}, 0},  {{3, 5}, 1},
      {{2, 3, 7}, 1}, {{0, 3}, 1},       {{3, 0}, 1},  {{13, 1}, 0},
      {{1, 17}, 1},   {{2, 2, 3, 2}, 2}, {{2, 131}, 1}};
  for (auto kind : {ReduceKind::sum, ReduceKind::prod})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true})
        for (const auto &[shape, axis] : shapes)
          cases.push_back(
              {"sinter.cumulative " + stringifyReduceKind(kind).str() + " " +
                   shapeText(shape) + " axis " + std::to_string(axis) +
                   (exclusive ? " exclusive" : "") +
                   (reverse ? " reverse" : ""),
               {{shape, -1.5, 1.5}},
               [=, axis = axis](ValueBuilder &b,
                                ValueRange x) -> SmallVector<Value> {
                 return {b.make<CumulativeOp>(kind, x[0], axis, exclusive,
                                              reverse)};
               }});
  // The last part is whole, short, or the only one; parts of several runs and
  // groups.
  const std::vector<std::tuple<Dims, int64_t, int64_t>> inParts = {
      {{6}, 0, 2},       {{7}, 0, 3},       {{5}, 0, 5},
      {{5}, 0, 9},       {{5, 3}, 0, 2},    {{2, 3, 2}, 1, 1},
      {{0, 3}, 1, 2},    {{3, 0}, 1, 2},    {{2, 131}, 1, 40},
      {{2, 501}, 1, 70}, {{401, 2}, 0, 70}, {{1, 2500}, 1, 1200}};
  for (auto kind : {ReduceKind::sum, ReduceKind::prod})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true})
        for (const auto &[shape, axis, part] : inParts) {
          Dims starts = shape;
          starts[axis] = shape[axis] > 0 ? (shape[axis] - 1) / part : 0;
          cases.push_back(
              {"sinter.cumulative_parts " + stringifyReduceKind(kind).str() +
                   " " + shapeText(shape) + " axis " + std::to_string(axis) +
                   " part " + std::to_string(part) +
                   (exclusive ? " exclusive" : "") +
                   (reverse ? " reverse" : ""),
               {{shape, -1.2, 1.2}, {starts, -1.5, 1.5}},
               [=, axis = axis, part = part](
                   ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                 Value from = x[1];
                 if (getElementTypeOrSelf(from).getIntOrFloatBitWidth() < 32)
                   from = castTo(b.b, b.loc, from, b.b.getF32Type());
                 return {b.make<CumulativePartsOp>(x[0].getType(), kind, x[0],
                                                   from, axis, part, exclusive,
                                                   reverse)};
               }});
        }
  for (bool largest : {false, true})
    for (const auto &[shape, axis] : shapes)
      for (int64_t k : {shape[axis], shape[axis] / 2})
        cases.push_back({"sinter.top_k " + shapeText(shape) + " axis " +
                             std::to_string(axis) + " k " + std::to_string(k) +
                             (largest ? " largest" : ""),
                         {{shape}},
                         [=, axis = axis](ValueBuilder &b,
                                          ValueRange x) -> SmallVector<Value> {
                           auto op = b.b.create<TopKOp>(b.loc, x[0], axis, k,
                                                        largest);
                           return {op.getValues(), op.getIndices()};
                         }});
}

} // namespace

void addReduceCases(std::vector<OpCase> &cases) {
  // One replica; test/e2e/replicas tests several.
  for (const Dims &shape : std::vector<Dims>{
           {}, {1}, {7}, {0, 3}, {3, 5}, {64}, {1, 1, 5}, {2, 3, 5}, {17, 3}})
    for (size_t count : {size_t(1), size_t(2)})
      cases.push_back(
          {"sinter.all_reduce " + shapeText(shape) + " of " +
               std::to_string(count),
           std::vector<Operand>(count, {shape}),
           [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             return llvm::to_vector(ValueRange(
                 b.b.create<AllReduceOp>(b.loc, x, MeshAxis::data, uint64_t(1))
                     ->getResults()));
           }});

  addReductions(cases);
  addWindows(cases);
  addScans(cases);
}

} // namespace sinter::test
