//===- ElementTypesTest.cpp - every op on every element type --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The op list is mostly about floats. Here the ops that move, choose or combine
// elements get every element type that a tensor can have. Their results are
// exact, so compiled code must give the bits of the evaluation.
//
//===----------------------------------------------------------------------===//
#include "test/ops/SpecialValues.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

/// A program on %x: 7x5xT, %y: 7x5xT, %z: 3xi64, %a: 7x5xi32 and %b: 4x2xi64
/// (indices of which some are negative), that computes %r; T stands for the
/// element type.
struct Program {
  const char *body, *result;
};

const Program kMoves[] = {
    {"%r = sinter.broadcast %x dims [1, 2] : tensor<7x5xT> -> tensor<2x7x5xT>",
     "tensor<2x7x5xT>"},
    {"%r = sinter.transpose %x perm [1, 0] : (tensor<7x5xT>) -> tensor<5x7xT>",
     "tensor<5x7xT>"},
    // Rows of 2, 3 and 4 elements are stored together.
    {"%s = sinter.reshape %x : tensor<7x5xT> -> tensor<35xT> "
     "%u = sinter.slice %s starts [1] limits [35] strides [1] : "
     "(tensor<35xT>) -> tensor<34xT> "
     "%v = sinter.reshape %u : tensor<34xT> -> tensor<2x17xT> "
     "%r = sinter.transpose %v perm [1, 0] : (tensor<2x17xT>) -> "
     "tensor<17x2xT>",
     "tensor<17x2xT>"},
    {"%s = sinter.slice %x starts [0, 0] limits [6, 5] strides [1, 1] : "
     "(tensor<7x5xT>) -> tensor<6x5xT> "
     "%v = sinter.reshape %s : tensor<6x5xT> -> tensor<3x10xT> "
     "%r = sinter.transpose %v perm [1, 0] : (tensor<3x10xT>) -> "
     "tensor<10x3xT>",
     "tensor<10x3xT>"},
    {"%s = sinter.slice %x starts [1, 0] limits [5, 5] strides [1, 1] : "
     "(tensor<7x5xT>) -> tensor<4x5xT> "
     "%r = sinter.transpose %s perm [1, 0] : (tensor<4x5xT>) -> "
     "tensor<5x4xT>",
     "tensor<5x4xT>"},
    {"%r = sinter.reshape %x : tensor<7x5xT> -> tensor<35xT>", "tensor<35xT>"},
    {"%r = sinter.reverse %x dims [0, 1] : tensor<7x5xT>", "tensor<7x5xT>"},
    {"%r = sinter.slice %x starts [1, 0] limits [7, 5] strides [2, 3] : "
     "(tensor<7x5xT>) -> tensor<3x2xT>",
     "tensor<3x2xT>"},
    {"%s = sinter.slice %y starts [1, 1] limits [2, 2] strides [1, 1] : "
     "(tensor<7x5xT>) -> tensor<1x1xT> "
     "%v = sinter.reshape %s : tensor<1x1xT> -> tensor<T> "
     "%r = sinter.pad %x, %v low [1, 2] high [0, 1] interior [1, 0] : "
     "(tensor<7x5xT>, tensor<T>) -> tensor<14x8xT>",
     "tensor<14x8xT>"},
    {"%r = sinter.concat %x, %y axis 1 : (tensor<7x5xT>, tensor<7x5xT>) -> "
     "tensor<7x10xT>",
     "tensor<7x10xT>"},
    {"%r = sinter.gather %x, %z axis 0 : (tensor<7x5xT>, tensor<3xi64>) -> "
     "tensor<3x5xT>",
     "tensor<3x5xT>"},
    {"%r = sinter.gather_elements %x, %a axis 1 : (tensor<7x5xT>, "
     "tensor<7x5xi32>) -> tensor<7x5xT>",
     "tensor<7x5xT>"},
    {"%r = sinter.gather_nd %x, %b batch_dims 0 : (tensor<7x5xT>, "
     "tensor<4x2xi64>) -> tensor<4xT>",
     "tensor<4xT>"},
    {"%c = sinter.compare lt %a, %a : tensor<7x5xi32> "
     "%d = sinter.not %c : tensor<7x5xi1> "
     "%r = sinter.where %d, %x, %y : tensor<7x5xi1>, tensor<7x5xT>",
     "tensor<7x5xT>"},
};

