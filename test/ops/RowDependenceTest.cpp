//===- RowDependenceTest.cpp - which rows values read ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/RowDependence.h"
#include "test/ops/OpFixture.h"

#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <map>
#include <set>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::RowDim;
using ir::Tensor;
using passes::RowDependence;

namespace {

func::FuncOp mainOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("main");
}

void setInput(func::FuncOp main, unsigned argument) {
  main.setArgAttr(
      argument, ir::SinterDialect::kInputAttr,
      StringAttr::get(main.getContext(), "x" + std::to_string(argument)));
}

/// How %y, which `body` computes, depends on the rows of x, a tensor<4x6xf32>
/// of 4 rows: "mixes", "none", "dim 1", or "dim 0 x3" with three elements a
/// row.
std::string outcomeOf(TestContext &context, const std::string &body) {
  std::string text =
      "func.func @main(%x: tensor<4x6xf32> {sinter.input = \"x\"},"
      " %t: tensor<4xi64> {sinter.input = \"t\"},"
      " %w: tensor<6x4xf32>, %k: tensor<6xi64>, %s: tensor<f32>,"
      " %c: tensor<6xf32>) {\n" +
      body + "\nreturn }";
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, context.get());
  INFO(text);
  INFO(context.takeDiagnostics());
  REQUIRE(module);
  func::FuncOp main = mainOf(*module);
  Operation *last = main.getBody().front().getTerminator()->getPrevNode();
  RowDependence rows(main, 4);
  std::string result;
  for (Value value : last->getResults()) {
    std::optional<RowDim> dim = rows.dimOf(value);
    CHECK(!(dim && rows.mixedBy(value)));
    CHECK(rows.isSame(value) == (!dim && !rows.mixedBy(value)));
    if (!result.empty())
      result += ", ";
    if (!dim)
      result += rows.mixedBy(value) ? "mixes" : "none";
    else
      result += "dim " + std::to_string(dim->dim) +
                (dim->inner > 1 ? " x" + std::to_string(dim->inner) : "") +
                (dim->outer > 1 ? " of " + std::to_string(dim->outer) : "");
  }
  return result;
}

} // namespace

