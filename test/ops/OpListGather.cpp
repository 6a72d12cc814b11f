//===- OpListGather.cpp - cases of indexed reads and writes ---------------===//
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

std::string text(const Dims &x, const Dims &indices, int64_t axis) {
  return shapeText(x) + " indices " + shapeText(indices) + " axis " +
         std::to_string(axis);
}

const ScatterKind kKinds[] = {ScatterKind::set, ScatterKind::sum,
                              ScatterKind::prod, ScatterKind::max,
                              ScatterKind::min};

std::string kindText(ScatterKind kind) {
  return stringifyScatterKind(kind).str() + " ";
}

void addAlongAxis(std::vector<OpCase> &cases) {
  struct Read {
    Dims x, indices;
    int64_t axis;
  };
  for (const Read &c : std::vector<Read>{{{5}, {3}, 0},
                                         {{5}, {}, 0},
                                         {{1}, {1}, 0},
                                         {{5, 3}, {4}, 0},
                                         {{5, 3}, {2, 2}, 0},
                                         {{5, 3}, {4}, 1},
                                         {{5, 3}, {}, 1},
                                         {{2, 5, 3}, {7}, 1},
                                         {{2, 5, 3}, {2, 3}, 2},
                                         {{13, 4}, {17}, 0},
                                         {{5, 3}, {0}, 0}}) {
    int64_t size = c.x[c.axis];
    Operand indices{c.indices, 0, static_cast<double>(size), Element::I64};
    Operand signedIndices{c.indices, static_cast<double>(-size),
                          static_cast<double>(size), Element::I32};
    for (const Operand &operand : {indices, signedIndices})
      cases.push_back({"sinter.gather " + text(c.x, c.indices, c.axis) +
                           (operand.element == Element::I32 ? " negative" : ""),
                       {{c.x}, operand},
                       [axis = c.axis](ValueBuilder &b,
                                       ValueRange x) -> SmallVector<Value> {
                         return {b.make<GatherOp>(x[0], x[1], axis)};
                       }});
    Dims updates(c.x.begin(), c.x.begin() + c.axis);
    updates.insert(updates.end(), c.indices.begin(), c.indices.end());
    updates.insert(updates.end(), c.x.begin() + c.axis + 1, c.x.end());
    for (ScatterKind kind : kKinds)
      cases.push_back(
          {"sinter.scatter " + kindText(kind) + text(c.x, c.indices, c.axis),
           {{c.x}, indices, {updates}},
           [=, axis = c.axis](ValueBuilder &b,
                              ValueRange x) -> SmallVector<Value> {
             return {b.make<ScatterOp>(x[0].getType(), kind, x[0], x[1], x[2],
                                       axis)};
           }});
  }
}

void addElements(std::vector<OpCase> &cases) {
  struct Elements {
    Dims x, indices;
    int64_t axis;
  };
  for (const Elements &c : std::vector<Elements>{{{5}, {3}, 0},
                                                 {{1}, {1}, 0},
                                                 {{5, 3}, {4, 3}, 0},
                                                 {{5, 3}, {5, 7}, 1},
                                                 {{5, 3}, {2, 2}, 1},
                                                 {{2, 5, 3}, {2, 4, 3}, 1},
                                                 {{2, 5, 3}, {1, 2, 6}, 2},
                                                 {{13, 2}, {17, 2}, 0},
                                                 {{5, 3}, {0, 3}, 0},
                                                 {{4, 4}, {4, 1}, 1}}) {
    Operand indices{c.indices, 0, static_cast<double>(c.x[c.axis]),
                    Element::I64};
    cases.push_back(
        {"sinter.gather_elements " + text(c.x, c.indices, c.axis),
         {{c.x}, indices},
         [axis = c.axis](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
           return {b.make<GatherElementsOp>(x[0], x[1], axis)};
         }});
    for (ScatterKind kind : kKinds)
      cases.push_back({"sinter.scatter_elements " + kindText(kind) +
                           text(c.x, c.indices, c.axis),
                       {{c.x}, indices, {c.indices}},
                       [=, axis = c.axis](ValueBuilder &b,
                                          ValueRange x) -> SmallVector<Value> {
                         return {b.make<ScatterElementsOp>(
                             x[0].getType(), kind, x[0], x[1], x[2], axis)};
                       }});
  }
}

/// With most, some and none of the indices out of range.
void addFaults(std::vector<OpCase> &cases) {
  for (Element element : {Element::I64, Element::I32})
    for (const Dims &shape : std::vector<Dims>{
             {}, {1}, {7}, {3, 5}, {2, 3, 4}, {0}, {131}, {40, 77}})
      for (int64_t upper : {2, 90, 100})
        cases.push_back(
            {"sinter.index_fault " + shapeText(shape) +
                 (element == Element::I32 ? " i32" : "") + " below " +
                 std::to_string(upper),
             {{shape, -100, 100, element}},
             [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
               return {b.make<IndexFaultOp>(x[0], -100, upper)};
             }});
}

void addTuples(std::vector<OpCase> &cases) {
  struct Tuples {
    Dims x, indices; // all dimensions that a tuple indexes have the same size
    int64_t batchDims;
  };
  for (const Tuples &c : std::vector<Tuples>{{{5}, {3, 1}, 0},
                                             {{1}, {1, 1}, 0},
                                             {{5, 3}, {4, 1}, 0},
                                             {{3, 3}, {4, 2}, 0},
                                             {{3, 3}, {2}, 0},
                                             {{3, 3, 2}, {2, 2, 2}, 0},
                                             {{3, 3, 3}, {5, 3}, 0},
                                             {{2, 5}, {2, 1}, 1},
                                             {{2, 5, 3}, {2, 4, 1}, 1},
                                             {{2, 3, 5}, {2, 3, 1}, 2},
                                             {{5, 3}, {0, 1}, 0},
                                             {{13, 2}, {17, 1}, 0}}) {
    Operand indices{c.indices, 0, static_cast<double>(c.x[c.batchDims]),
                    Element::I64};
    cases.push_back({"sinter.gather_nd " + shapeText(c.x) + " indices " +
                         shapeText(c.indices) + " batch " +
                         std::to_string(c.batchDims),
                     {{c.x}, indices},
                     [batch = c.batchDims](ValueBuilder &b,
                                           ValueRange x) -> SmallVector<Value> {
                       return {b.make<GatherNdOp>(x[0], x[1], batch)};
                     }});
    if (c.batchDims != 0)
      continue;
    Dims updates(c.indices.begin(), c.indices.end() - 1);
    updates.insert(updates.end(), c.x.begin() + c.indices.back(), c.x.end());
    for (ScatterKind kind : kKinds)
      cases.push_back(
          {"sinter.scatter_nd " + kindText(kind) + shapeText(c.x) +
               " indices " + shapeText(c.indices),
           {{c.x}, indices, {updates}},
           [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             return {
                 b.make<ScatterNdOp>(x[0].getType(), kind, x[0], x[1], x[2])};
           }});
  }
}

} // namespace

void addGatherCases(std::vector<OpCase> &cases) {
  addAlongAxis(cases);
  addElements(cases);
  addFaults(cases);
  addTuples(cases);
}

} // namespace sinter::test