/// KIND is a kind of scatter.
const Program kScatters[] = {
    {"%u = sinter.slice %y starts [0, 0] limits [3, 5] strides [1, 1] : "
     "(tensor<7x5xT>) -> tensor<3x5xT> "
     "%r = sinter.scatter KIND %x, %z, %u axis 0 : (tensor<7x5xT>, "
     "tensor<3xi64>, tensor<3x5xT>) -> tensor<7x5xT>",
     "tensor<7x5xT>"},
    {"%r = sinter.scatter_elements KIND %x, %a, %y axis 1 : (tensor<7x5xT>, "
     "tensor<7x5xi32>, tensor<7x5xT>) -> tensor<7x5xT>",
     "tensor<7x5xT>"},
    {"%u = sinter.slice %y starts [0, 0] limits [4, 1] strides [1, 1] : "
     "(tensor<7x5xT>) -> tensor<4x1xT> "
     "%v = sinter.reshape %u : tensor<4x1xT> -> tensor<4xT> "
     "%r = sinter.scatter_nd KIND %x, %b, %v : (tensor<7x5xT>, "
     "tensor<4x2xi64>, tensor<4xT>) -> tensor<7x5xT>",
     "tensor<7x5xT>"},
};

/// KIND is a kind of reduction; not every op has all kinds.
const Program kReductions[] = {
    {"%r = sinter.reduce KIND %x dims [1] : (tensor<7x5xT>) -> tensor<7xT>",
     "tensor<7xT>"},
    {"%r = sinter.reduce KIND %x dims [0] : (tensor<7x5xT>) -> tensor<5xT>",
     "tensor<5xT>"},
    {"%r = sinter.reduce KIND %x dims [0, 1] : (tensor<7x5xT>) -> tensor<T>",
     "tensor<T>"},
};

const Program kCumulatives[] = {
    {"%r = sinter.cumulative KIND %x {axis = 1 : i64} : tensor<7x5xT>",
     "tensor<7x5xT>"},
    {"%r = sinter.cumulative KIND %x {axis = 0 : i64, exclusive, reverse} : "
     "tensor<7x5xT>",
     "tensor<7x5xT>"},
};
const Program kCumulativeParts[] = {
    {"%s = sinter.slice %y starts [0, 0] limits [2, 5] strides [1, 1] : "
     "(tensor<7x5xT>) -> tensor<2x5xT> "
     "%r = sinter.cumulative_parts KIND %x, %s {axis = 0 : i64, part = 3 : "
     "i64, reverse} : tensor<7x5xT>, tensor<2x5xT>",
     "tensor<7x5xT>"},
};

const Program kWindows[] = {
    {"%r = sinter.reduce_window KIND %x {window = array<i64: 3, 2>, strides = "
     "array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_low = array<i64: 1, "
     "0>, pads_high = array<i64: 0, 1>} : (tensor<7x5xT>) -> tensor<3x4xT>",
     "tensor<3x4xT>"},
};

/// Gradients of windows that do not meet, and whose sums are thus exact.
const Program kWindowGradients[] = {
    {"%g = sinter.slice %y starts [0, 0] limits [3, 3] strides [1, 1] : "
     "(tensor<7x5xT>) -> tensor<3x3xT> "
     "%r = sinter.reduce_window_grad max %x, %g {window = array<i64: 3, 2>, "
     "strides = array<i64: 3, 2>, dilations = array<i64: 1, 1>, pads_low = "
     "array<i64: 1, 0>, pads_high = array<i64: 1, 1>} : (tensor<7x5xT>, "
     "tensor<3x3xT>) -> tensor<7x5xT>",
     "tensor<7x5xT>"},
    {"%v = sinter.slice %x starts [0, 0] limits [7, 4] strides [1, 1] : "
     "(tensor<7x5xT>) -> tensor<7x4xT> "
     "%g = sinter.slice %y starts [0, 0] limits [3, 4] strides [1, 1] : "
     "(tensor<7x5xT>) -> tensor<3x4xT> "
     "%r = sinter.reduce_window_grad max %v, %g {window = array<i64: 2, 1>, "
     "strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = "
     "array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<7x4xT>, "
     "tensor<3x4xT>) -> tensor<7x4xT>",
     "tensor<7x4xT>"},
};

const Program kOrders[] = {
    {"%r = sinter.arg_reduce max %x {axis = 1 : i64} : (tensor<7x5xT>) -> "
     "tensor<7xi64>",
     "tensor<7xi64>"},
    {"%r = sinter.arg_reduce min %x {axis = 0 : i64, select_last} : "
     "(tensor<7x5xT>) -> tensor<5xi64>",
     "tensor<5xi64>"},
    {"%r, %s = sinter.top_k %x {axis = 0 : i64, k = 3 : i64, largest} : "
     "(tensor<7x5xT>) -> (tensor<3x5xT>, tensor<3x5xi64>)",
     "tensor<3x5xT>"},
    {"%s, %r = sinter.top_k %x {axis = 1 : i64, k = 4 : i64} : "
     "(tensor<7x5xT>) -> (tensor<7x4xT>, tensor<7x4xi64>)",
     "tensor<7x4xi64>"},
    {"%r = sinter.iota {axis = 1 : i64} : tensor<7x5xT>", "tensor<7x5xT>"},
};