TEST_CASE("rows are followed through ops, or are mixed") {
  TestContext context;
  const std::pair<const char *, const char *> cases[] = {
      {"%y = sinter.exp %x : tensor<4x6xf32>", "dim 0"},
      {"%y = sinter.exp %w : tensor<6x4xf32>", "none"},
      // Contractions.
      {"%y = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] :"
       " (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>",
       "dim 0"},
      {"%y = sinter.dot_general %w, %x batch [] x [] contract [0] x [1] :"
       " (tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>",
       "dim 1"},
      {"%y = sinter.dot_general %x, %w batch [] x [] contract [0] x [1] :"
       " (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<6x6xf32>",
       "mixes"},
      {"%y = sinter.dot_general %x, %x batch [] x [] contract [1] x [1] :"
       " (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>",
       "mixes"},
      {"%y = sinter.dot_general %x, %x batch [0] x [0] contract [1] x [1] :"
       " (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4xf32>",
       "dim 0"},
      // In-batch negatives: scores of every pair, then a softmax over them.
      {"%z = sinter.transpose %x perm [1, 0] : (tensor<4x6xf32>) -> "
       "tensor<6x4xf32>\n"
       "%p = sinter.dot_general %x, %z batch [] x [] contract [1] x [0] :"
       " (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>\n"
       "%y = sinter.softmax %p {axis = 1 : i64} : tensor<4x4xf32>",
       "mixes"},
      // Along an axis.
      {"%y = sinter.softmax %x {axis = 1 : i64} : tensor<4x6xf32>", "dim 0"},
      {"%y = sinter.softmax %x {axis = 0 : i64} : tensor<4x6xf32>", "mixes"},
      {"%y = sinter.cumulative sum %x {axis = 0 : i64} : tensor<4x6xf32>",
       "mixes"},
      {"%y = sinter.cumulative sum %x {axis = 1 : i64} : tensor<4x6xf32>",
       "dim 0"},
      {"%y, %i = sinter.top_k %x {axis = 0 : i64, k = 4 : i64, largest} :"
       " (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xi64>)",
       "mixes, mixes"},
      {"%y, %i = sinter.top_k %x {axis = 1 : i64, k = 2 : i64, largest} :"
       " (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)",
       "dim 0, dim 0"},
      {"%y = sinter.arg_reduce max %x {axis = 0 : i64} : (tensor<4x6xf32>) ->"
       " tensor<6xi64>",
       "mixes"},
      {"%y = sinter.reduce sum %x dims [0] : (tensor<4x6xf32>) -> "
       "tensor<6xf32>",
       "mixes"},
      {"%y = sinter.reduce max %x dims [1] : (tensor<4x6xf32>) -> "
       "tensor<4xf32>",
       "dim 0"},
      {"%y = sinter.reverse %x dims [0] : tensor<4x6xf32>", "mixes"},
      {"%y = sinter.softmax_cross_entropy %x, %t {axis = 1 : i64,"
       " label_smoothing = 0.0 : f64} : (tensor<4x6xf32>, tensor<4xi64>) ->"
       " tensor<4xf32>",
       "dim 0"},
      // Trips over another dimension keep rows apart, those over rows do not.
      {R"(%z = sinter.transpose %x perm [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
          %h = sinter.constant dense<0.0> : tensor<4xf32>
          %y:3 = sinter.scan trips 6 stacks(%z, %w) initial(%h, %h) whole()
              : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>)
                -> (tensor<4xf32>, tensor<4xf32>, tensor<6x4xf32>) {
          ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %p: tensor<4xf32>, %q: tensor<4xf32>):
            %n = sinter.add %p, %a : tensor<4xf32>
            %m = sinter.add %q, %b : tensor<4xf32>
            sinter.yield %n, %m, %n : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
          })",
       "dim 0, none, dim 1"},
      {R"(%y:2 = sinter.scan trips 4 stacks(%x) initial(%c) whole()
              : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<6xf32>, tensor<4x6xf32>) {
          ^bb0(%a: tensor<6xf32>, %p: tensor<6xf32>):
            %n = sinter.add %p, %a : tensor<6xf32>
            sinter.yield %n, %p : tensor<6xf32>, tensor<6xf32>
          })",
       "mixes, mixes"},
      // Normalisations.
      {"%y, %m, %v = sinter.batch_norm_training %x, %c, %c {epsilon = 0.1 : "
       "f64} : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) ->"
       " (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>)",
       "mixes, mixes, mixes"},
      {"%y = sinter.batch_norm %x, %c, %c, %c, %c {epsilon = 0.1 : f64} :"
       " (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>,"
       " tensor<6xf32>) -> tensor<4x6xf32>",
       "dim 0"},
      {"%y = sinter.layer_norm %x, %c, %c {axis = 1 : i64, epsilon = 0.1 : "
       "f64} : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> "
       "tensor<4x6xf32>",
       "dim 0"},
      // One row each, joined again: in order, or not; a slice of two rows.
      {"%s0 = sinter.slice %x starts [0, 0] limits [1, 6] strides [1, 1] : "
       "(tensor<4x6xf32>) -> tensor<1x6xf32>\n"
       "%r0 = sinter.reverse %s0 dims [0] : tensor<1x6xf32>\n"
       "%s1 = sinter.slice %x starts [1, 0] limits [2, 6] strides [1, 1] : "
       "(tensor<4x6xf32>) -> tensor<1x6xf32>\n"
       "%r1 = sinter.reverse %s1 dims [0] : tensor<1x6xf32>\n"
       "%s2 = sinter.slice %x starts [2, 0] limits [3, 6] strides [1, 1] : "
       "(tensor<4x6xf32>) -> tensor<1x6xf32>\n"
       "%r2 = sinter.reverse %s2 dims [0] : tensor<1x6xf32>\n"
       "%s3 = sinter.slice %x starts [3, 0] limits [4, 6] strides [1, 1] : "
       "(tensor<4x6xf32>) -> tensor<1x6xf32>\n"
       "%r3 = sinter.reverse %s3 dims [0] : tensor<1x6xf32>\n"
       "%y = sinter.concat %r0, %r1, %r2, %r3 axis 0 : (tensor<1x6xf32>, "
       "tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>",
       "dim 0"},
      {"%s0 = sinter.slice %x starts [0, 0] limits [1, 6] strides [1, 1] : "
       "(tensor<4x6xf32>) -> tensor<1x6xf32>\n"
       "%r0 = sinter.reverse %s0 dims [0] : tensor<1x6xf32>\n"
       "%s1 = sinter.slice %x starts [1, 0] limits [2, 6] strides [1, 1] : "
       "(tensor<4x6xf32>) -> tensor<1x6xf32>\n"
       "%r1 = sinter.reverse %s1 dims [0] : tensor<1x6xf32>\n"
       "%s2 = sinter.slice %x starts [2, 0] limits [3, 6] strides [1, 1] : "
       "(tensor<4x6xf32>) -> tensor<1x6xf32>\n"
       "%r2 = sinter.reverse %s2 dims [0] : tensor<1x6xf32>\n"
       "%s3 = sinter.slice %x starts [3, 0] limits [4, 6] strides [1, 1] : "
       "(tensor<4x6xf32>) -> tensor<1x6xf32>\n"
       "%r3 = sinter.reverse %s3 dims [0] : tensor<1x6xf32>\n"
       "%y = sinter.concat %r0, %r2, %r1, %r3 axis 0 : (tensor<1x6xf32>, "
       "tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>",
       "mixes"},
      {"%y = sinter.slice %x starts [1, 0] limits [3, 6] strides [1, 1] : "
       "(tensor<4x6xf32>) -> tensor<2x6xf32>",
       "mixes"},
      {"%f = sinter.reshape %x : tensor<4x6xf32> -> tensor<24xf32>\n"
       "%s0 = sinter.slice %f starts [0] limits [5] strides [2] : "
       "(tensor<24xf32>) -> tensor<3xf32>\n"
       "%s1 = sinter.slice %f starts [6] limits [9] strides [1] : "
       "(tensor<24xf32>) -> tensor<3xf32>\n"
       "%s2 = sinter.slice %f starts [12] limits [15] strides [1] : "
       "(tensor<24xf32>) -> tensor<3xf32>\n"
       "%s3 = sinter.slice %f starts [21] limits [24] strides [1] : "
       "(tensor<24xf32>) -> tensor<3xf32>\n"
       "%y = sinter.concat %s0, %s1, %s2, %s3 axis 0 : (tensor<3xf32>, "
       "tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<12xf32>",
       "dim 0 x3"},
      {"%f = sinter.reshape %x : tensor<4x6xf32> -> tensor<24xf32>\n"
       "%s0 = sinter.slice %f starts [0] limits [5] strides [2] : "
       "(tensor<24xf32>) -> tensor<3xf32>\n"
       "%s1 = sinter.slice %f starts [5] limits [8] strides [1] : "
       "(tensor<24xf32>) -> tensor<3xf32>\n"
       "%y = sinter.add %s0, %s1 : tensor<3xf32>",
       "mixes"},
      // Of one row nothing else is computed than of the row.
      {"%u = sinter.slice %x starts [2, 0] limits [3, 6] strides [1, 1] : "
       "(tensor<4x6xf32>) -> tensor<1x6xf32>\n"
       "%y = sinter.reduce sum %u dims [0, 1] : (tensor<1x6xf32>) -> "
       "tensor<f32>",
       "mixes"},
      // Shapes: merged, split again, moved, merged the other way round.
      {"%y = sinter.reshape %x : tensor<4x6xf32> -> tensor<24xf32>",
       "dim 0 x6"},
      {"%y = sinter.reshape %x : tensor<4x6xf32> -> tensor<1x8x3xf32>",
       "dim 1 x2"},
      {"%y = sinter.reshape %x : tensor<4x6xf32> -> tensor<2x12xf32>", "mixes"},
      {"%z = sinter.reshape %x : tensor<4x6xf32> -> tensor<24x1xf32>\n"
       "%y = sinter.reshape %z : tensor<24x1xf32> -> tensor<4x2x3xf32>",
       "dim 0"},
      {"%z = sinter.transpose %x perm [1, 0] : (tensor<4x6xf32>) -> "
       "tensor<6x4xf32>\n"
       "%y = sinter.reshape %z : tensor<6x4xf32> -> tensor<24xf32>",
       "dim 0 of 6"},
      {"%z = sinter.transpose %x perm [1, 0] : (tensor<4x6xf32>) -> "
       "tensor<6x4xf32>\n"
       "%r = sinter.reshape %z : tensor<6x4xf32> -> tensor<24xf32>\n"
       "%y = sinter.reshape %r : tensor<24xf32> -> tensor<6x4xf32>",
       "dim 1"},
      {"%z = sinter.transpose %x perm [1, 0] : (tensor<4x6xf32>) -> "
       "tensor<6x4xf32>\n"
       "%r = sinter.reshape %z : tensor<6x4xf32> -> tensor<4x6xf32>\n"
       "%y = sinter.add %r, %x : tensor<4x6xf32>",
       "mixes"},
      {"%y = sinter.slice %x starts [0, 2] limits [4, 4] strides [1, 1] :"
       " (tensor<4x6xf32>) -> tensor<4x2xf32>",
       "dim 0"},
      {"%y = sinter.slice %x starts [0, 0] limits [2, 6] strides [1, 1] :"
       " (tensor<4x6xf32>) -> tensor<2x6xf32>",
       "mixes"},
      {"%y = sinter.pad %x, %s low [0, 1] high [0, 0] interior [0, 0] :"
       " (tensor<4x6xf32>, tensor<f32>) -> tensor<4x7xf32>",
       "dim 0"},
      {"%y = sinter.pad %x, %s low [0, 0] high [1, 0] interior [0, 0] :"
       " (tensor<4x6xf32>, tensor<f32>) -> tensor<5x6xf32>",
       "mixes"},
      {"%y = sinter.concat %x, %x axis 1 : (tensor<4x6xf32>, "
       "tensor<4x6xf32>) -> tensor<4x12xf32>",
       "dim 0"},
      {"%y = sinter.concat %x, %x axis 0 : (tensor<4x6xf32>, "
       "tensor<4x6xf32>) -> tensor<8x6xf32>",
       "mixes"},
      // Indices.
      {"%y = sinter.gather %w, %t axis 0 : (tensor<6x4xf32>, tensor<4xi64>) ->"
       " tensor<4x4xf32>",
       "dim 0"},
      {"%y = sinter.gather %w, %t axis 1 : (tensor<6x4xf32>, tensor<4xi64>) ->"
       " tensor<6x4xf32>",
       "dim 1"},
      {"%y = sinter.gather %x, %t axis 0 : (tensor<4x6xf32>, tensor<4xi64>) ->"
       " tensor<4x6xf32>",
       "mixes"},
      {"%y = sinter.gather %x, %t axis 1 : (tensor<4x6xf32>, tensor<4xi64>) ->"
       " tensor<4x4xf32>",
       "mixes"},
      {"%y = sinter.gather %x, %k axis 0 : (tensor<4x6xf32>, tensor<6xi64>) ->"
       " tensor<6x6xf32>",
       "mixes"},
      {"%y = sinter.gather %x, %k axis 1 : (tensor<4x6xf32>, tensor<6xi64>) ->"
       " tensor<4x6xf32>",
       "dim 0"},
      {"%n = sinter.iota {axis = 0 : i64} : tensor<4x1xi64>\n"
       "%i = sinter.reshape %t : tensor<4xi64> -> tensor<4x1xi64>\n"
       "%p = sinter.concat %n, %i axis 1 : (tensor<4x1xi64>, tensor<4x1xi64>) "
       "-> tensor<4x2xi64>\n"
       "%y = sinter.gather_nd %x, %p batch_dims 0 : (tensor<4x6xf32>, "
       "tensor<4x2xi64>) -> tensor<4xf32>",
       "dim 0"},
      {"%n = sinter.constant dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>\n"
       "%y = sinter.gather_nd %x, %n batch_dims 0 : (tensor<4x6xf32>, "
       "tensor<4x1xi64>) -> tensor<4x6xf32>",
       "dim 0"},
      {"%n = sinter.constant dense<[[0, 5], [1, 0], [2, 2], [3, 5]]> :"
       " tensor<4x2xi64>\n"
       "%y = sinter.gather_nd %x, %n batch_dims 0 : (tensor<4x6xf32>, "
       "tensor<4x2xi64>) -> tensor<4xf32>",
       "dim 0"},
      {"%n = sinter.constant dense<[[0, 0], [1, 1], [3, 2], [2, 3]]> :"
       " tensor<4x2xi64>\n"
       "%y = sinter.gather_nd %x, %n batch_dims 0 : (tensor<4x6xf32>, "
       "tensor<4x2xi64>) -> tensor<4xf32>",
       "mixes"},
      {"%n = sinter.constant dense<[[0], [1], [3], [2]]> : tensor<4x1xi64>\n"
       "%y = sinter.gather_nd %x, %n batch_dims 0 : (tensor<4x6xf32>, "
       "tensor<4x1xi64>) -> tensor<4x6xf32>",
       "mixes"},
      {"%u = sinter.slice %x starts [0, 0] limits [4, 1] strides [1, 1] :"
       " (tensor<4x6xf32>) -> tensor<4x1xf32>\n"
       "%i = sinter.reshape %t : tensor<4xi64> -> tensor<4x1xi64>\n"
       "%y = sinter.scatter_elements sum %x, %i, %u axis 1 :"
       " (tensor<4x6xf32>, tensor<4x1xi64>, tensor<4x1xf32>) -> "
       "tensor<4x6xf32>",
       "dim 0"},
      {"%y = sinter.scatter sum %x, %t, %x axis 0 : (tensor<4x6xf32>, "
       "tensor<4xi64>, tensor<4x6xf32>) -> tensor<4x6xf32>",
       "mixes"},
  };
  for (const auto &[body, expected] : cases)
    CHECK(outcomeOf(context, body) == expected);
}

