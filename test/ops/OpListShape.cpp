//===- OpListShape.cpp - cases of ops that move elements ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ops/OpList.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::test {
namespace {

using passes::ValueBuilder;
using Dims = std::vector<int64_t>;

std::string listText(const Dims &dims) {
  return dims.empty() ? "-" : shapeText(dims);
}

void addBroadcasts(std::vector<OpCase> &cases) {
  struct Broadcast {
    Dims from, to, dims;
  };
  for (const Broadcast &c : std::vector<Broadcast>{{{}, {5}, {}},
                                                   {{}, {2, 3}, {}},
                                                   {{5}, {3, 5}, {1}},
                                                   {{3}, {3, 5}, {0}},
                                                   {{1}, {7}, {0}},
                                                   {{3, 1}, {3, 5}, {0, 1}},
                                                   {{1, 1}, {3, 5}, {0, 1}},
                                                   {{1, 5}, {2, 3, 5}, {1, 2}},
                                                   {{2, 5}, {2, 3, 5}, {0, 2}},
                                                   {{7}, {2, 7, 3, 1}, {1}},
                                                   {{3}, {0, 3}, {1}},
                                                   {{1, 3}, {0, 3}, {0, 1}},
                                                   {{13}, {13}, {0}}})
    cases.push_back({"sinter.broadcast " + shapeText(c.from) + " to " +
                         shapeText(c.to) + " dims " + listText(c.dims),
                     {{c.from}},
                     [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                       return {b.make<BroadcastOp>(
                           withShape(tensorType(x[0]), c.to), x[0], c.dims)};
                     }});
}

void addReshapes(std::vector<OpCase> &cases) {
  for (const auto &[from, to] :
       std::vector<std::pair<Dims, Dims>>{{{6}, {2, 3}},
                                          {{2, 3}, {6}},
                                          {{2, 3}, {3, 2}},
                                          {{1}, {}},
                                          {{}, {1, 1}},
                                          {{2, 1, 3}, {2, 3}},
                                          {{0, 3}, {0}},
                                          {{2, 3, 5}, {5, 6}},
                                          {{7}, {7}},
                                          {{4, 4}, {2, 8}}})
    cases.push_back(
        {"sinter.reshape " + shapeText(from) + " to " + shapeText(to),
         {{from}},
         [to = to](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
           return {b.make<ReshapeOp>(withShape(tensorType(x[0]), to), x[0])};
         }});
  for (const auto &[shape, perm] :
       std::vector<std::pair<Dims, Dims>>{{{3, 5}, {1, 0}},
                                          {{3, 5}, {0, 1}},
                                          {{1, 7}, {1, 0}},
                                          {{2, 3, 5}, {2, 0, 1}},
                                          {{2, 3, 5}, {0, 2, 1}},
                                          {{2, 3, 5}, {2, 1, 0}},
                                          {{7}, {0}},
                                          {{}, {}},
                                          {{0, 3}, {1, 0}},
                                          {{301, 257}, {1, 0}},
                                          {{2, 3, 4, 5}, {0, 2, 1, 3}},
                                          {{2, 3, 4, 5}, {3, 1, 0, 2}},
                                          {{33, 17}, {1, 0}},
                                          {{3, 50}, {1, 0}},
                                          {{4, 37}, {1, 0}},
                                          {{2, 2, 93}, {0, 2, 1}}})
    cases.push_back(
        {"sinter.transpose " + shapeText(shape) + " perm " + listText(perm),
         {{shape}},
         [perm = perm](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
           return {b.make<TransposeOp>(x[0], perm)};
         }});
  for (const auto &[shape, dims] :
       std::vector<std::pair<Dims, Dims>>{{{5}, {0}},
                                          {{1}, {0}},
                                          {{3, 5}, {0}},
                                          {{3, 5}, {1}},
                                          {{3, 5}, {0, 1}},
                                          {{3, 5}, {}},
                                          {{2, 3, 5}, {1}},
                                          {{0, 5}, {1}},
                                          {{13, 2}, {0}},
                                          {{2, 3, 4, 5}, {1, 3}}})
    cases.push_back(
        {"sinter.reverse " + shapeText(shape) + " dims " + listText(dims),
         {{shape}},
         [dims = dims](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
           return {b.make<ReverseOp>(x[0], dims)};
         }});
}

void addSlices(std::vector<OpCase> &cases) {
  struct Slice {
    Dims shape, starts, limits, strides;
  };
  for (const Slice &c :
       std::vector<Slice>{{{5}, {0}, {5}, {1}},
                          {{5}, {1}, {4}, {1}},
                          {{7}, {1}, {7}, {2}},
                          {{7}, {0}, {6}, {3}},
                          {{7}, {2}, {3}, {5}},
                          {{5}, {3}, {3}, {1}},
                          {{3, 5}, {0, 2}, {3, 5}, {1, 1}},
                          {{3, 5}, {1, 0}, {2, 5}, {1, 2}},
                          {{4, 8}, {0, 2}, {4, 8}, {2, 3}},
                          {{2, 3, 5}, {0, 1, 1}, {2, 2, 4}, {1, 1, 2}},
                          {{0, 3}, {0, 1}, {0, 2}, {1, 1}},
                          {{13, 1}, {5, 0}, {11, 1}, {2, 1}}})
    cases.push_back(
        {"sinter.slice " + shapeText(c.shape) + " starts " +
             listText(c.starts) + " limits " + listText(c.limits) +
             " strides " + listText(c.strides),
         {{c.shape}},
         [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
           return {b.make<SliceOp>(x[0], c.starts, c.limits, c.strides)};
         }});
  // An empty slice of a value of one element, and the value itself.
  cases.push_back({"sinter.slice of a square, and this, 1x1x1",
                   {{{1, 1, 1}}},
                   [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                     Value square = b.make<MulOp>(x[0], x[0]);
                     return {b.make<SliceOp>(square, Dims{0, 0, 0},
                                             Dims{1, 1, 0}, Dims{1, 1, 1}),
                             square};
                   }});
  struct Pad {
    Dims shape, low, high, interior;
  };
  for (const Pad &c :
       std::vector<Pad>{{{5}, {0}, {0}, {0}},
                        {{5}, {1}, {2}, {0}},
                        {{5}, {0}, {0}, {2}},
                        {{5}, {2}, {1}, {1}},
                        {{1}, {1}, {1}, {3}},
                        {{3, 5}, {0, 1}, {0, 1}, {0, 0}},
                        {{3, 5}, {1, 0}, {2, 3}, {1, 0}},
                        {{2, 3, 5}, {0, 1, 0}, {0, 0, 2}, {0, 1, 1}},
                        {{0, 3}, {1, 0}, {1, 0}, {0, 0}},
                        {{}, {}, {}, {}},
                        {{13, 2}, {3, 1}, {0, 0}, {0, 2}}})
    cases.push_back(
        {"sinter.pad " + shapeText(c.shape) + " low " + listText(c.low) +
             " high " + listText(c.high) + " interior " + listText(c.interior),
         {{c.shape}, {{}}},
         [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
           return {b.make<PadOp>(x[0], x[1], c.low, c.high, c.interior)};
         }});
  struct Concat {
    std::vector<Dims> shapes;
    int64_t axis;
  };
  for (const Concat &c :
       std::vector<Concat>{{{{5}}, 0},
                           {{{2}, {3}}, 0},
                           {{{1}, {1}, {1}}, 0},
                           {{{3, 5}, {2, 5}}, 0},
                           {{{3, 5}, {3, 2}}, 1},
                           {{{3, 5}, {3, 0}, {3, 1}}, 1},
                           {{{2, 3, 5}, {2, 1, 5}}, 1},
                           {{{2, 3, 5}, {2, 3, 7}}, 2},
                           {{{0, 3}, {2, 3}}, 0},
                           {{{13, 2}, {4, 2}, {1, 2}, {5, 2}}, 0}}) {
    std::string name = "sinter.concat axis " + std::to_string(c.axis);
    std::vector<Operand> operands;
    for (const Dims &shape : c.shapes) {
      name += " " + shapeText(shape);
      operands.push_back({shape});
    }
    cases.push_back(
        {name, operands, [axis = c.axis](ValueBuilder &b, ValueRange x) {
           return SmallVector<Value>{b.make<ConcatOp>(x, axis)};
         }});
  }
}

void addSources(std::vector<OpCase> &cases) {
  for (const auto &[shape, axis] :
       std::vector<std::pair<Dims, int64_t>>{{{5}, 0},
                                             {{1}, 0},
                                             {{3, 5}, 0},
                                             {{3, 5}, 1},
                                             {{2, 3, 7}, 1},
                                             {{0, 3}, 1}})
    cases.push_back(
        {"sinter.iota " + shapeText(shape) + " axis " + std::to_string(axis),
         {},
         [shape = shape, axis = axis](ValueBuilder &b, ValueRange) {
           auto type = RankedTensorType::get(shape, b.b.getI64Type());
           return SmallVector<Value>{b.iota(type, axis)};
         }});
  cases.push_back({"sinter.constant 3", {}, [](ValueBuilder &b, ValueRange) {
                     return SmallVector<Value>{
                         constantI64(b.b, b.loc, {5, -7, 11})};
                   }});
}

} // namespace

void addShapeCases(std::vector<OpCase> &cases) {
  addBroadcasts(cases);
  addReshapes(cases);
  addSlices(cases);
  addSources(cases);
}

} // namespace sinter::test