const Program kProducts[] = {
    {"%r = sinter.dot_general %x, %y batch [] x [] contract [1] x [1] : "
     "(tensor<7x5xT>, tensor<7x5xT>) -> tensor<7x7xT>",
     "tensor<7x7xT>"},
    {"%r = sinter.dot_general %x, %y batch [] x [] contract [0] x [0] : "
     "(tensor<7x5xT>, tensor<7x5xT>) -> tensor<5x5xT>",
     "tensor<5x5xT>"},
};

std::string replaced(std::string text, StringRef what, StringRef by) {
  for (size_t at = 0; (at = text.find(what.str(), at)) != std::string::npos;
       at += by.size())
    text.replace(at, what.size(), by.str());
  return text;
}

/// Programs with the operands described at Program.
class Programs {
public:
  explicit Programs(StringRef type)
      : type(type), bundle(context.get()), inputs(makeInputs()) {}

  void add(ArrayRef<Program> programs, StringRef kind = "") {
    for (const Program &program : programs) {
      auto text = [&](std::string part) {
        part = replaced(replaced(part, "xT>", "x" + type + ">"), "<T>",
                        "<" + type + ">");
        return replaced(part, "KIND", kind);
      };
      std::string body = text(program.body);
      addProgram(context, bundle, body, body, text(program.result), inputs);
    }
  }
  std::string wrong() { return wrongElements(bundle, isSame); }

private:
  std::vector<Tensor> makeInputs() {
    Type element = elementType(context, type);
    Tensor values = specialValues(element);
    auto matrix = [&](int64_t first, int64_t step) {
      Tensor tensor(RankedTensorType::get({7, 5}, element));
      for (int64_t i = 0; i < tensor.size(); ++i)
        tensor.copyElement(i, values, (first + i * step) % values.size());
      return tensor;
    };
    auto indices = [&](StringRef name, ArrayRef<int64_t> shape, int64_t low,
                       int64_t count) {
      Tensor tensor(RankedTensorType::get(shape, elementType(context, name)));
      for (int64_t i = 0; i < tensor.size(); ++i)
        tensor.ints[i] = low + i * 7 % count;
      return tensor;
    };
    return {matrix(0, 1), matrix(3, 5), indices("i64", {3}, -3, 6),
            indices("i32", {7, 5}, -5, 10), indices("i64", {4, 2}, -5, 10)};
  }

  std::string type;
  TestContext context;
  OpBundle bundle;
  std::vector<Tensor> inputs;
};

} // namespace

TEST_CASE("moving elements keeps the bits of every type", "[compiled]") {
  std::vector<const char *> names = {"i1"};
  names.insert(names.end(), std::begin(kFloats), std::end(kFloats));
  names.insert(names.end(), std::begin(kIntegers), std::end(kIntegers));
  for (const char *name : names) {
    Programs programs(name);
    programs.add(kMoves);
    programs.add(kScatters, "set");
    CHECK(programs.wrong() == "");
  }
}

TEST_CASE("order and extremes are those of the evaluation for every number",
          "[compiled]") {
  std::vector<const char *> names(std::begin(kFloats), std::end(kFloats));
  names.insert(names.end(), std::begin(kIntegers), std::end(kIntegers));
  for (const char *name : names) {
    Programs programs(name);
    programs.add(kOrders);
    for (const char *kind : {"max", "min"}) {
      programs.add(kReductions, kind);
      programs.add(kWindows, kind);
      programs.add(kScatters, kind);
    }
    CHECK(programs.wrong() == "");
  }
}

TEST_CASE("a window chooses the element of the evaluation for every number",
          "[compiled]") {
  for (const char *name : kFloats) {
    Programs programs(name);
    programs.add(kWindowGradients);
    CHECK(programs.wrong() == "");
  }
}

TEST_CASE("sums and products of integers wrap as in the evaluation",
          "[compiled]") {
  for (const char *name : kIntegers) {
    Programs programs(name);
    programs.add(kProducts);
    programs.add(kWindows, "sum");
    for (const char *kind : {"sum", "prod"}) {
      programs.add(kReductions, kind);
      programs.add(kCumulatives, kind);
      programs.add(kCumulativeParts, kind);
      programs.add(kScatters, kind);
    }
    CHECK(programs.wrong() == "");
  }
}