namespace {

/// Makes dimension `dim` of an argument its first: the input's rows.
void moveToFront(func::FuncOp main, unsigned argument, int64_t dim) {
  BlockArgument value = main.getArgument(argument);
  RankedTensorType type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape()), perm;
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin(), type.getDimSize(dim));
  for (int64_t i = 0; i < type.getRank(); ++i)
    perm.push_back(i < dim ? i + 1 : i == dim ? 0 : i);
  value.setType(type.clone(shape));
  OpBuilder builder = OpBuilder::atBlockBegin(&main.getBody().front());
  auto moved =
      builder.create<ir::TransposeOp>(main.getLoc(), type, value, perm);
  value.replaceAllUsesExcept(moved, moved);
  main.setType(builder.getFunctionType(main.getBody().getArgumentTypes(),
                                       main.getResultTypes()));
}

/// A copy of `base` whose row 0 is that of `other`.
Tensor withFirstRow(Tensor base, const Tensor &other, int64_t batch) {
  size_t floats = base.floats.size() / batch, ints = base.ints.size() / batch;
  std::copy_n(other.floats.begin(), floats, base.floats.begin());
  std::copy_n(other.ints.begin(), ints, base.ints.begin());
  return base;
}

bool areEqual(const Tensor &a, const Tensor &b, size_t i) {
  if (i < a.ints.size() && a.ints[i] != b.ints[i])
    return false;
  return i >= a.floats.size() ||
         std::memcmp(&a.floats[i], &b.floats[i], sizeof(double)) == 0;
}

