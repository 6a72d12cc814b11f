//===- OpListElementwise.cpp - cases of the elementwise ops ---------------===//
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

const std::vector<std::vector<int64_t>> kShapes = {
    {},     {1},    {2}, {3},    {7},       {13},      {1, 1},
    {2, 3}, {5, 7}, {0}, {3, 0}, {2, 3, 5}, {1, 17, 1}};

template <class OpTy>
void addUnary(std::vector<OpCase> &cases, double low, double high,
              Element element = Element::Float) {
  for (const auto &shape : kShapes)
    cases.push_back({OpTy::getOperationName().str() + " " + shapeText(shape),
                     {{shape, low, high, element}},
                     [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                       return {b.make<OpTy>(x[0])};
                     }});
}

template <class OpTy>
void addBinary(std::vector<OpCase> &cases, Operand left, Operand right) {
  for (const auto &shape : kShapes) {
    left.shape = right.shape = shape;
    cases.push_back({OpTy::getOperationName().str() + " " + shapeText(shape),
                     {left, right},
                     [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                       return {b.make<OpTy>(x[0], x[1])};
                     }});
  }
}

void addUnaryCases(std::vector<OpCase> &cases) {
  addUnary<AbsOp>(cases, -2, 2);
  addUnary<AbsOp>(cases, -128, 128, Element::I8);
  addUnary<NegOp>(cases, -2, 2);
  addUnary<NegOp>(cases, -128, 128, Element::I8);
  addUnary<SignOp>(cases, -2, 2);
  addUnary<ExpOp>(cases, -3, 3);
  addUnary<Expm1Op>(cases, -2, 2);
  addUnary<LogOp>(cases, 0.1, 4);
  addUnary<Log1pOp>(cases, -0.8, 4);
  addUnary<SqrtOp>(cases, 0.1, 4);
  addUnary<RsqrtOp>(cases, 0.1, 4);
  addUnary<TanhOp>(cases, -3, 3);
  addUnary<SigmoidOp>(cases, -4, 4);
  addUnary<ErfOp>(cases, -2, 2);
  addUnary<SinOp>(cases, -6, 6);
  addUnary<CosOp>(cases, -6, 6);
  addUnary<TanOp>(cases, -1.2, 1.2);
  addUnary<AsinOp>(cases, -0.9, 0.9);
  addUnary<AcosOp>(cases, -0.9, 0.9);
  addUnary<AtanOp>(cases, -3, 3);
  addUnary<SinhOp>(cases, -2, 2);
  addUnary<CoshOp>(cases, -2, 2);
  addUnary<AsinhOp>(cases, -3, 3);
  addUnary<AcoshOp>(cases, 1.2, 4);
  addUnary<AtanhOp>(cases, -0.9, 0.9);
  addUnary<FloorOp>(cases, -4, 4);
  addUnary<CeilOp>(cases, -4, 4);
  addUnary<RoundOp>(cases, -4, 4);
  addUnary<ReluOp>(cases, -2, 2);
  addUnary<ReluOp>(cases, -9, 9, Element::I32);
  addUnary<NotOp>(cases, 0, 2, Element::I1);
  addUnary<BitNotOp>(cases, -100, 100, Element::I32);
  addUnary<StopGradientOp>(cases, -2, 2);
  addUnary<IsNanOp>(cases, -2, 2);
  for (auto form : {GeluForm::erf, GeluForm::tanh})
    for (const auto &shape : kShapes)
      cases.push_back(
          {"sinter.gelu " + stringifyGeluForm(form).str() + " " +
               shapeText(shape),
           {{shape, -3, 3}},
           [form](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             return {b.make<GeluOp>(x[0], form)};
           }});
  // The second derivative is zero at +-1.4: with few elements, all could be
  // where only the rounding errors of its terms are left.
  for (auto form : {GeluForm::erf, GeluForm::tanh})
    for (const auto &shape : kShapes) {
      double reach = ShapedType::getNumElements(shape) < 8 ? 1 : 3;
      cases.push_back(
          {"sinter.gelu_grad " + stringifyGeluForm(form).str() + " " +
               shapeText(shape),
           {{shape, -2, 2}, {shape, -reach, reach}},
           [form](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             return {b.make<GeluGradOp>(x[0], x[1], form)};
           }});
    }
}

