//===- OpListLinear.cpp - cases of contractions and convolutions ----------===//
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

struct Dot {
  Dims lhs, rhs, lhsBatch, rhsBatch, lhsContract, rhsContract;
};

const std::vector<Dot> kDots = {
    {{3, 5}, {5, 7}, {}, {}, {1}, {0}},
    {{3, 5}, {7, 5}, {}, {}, {1}, {1}},
    {{5, 3}, {5, 7}, {}, {}, {0}, {0}},
    {{5, 3}, {7, 5}, {}, {}, {0}, {1}},
    {{1, 1}, {1, 1}, {}, {}, {1}, {0}},
    {{0, 5}, {5, 7}, {}, {}, {1}, {0}},
    {{3, 0}, {0, 7}, {}, {}, {1}, {0}},
    {{5}, {5}, {}, {}, {0}, {0}},
    {{3}, {5}, {}, {}, {}, {}},
    {{5}, {5, 3}, {}, {}, {0}, {0}},
    {{2, 3, 5}, {2, 5, 7}, {0}, {0}, {2}, {1}},
    {{2, 3, 5}, {2, 7, 5}, {0}, {0}, {2}, {2}},
    {{3, 2, 5}, {5, 2, 7}, {1}, {1}, {2}, {0}},
    {{2, 3, 4, 5}, {3, 2, 5, 7}, {1, 0}, {0, 1}, {3}, {2}},
    {{2, 3, 4}, {4, 3, 5}, {}, {}, {2, 1}, {0, 1}},
    {{2, 3, 4}, {3, 4, 5}, {}, {}, {1, 2}, {0, 1}},
    {{2, 3, 4}, {5, 4, 3}, {}, {}, {1, 2}, {2, 1}},
    {{17, 33}, {33, 13}, {}, {}, {1}, {0}},
    {{257, 131}, {131, 65}, {}, {}, {1}, {0}},
    // A vector and a matrix: on GPUs a mapping of their own.
    {{1, 96}, {96, 40}, {}, {}, {1}, {0}},
    {{1, 101}, {101, 37}, {}, {}, {1}, {0}},
    {{1, 96}, {40, 96}, {}, {}, {1}, {1}},
    {{1, 101}, {37, 101}, {}, {}, {1}, {1}},
    {{40, 96}, {96}, {}, {}, {1}, {0}},
    {{96, 40}, {96}, {}, {}, {0}, {0}},
    {{1, 1600}, {1600, 24}, {}, {}, {1}, {0}},
    {{1, 1600}, {5, 1600}, {}, {}, {1}, {1}},
    {{1, 6}, {6, 3000}, {}, {}, {1}, {0}},
    {{3, 1, 24}, {3, 200, 24}, {0}, {0}, {2}, {2}},
    {{24, 3}, {3, 200, 24}, {1}, {0}, {0}, {2}},
    {{24, 3}, {3, 24, 200}, {1}, {0}, {0}, {1}},
    {{3, 1, 200}, {3, 200, 24}, {0}, {0}, {2}, {1}},
    {{2, 3, 1, 7}, {2, 3, 7, 9}, {0, 1}, {0, 1}, {3}, {2}},
};

std::string listText(const Dims &dims) {
  return dims.empty() ? "-" : shapeText(dims);
}

void addDots(std::vector<OpCase> &cases) {
  for (const Dot &dot : kDots) {
    std::string name = "sinter.dot_general " + shapeText(dot.lhs) + " " +
                       shapeText(dot.rhs) + " contract " +
                       listText(dot.lhsContract) + " " +
                       listText(dot.rhsContract);
    if (!dot.lhsBatch.empty())
      name += " batch " + listText(dot.lhsBatch) + " " + listText(dot.rhsBatch);
    cases.push_back(
        {name,
         {{dot.lhs}, {dot.rhs}},
         [dot](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
           return {b.make<DotGeneralOp>(x[0], x[1], dot.lhsBatch, dot.rhsBatch,
                                        dot.lhsContract, dot.rhsContract)};
         }});
  }
}

struct Conv {
  Dims input, filter, strides, dilations, padsLow, padsHigh;
  int64_t groups = 1;
  bool channelsLast = false;
};

const std::vector<Conv> kConvs = {
    {{2, 3, 5}, {4, 3, 3}, {1}, {1}, {0}, {0}},
    {{1, 1, 1}, {1, 1, 1}, {1}, {1}, {0}, {0}},
    {{2, 3, 7}, {4, 3, 3}, {2}, {1}, {1}, {0}},
    {{2, 3, 8}, {5, 3, 2}, {3}, {2}, {1}, {2}},
    {{2, 3, 5, 6}, {4, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {{1, 2, 7, 5}, {3, 2, 3, 2}, {2, 1}, {1, 2}, {0, 1}, {2, 0}},
    {{2, 4, 5, 5}, {6, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {{2, 4, 5, 5}, {4, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 4},
    {{2, 3, 4, 4}, {5, 3, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {{2, 3, 5, 5}, {5, 3, 1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {{1, 2, 3, 4, 3},
     {3, 2, 2, 2, 2},
     {1, 2, 1},
     {1, 1, 1},
     {0, 1, 0},
     {1, 0, 1}},
    {{0, 3, 5}, {4, 3, 3}, {1}, {1}, {0}, {0}},
    {{2, 16, 17, 19}, {24, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {{2, 5, 6, 3}, {4, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, true},
    {{2, 5, 5, 4}, {6, 2, 3, 3}, {2, 1}, {1, 1}, {1, 1}, {0, 1}, 2, true},
    {{1, 2, 3, 2}, {1, 2, 2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, true},
};

/// The result's shape of the convolution.
Dims outputShape(const Conv &conv) {
  size_t rank = conv.input.size(), first = conv.channelsLast ? 1 : 2;
  Dims shape(rank, conv.input[0]);
  shape[conv.channelsLast ? rank - 1 : 1] = conv.filter[0];
  for (size_t i = 0; i + 2 < rank; ++i) {
    int64_t padded = conv.input[first + i] + conv.padsLow[i] + conv.padsHigh[i];
    int64_t kernel = (conv.filter[2 + i] - 1) * conv.dilations[i] + 1;
    shape[first + i] = (padded - kernel) / conv.strides[i] + 1;
  }
  return shape;
}

template <class OpTy>
void addConv(std::vector<OpCase> &cases, const Conv &conv, const Dims &first,
             const Dims &second, const Dims &result) {
  std::string name =
      OpTy::getOperationName().str() + " " + shapeText(first) + " " +
      shapeText(second) + " strides " + listText(conv.strides) + " dilations " +
      listText(conv.dilations) + " pads " + listText(conv.padsLow) + " " +
      listText(conv.padsHigh) + " groups " + std::to_string(conv.groups);
  if (conv.channelsLast)
    name += " channels last";
  cases.push_back(
      {name,
       {{first}, {second}},
       [conv, result](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
         return {b.make<OpTy>(withShape(tensorType(x[0]), result), x[0], x[1],
                              conv.strides, conv.dilations, conv.padsLow,
                              conv.padsHigh, conv.groups, conv.channelsLast)};
       }});
}

} // namespace

void addLinearCases(std::vector<OpCase> &cases) {
  addDots(cases);
  for (const Conv &conv : kConvs) {
    Dims output = outputShape(conv);
    addConv<ConvOp>(cases, conv, conv.input, conv.filter, output);
    addConv<ConvInputGradOp>(cases, conv, output, conv.filter, conv.input);
    addConv<ConvFilterGradOp>(cases, conv, conv.input, output, conv.filter);
  }
}

} // namespace sinter::test