/// Replaces row 0 of the inputs by another; false if an element changes that is
/// reported as independent of it.
void checkDependence(func::FuncOp main, const std::vector<Tensor> &inputs,
                     const std::vector<Tensor> &others, int64_t batch) {
  RowDependence rows(main, batch);
  std::vector<Tensor> changed = inputs;
  for (unsigned i = 0; i < changed.size(); ++i)
    if (main.getArgAttr(i, ir::SinterDialect::kInputAttr))
      changed[i] = withFirstRow(inputs[i], others[i], batch);
  std::vector<Tensor> before = evaluate(main, inputs),
                      after = evaluate(main, changed);
  Operation *end = main.getBody().front().getTerminator();
  for (auto [value, a, b] :
       llvm::zip_equal(end->getOperands(), before, after)) {
    std::optional<RowDim> place = rows.dimOf(value);
    if (rows.mixedBy(value))
      continue;
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(value.getType()).getShape();
    size_t count = std::max(a.floats.size(), a.ints.size());
    int64_t below = place ? place->inner : 1;
    for (int64_t size : shape.drop_front(place ? place->dim + 1 : shape.size()))
      below *= size;
    for (size_t i = 0; i < count; ++i)
      if (!place || int64_t(i) / below % batch != 0)
        if (!areEqual(a, b, i)) {
          CHECK(areEqual(a, b, i));
          return;
        }
  }
}

} // namespace