void addBinaryCases(std::vector<OpCase> &cases) {
  Operand real, positive{{}, 0.3, 2}, byte{{}, -100, 100, Element::I8};
  Operand integer{{}, -1000, 1000, Element::I32},
      unsignedByte{{}, 0, 256, Element::UI8};
  Operand shift{{}, 0, 40, Element::I32}, truth{{}, 0, 2, Element::I1};
  addBinary<AddOp>(cases, real, real);
  addBinary<AddOp>(cases, byte, byte);
  addBinary<SubOp>(cases, real, real);
  addBinary<SubOp>(cases, unsignedByte, unsignedByte);
  addBinary<MulOp>(cases, real, real);
  addBinary<MulOp>(cases, byte, byte);
  addBinary<DivOp>(cases, real, positive);
  addBinary<DivOp>(cases, integer, Operand{{}, -3, 4, Element::I32});
  addBinary<PowOp>(cases, positive, real);
  addBinary<MaxOp>(cases, real, real);
  addBinary<MaxOp>(cases, integer, integer);
  addBinary<MinOp>(cases, real, real);
  addBinary<MinOp>(cases, unsignedByte, unsignedByte);
  addBinary<ModOp>(cases, real, positive);
  addBinary<ModOp>(cases, integer, Operand{{}, -7, 8, Element::I32});
  addBinary<RemOp>(cases, real, positive);
  addBinary<RemOp>(cases, integer, Operand{{}, -7, 8, Element::I32});
  addBinary<AndOp>(cases, integer, integer);
  addBinary<AndOp>(cases, truth, truth);
  addBinary<OrOp>(cases, integer, integer);
  addBinary<XorOp>(cases, integer, integer);
  addBinary<ShiftLeftOp>(cases, integer, shift);
  addBinary<ShiftRightOp>(cases, integer, shift);
}

void addCompareCases(std::vector<OpCase> &cases) {
  for (auto kind : {CompareKind::eq, CompareKind::ne, CompareKind::lt,
                    CompareKind::le, CompareKind::gt, CompareKind::ge})
    for (Operand operand :
         {Operand{{5, 7}}, Operand{{5, 7}, 0, 4, Element::I64}})
      cases.push_back(
          {"sinter.compare " + stringifyCompareKind(kind).str() +
               (operand.element == Element::Float ? " float" : " integer"),
           {operand, operand},
           [kind](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             return {b.compare(kind, x[0], x[1])};
           }});
  for (const auto &shape : kShapes) {
    cases.push_back({"sinter.where " + shapeText(shape),
                     {{shape, 0, 2, Element::I1}, {shape}, {shape}},
                     [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                       return {b.where(x[0], x[1], x[2])};
                     }});
    cases.push_back({"sinter.cast " + shapeText(shape) + " to its own type",
                     {{shape}},
                     [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                       return {b.make<CastOp>(x[0].getType(), x[0])};
                     }});
    cases.push_back({"sinter.cast " + shapeText(shape) + " to f16",
                     {{shape}},
                     [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                       return {b.cast(x[0], b.b.getF16Type())};
                     }});
    cases.push_back({"sinter.cast " + shapeText(shape) + " to i32",
                     {{shape, -50, 50}},
                     [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                       return {b.cast(x[0], b.b.getI32Type())};
                     }});
  }
}

/// More than one tile of work, with an end that fills no vector.
void addLargeCases(std::vector<OpCase> &cases) {
  const std::vector<int64_t> large = {301, 257};
  cases.push_back({"sinter.add " + shapeText(large),
                   {{large}, {large}},
                   [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                     return {b.add(x[0], x[1])};
                   }});
  cases.push_back({"sinter.exp " + shapeText(large),
                   {{large}},
                   [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                     return {b.exp(x[0])};
                   }});
  cases.push_back({"sinter.where " + shapeText(large),
                   {{large, 0, 2, Element::I1}, {large}, {large}},
                   [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                     return {b.where(x[0], x[1], x[2])};
                   }});
}

} // namespace

void addElementwiseCases(std::vector<OpCase> &cases) {
  addLargeCases(cases);
  addUnaryCases(cases);
  addBinaryCases(cases);
  addCompareCases(cases);
}

} // namespace sinter::test
