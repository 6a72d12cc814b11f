//===- OpListNorm.cpp - cases of norms, attention, losses and updates -----===//
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

const std::vector<std::pair<Dims, int64_t>> kAxes = {
    {{5}, 0},       {{1}, 0},          {{3, 5}, 1}, {{3, 5}, 0},
    {{2, 3, 5}, 1}, {{2, 3, 5}, 2},    {{7, 1}, 1}, {{1, 13}, 1},
    {{4, 33}, 1},   {{2, 3, 4, 5}, 1}, {{0, 3}, 1}, {{2, 2, 2, 3}, 3},
    {{3, 331}, 1}};

std::string axisText(const Dims &shape, int64_t axis) {
  return shapeText(shape) + " axis " + std::to_string(axis);
}

llvm::APFloat epsilon() { return llvm::APFloat(1e-3); }

void addSoftmaxes(std::vector<OpCase> &cases) {
  for (const auto &[shape, axis] : kAxes) {
    cases.push_back(
        {"sinter.softmax " + axisText(shape, axis),
         {{shape, -3, 3}},
         [axis = axis](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
           return {b.make<SoftmaxOp>(x[0], static_cast<uint64_t>(axis))};
         }});
    cases.push_back(
        {"sinter.log_softmax " + axisText(shape, axis),
         {{shape, -3, 3}},
         [axis = axis](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
           return {b.make<LogSoftmaxOp>(x[0], static_cast<uint64_t>(axis))};
         }});
    Dims inner(shape.begin() + axis, shape.end());
    for (bool hasBias : {false, true}) {
      std::vector<Operand> operands{{shape}, {inner, 0.5, 1.5}};
      if (hasBias)
        operands.push_back({inner});
      cases.push_back(
          {"sinter.layer_norm " + axisText(shape, axis) +
               (hasBias ? " bias" : ""),
           operands,
           [axis = axis](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             return {
                 b.make<LayerNormOp>(x[0], x[1], x.size() > 2 ? x[2] : Value(),
                                     static_cast<uint64_t>(axis), epsilon())};
           }});
    }
    Dims labels(shape);
    labels.erase(labels.begin() + axis);
    for (int variant = 0; variant < 3; ++variant) {
      const double smoothing = variant == 1 ? 0.1 : 0;
      const char *names[] = {"", " smoothed", " ignore 1"};
      cases.push_back(
          {"sinter.softmax_cross_entropy " + axisText(shape, axis) +
               names[variant],
           {{shape, -3, 3},
            {labels, 0, static_cast<double>(shape[axis]), Element::I64}},
           [=, axis = axis](ValueBuilder &b,
                            ValueRange x) -> SmallVector<Value> {
             IntegerAttr ignored =
                 variant == 2 ? b.b.getI64IntegerAttr(1) : IntegerAttr();
             return {b.make<SoftmaxCrossEntropyOp>(
                 withElement(tensorType(x[1]),
                             tensorType(x[0]).getElementType()),
                 x[0], x[1], b.b.getI64IntegerAttr(axis), ignored,
                 b.b.getF64FloatAttr(smoothing))};
           }});
    }
  }
}

void addBatchNorms(std::vector<OpCase> &cases) {
  for (const Dims &shape : std::vector<Dims>{{2, 3},
                                             {4, 1},
                                             {1, 3, 5},
                                             {2, 3, 5},
                                             {3, 5, 2, 2},
                                             {2, 7, 3, 1},
                                             {5, 2, 4},
                                             {2, 4, 3, 3},
                                             {3, 1, 7},
                                             {2, 6, 2, 2, 2},
                                             {13, 2}}) {
    Operand x{shape}, scale{{shape[1]}, 0.5, 1.5}, shift{{shape[1]}},
        variance{{shape[1]}, 0.3, 2};
    std::string text = shapeText(shape);
    cases.push_back({"sinter.batch_norm " + text,
                     {x, scale, shift, shift, variance},
                     [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                       return {b.make<BatchNormOp>(x[0], x[1], x[2], x[3], x[4],
                                                   epsilon(),
                                                   llvm::APFloat(0.9))};
                     }});
    cases.push_back({"sinter.batch_norm_training " + text,
                     {x, scale, shift},
                     [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                       auto op = b.b.create<BatchNormTrainingOp>(
                           b.loc, x[0], x[1], x[2], epsilon());
                       return llvm::to_vector(ValueRange(op->getResults()));
                     }});
    for (int64_t groups : {int64_t(1), shape[1]})
      cases.push_back(
          {"sinter.group_norm " + text + " groups " + std::to_string(groups),
           {x, scale, shift},
           [groups](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             return {b.make<GroupNormOp>(
                 x[0], x[1], x[2], static_cast<uint64_t>(groups), epsilon())};
           }});
  }
}