TEST_CASE("what is said to be of another row does not depend on this one") {
  TestContext context;
  Type f64 = Float64Type::get(context.get());
  std::map<std::string, int> followed;
  for (const OpCase &opCase : allCases()) {
    INFO(opCase.name);
    std::vector<Tensor> drawn = drawInputs(opCase, f64, 1);
    // Takes every dimension of every operand as rows, alone and together with
    // all others that have such a dimension at the same position.
    for (size_t i = 0; i < opCase.operands.size(); ++i)
      for (size_t dim = 0; dim < opCase.operands[i].shape.size(); ++dim)
        for (bool together : {false, true}) {
          int64_t batch = opCase.operands[i].shape[dim];
          if (batch < 2)
            continue;
          OwningOpRef<ModuleOp> module = buildModule(opCase, f64);
          func::FuncOp main = mainOf(*module);
          for (size_t j = 0; j < opCase.operands.size(); ++j)
            main.removeArgAttr(j, ir::SinterDialect::kInputAttr);
          for (size_t j = 0; j < opCase.operands.size(); ++j)
            if (j == i || (together && dim < opCase.operands[j].shape.size() &&
                           opCase.operands[j].shape[dim] == batch)) {
              moveToFront(main, j, static_cast<int64_t>(dim));
              setInput(main, j);
            }
          auto draw = [&](uint64_t seed) {
            OpCase moved = opCase;
            for (size_t j = 0; j < moved.operands.size(); ++j) {
              auto type = cast<RankedTensorType>(main.getArgumentTypes()[j]);
              moved.operands[j].shape.assign(type.getShape().begin(),
                                             type.getShape().end());
            }
            return drawInputs(moved, f64, seed);
          };
          INFO("operand " << i << " dimension " << dim);
          checkDependence(main, draw(1), draw(2), batch);
          RowDependence rows(main, batch);
          Operation *end = main.getBody().front().getTerminator();
          followed[opCase.op().str()] +=
              llvm::any_of(end->getOperands(),
                           [&](Value value) { return rows.dimOf(value); });
        }
  }
  for (const char *op :
       {"sinter.add", "sinter.reduce", "sinter.dot_general", "sinter.conv",
        "sinter.attention", "sinter.gather", "sinter.gather_nd",
        "sinter.scatter", "sinter.scatter_nd", "sinter.reshape",
        "sinter.reduce_window_grad", "sinter.layer_norm"}) {
    INFO(op);
    CHECK(followed[op] > 0);
  }
}