void addAttentions(std::vector<OpCase> &cases) {
  struct Shape {
    Dims batch;
    int64_t queries, keys, depth, width;
  };
  for (const Shape &s : std::vector<Shape>{{{1}, 1, 1, 1, 1},
                                           {{2}, 3, 3, 4, 4},
                                           {{2}, 3, 5, 4, 2},
                                           {{2, 3}, 5, 5, 2, 2},
                                           {{1, 2}, 7, 3, 5, 1},
                                           {{2, 3}, 1, 37, 8, 5},
                                           {{2}, 1, 256, 4, 4}}) {
    auto shape = [&](int64_t rows, int64_t columns) {
      Dims dims(s.batch);
      dims.push_back(rows);
      dims.push_back(columns);
      return dims;
    };
    for (int variant = 0; variant < 3; ++variant) {
      bool causal = variant == 2;
      std::vector<Operand> operands{{shape(s.queries, s.depth)},
                                    {shape(s.keys, s.depth)},
                                    {shape(s.keys, s.width)}};
      if (variant == 1)
        operands.push_back({shape(s.queries, s.keys)});
      const char *names[] = {"", " mask", " causal"};
      std::string text = shapeText(operands[0].shape) + " keys " +
                         shapeText(operands[1].shape) + names[variant];
      auto attention = [=](ValueBuilder &b, ValueRange x, Value mask) {
        return b.b.create<AttentionOp>(b.loc, x[0], x[1], x[2], mask, 0.6,
                                       causal);
      };
      cases.push_back(
          {"sinter.attention " + text, operands,
           [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             return {
                 attention(b, x, x.size() > 3 ? x[3] : Value()).getOutput()};
           }});
      operands.push_back({shape(s.queries, s.width)});
      cases.push_back(
          {"sinter.attention_grad " + text, operands,
           [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             Value mask = x.size() > 4 ? x[3] : Value();
             AttentionOp of = attention(b, x, mask);
             SmallVector<Type> types(x.drop_back().getTypes());
             auto grad = b.b.create<AttentionGradOp>(
                 b.loc, types, x[0], x[1], x[2], of.getOutput(), of.getStats(),
                 x.back(), mask, of.getScaleAttr(), of.getCausalAttr());
             return llvm::to_vector(ValueRange(grad->getResults()));
           }});
    }
  }
}

Value f32Scalar(ValueBuilder &b, double value) {
  return b.splat(RankedTensorType::get({}, b.b.getF32Type()), value);
}

/// LAMB, Lion, Adagrad and RMSprop on tensors of `shape`; RMSprop also with a
/// velocity, LAMB also on gradients of 0.
void addFurtherUpdates(std::vector<OpCase> &cases, const Dims &shape,
                       bool second) {
  std::string text = shapeText(shape);
  auto number = [](ValueBuilder &b, double value) {
    return b.b.getF64FloatAttr(value);
  };
  auto results = [](Operation *op) -> SmallVector<Value> {
    return llvm::to_vector(ValueRange(op->getResults()));
  };
  Operand state{shape, 0, 1};
  cases.push_back({"sinter.lamb_update " + text + (second ? " at rest" : ""),
                   {{shape},
                    second ? Operand{shape, 0, 0} : Operand{shape},
                    {shape},
                    state},
                   [=](ValueBuilder &b, ValueRange x) {
                     return results(b.b.create<LambUpdateOp>(
                         b.loc, x[0], x[1], x[2], x[3], f32Scalar(b, 0.1),
                         f32Scalar(b, 0.01), f32Scalar(b, 3), number(b, 0.9),
                         number(b, 0.999), number(b, 1e-6)));
                   }});
  cases.push_back(
      {"sinter.rmsprop_update " + text + (second ? " momentum" : ""),
       {{shape}, {shape}, state, {shape}},
       [=](ValueBuilder &b, ValueRange x) {
         Type type = x[0].getType();
         return results(b.b.create<RmspropUpdateOp>(
             b.loc, type, type, second ? type : Type(), x[0], x[1], x[2],
             f32Scalar(b, 0.1), f32Scalar(b, 0.01), second ? x[3] : Value(),
             number(b, 0.99), number(b, 1e-8), number(b, second ? 0.9 : 0)));
       }});
  if (second)
    return;
  cases.push_back({"sinter.lion_update " + text,
                   {{shape}, {shape}, {shape}},
                   [=](ValueBuilder &b, ValueRange x) {
                     return results(b.b.create<LionUpdateOp>(
                         b.loc, x[0], x[1], x[2], f32Scalar(b, 0.1),
                         f32Scalar(b, 0.01), number(b, 0.9), number(b, 0.99)));
                   }});
  cases.push_back({"sinter.adagrad_update " + text,
                   {{shape}, {shape}, state},
                   [=](ValueBuilder &b, ValueRange x) {
                     return results(b.b.create<AdagradUpdateOp>(
                         b.loc, x[0], x[1], x[2], f32Scalar(b, 0.1),
                         f32Scalar(b, 0.01), number(b, 1e-10)));
                   }});
}