/// Ops that mix rows if any operand has rows: gradients by values that rows
/// share, statistics of a batch, updates, ops that only later phases make, and
/// ops without operands.
static const std::set<std::string> kMixing = {"conv_filter_grad",
                                              "after",
                                              "batch_norm_training",
                                              "sgd_update",
                                              "adam_update",
                                              "lamb_update",
                                              "lion_update",
                                              "adagrad_update",
                                              "rmsprop_update",
                                              "muon_update",
                                              "all_reduce",
                                              "reduce_scatter",
                                              "all_gather",
                                              "index_fault",
                                              "cumulative_parts",
                                              "kernel",
                                              "library_call",
                                              "yield",
                                              "scan",
                                              "scan_call",
                                              "state",
                                              "constant",
                                              "iota"};

TEST_CASE("every op says what it does with rows, or is listed as mixing them") {
  TestContext context;
  std::set<std::string> unused = kMixing;
  for (RegisteredOperationName name : context->getRegisteredOperations()) {
    if (!isa<ir::SinterDialect>(name.getDialect()))
      continue;
    std::string op = name.stripDialect().str();
    INFO(op);
    CHECK(name.hasInterface<ir::RowsOpInterface>() != (kMixing.count(op) > 0));
    unused.erase(op);
  }
  CHECK(unused.empty());
}