/// Muon, whose iteration is of the smaller side.
void addMuonUpdates(std::vector<OpCase> &cases) {
  for (const Dims &shape : std::vector<Dims>{{3, 5}, {13, 7}, {1, 1}, {8, 8}})
    for (bool nesterov : {false, true})
      cases.push_back(
          {"sinter.muon_update " + shapeText(shape) +
               (nesterov ? " nesterov" : ""),
           {{shape}, {shape}, {shape}},
           [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             auto op = b.b.create<MuonUpdateOp>(
                 b.loc, x[0], x[1], x[2], f32Scalar(b, 0.1), f32Scalar(b, 0.01),
                 b.b.getF64FloatAttr(0.9),
                 nesterov ? b.b.getUnitAttr() : UnitAttr(),
                 b.b.getF64FloatAttr(1e-7), b.b.getI64IntegerAttr(5));
             return llvm::to_vector(ValueRange(op->getResults()));
           }});
}

void addUpdates(std::vector<OpCase> &cases) {
  addMuonUpdates(cases);
  for (const Dims &shape :
       std::vector<Dims>{{5}, {1}, {3, 5}, {}, {0}, {13, 7}})
    for (int variant = 0; variant < 3; ++variant) {
      std::string text = shapeText(shape);
      bool hasVelocity = variant > 0;
      std::vector<Operand> operands(hasVelocity ? 3 : 2, Operand{shape});
      const char *names[] = {"", " momentum", " nesterov"};
      cases.push_back(
          {"sinter.sgd_update " + text + names[variant], operands,
           [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             auto op = b.b.create<SgdUpdateOp>(
                 b.loc, x[0].getType(), hasVelocity ? x[0].getType() : Type(),
                 x[0], x[1], f32Scalar(b, 0.1), f32Scalar(b, 0.01),
                 hasVelocity ? x[2] : Value(),
                 b.b.getF64FloatAttr(hasVelocity ? 0.9 : 0),
                 variant == 2 ? b.b.getUnitAttr() : UnitAttr());
             return llvm::to_vector(ValueRange(op->getResults()));
           }});
      if (variant == 2)
        continue;
      cases.push_back(
          {"sinter.adam_update " + text + (variant == 1 ? " decoupled" : ""),
           {{shape}, {shape}, {shape}, {shape, 0, 1}},
           [=](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
             auto op = b.b.create<AdamUpdateOp>(
                 b.loc, x[0], x[1], x[2], x[3], f32Scalar(b, 0.1),
                 f32Scalar(b, 0.01), f32Scalar(b, 3), b.b.getF64FloatAttr(0.9),
                 b.b.getF64FloatAttr(0.999), b.b.getF64FloatAttr(1e-8),
                 variant == 1 ? b.b.getUnitAttr() : UnitAttr());
             return llvm::to_vector(ValueRange(op->getResults()));
           }});
      addFurtherUpdates(cases, shape, variant == 1);
    }
}

void addDropouts(std::vector<OpCase> &cases) {
  for (const Dims &shape : std::vector<Dims>{{5},
                                             {1},
                                             {},
                                             {0},
                                             {3, 5},
                                             {13, 7},
                                             {2, 3, 5},
                                             {1, 17},
                                             {64},
                                             {2, 2, 2, 3},
                                             {33}})
    cases.push_back({"sinter.dropout " + shapeText(shape),
                     {{shape}},
                     [](ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
                       Value seed = scalarI64(b.b, b.loc, 5),
                             step = scalarI64(b.b, b.loc, 7);
                       return {b.make<DropoutOp>(x[0], seed, step, Value(),
                                                 b.b.getF64FloatAttr(0.4),
                                                 b.b.getI64IntegerAttr(3))};
                     }});
}

} // namespace

void addNormCases(std::vector<OpCase> &cases) {
  addSoftmaxes(cases);
  addBatchNorms(cases);
  addAttentions(cases);
  addUpdates(cases);
  addDropouts(cases);
}

} // namespace sinter::test
