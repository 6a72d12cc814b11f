//===- EpilogueTest.cpp - which post-ops a target fuses -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Walks the lists of post-ops and compares the answers of NVIDIA's target with
// the plans of the calls. So the target has no rules of its own, and a new row
// of the table of post-ops is asked about without a change here.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/codegen/CudaTarget.h"
#include "backends/cuda/library/ConvPlan.h"
#include "backends/cuda/library/LtPlan.h"
#include "ir/Dialect.h"
#include "passes/fuse/LibraryEpilogue.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace sinter;

namespace {

/// The numbers of clips and scales, which plans look at.
constexpr float kLower = 0, kUpper = std::numeric_limits<float>::infinity(),
                kFactor = 2;

using Kinds = std::vector<uint32_t>;

std::string textOf(const Kinds &kinds) {
  std::string text;
  for (uint32_t kind : kinds)
    text += std::string(sinter_post_op_row(kind)->name) + " ";
  return text;
}

/// Calls `visit` with every list of up to four kinds. It returns whether the
/// list is fused; the others only go on where their last one is stored, because
/// what follows may be necessary.
void walk(llvm::function_ref<bool(const Kinds &)> visit, Kinds &kinds) {
  bool goesOn = visit(kinds);
  if (!kinds.empty())
    goesOn |=
        sinter_post_op_row(kinds.back())->slice == SINTER_POST_SLICE_WRITTEN;
  if (!goesOn || kinds.size() == 4)
    return;
  for (uint32_t kind = SINTER_POST_NONE + 1; kind < SINTER_NUM_POST_OPS;
       ++kind) {
    kinds.push_back(kind);
    walk(visit, kinds);
    kinds.pop_back();
  }
}

template <class Call> void setPostOps(Call &call, const Kinds &kinds) {
  for (uint32_t kind : kinds) {
    uint32_t at = call.numPostOps++;
    sinter_post_op &op = call.postOps[at];
    op.kind = kind;
    if (sinter_post_op_row(kind)->slice != SINTER_POST_SLICE_NONE)
      op.slice = 2 + at;
    op.alpha = kind == SINTER_POST_CLIP ? kLower : kFactor;
    op.beta = kUpper;
  }
}

struct Program {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string problem;
  std::unique_ptr<passes::Target> target =
      cuda::createCudaTarget(cuda::CudaOptions(), problem);

  explicit Program(const std::string &body) {
    context.loadDialect<ir::SinterDialect, exec::ExecDialect,
                        mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @main(" + body + "\nreturn\n}", &context);
    REQUIRE(module);
  }

  mlir::Operation *contraction() {
    mlir::Operation *found = nullptr;
    module->walk([&](mlir::Operation *op) {
      if (ir::isContraction(op))
        found = op;
    });
    REQUIRE(found);
    return found;
  }

  std::vector<passes::PostOp> postOps(const Kinds &kinds) {
    auto number = [&](float value) {
      return mlir::FloatAttr::get(mlir::Float32Type::get(&context), value);
    };
    std::vector<passes::PostOp> list;
    for (uint32_t kind : kinds) {
      passes::PostOp op{static_cast<exec::PostOpKind>(kind), {}, {}, {}};
      if (kind == SINTER_POST_CLIP)
        op.alpha = number(kLower), op.beta = number(kUpper);
      if (kind == SINTER_POST_SCALE)
        op.alpha = number(kFactor);
      list.push_back(op);
    }
    return list;
  }
};

/// Compares the target's answers about the product of `text` with the plans of
/// `call`. Returns how many lists are fused.
int compareProduct(const std::string &text, const sinter_matmul &call) {
  Program program(text);
  mlir::Operation *dot = program.contraction();
  // Operands that will be rounded are still float32.
  mlir::FloatType narrow;
  if (call.dtype == SINTER_BF16)
    narrow = mlir::FloatType::getBF16(dot->getContext());
  int fused = 0;
  auto visit = [&](const Kinds &kinds) {
    sinter_matmul asked = call;
    setPostOps(asked, kinds);
    bool expected = cuda::productFits(asked);
    INFO(text << ": " << textOf(kinds));
    REQUIRE(program.target->canFuseEpilogue(dot, program.postOps(kinds),
                                            narrow) == expected);
    fused += expected;
    return expected;
  };
  Kinds kinds;
  walk(visit, kinds);
  return fused;
}

sinter_matmul product(uint32_t dtype, int64_t m, int64_t n, int64_t k,
                      int64_t batch = 0) {
  sinter_matmul call{};
  call.dtype = dtype;
  call.outDtype = SINTER_F32;
  call.m = m;
  call.n = n;
  call.k = k;
  call.aStrideM = k;
  call.bStrideK = call.cStrideM = n;
  call.aStrideK = call.bStrideN = call.cStrideN = 1;
  if (batch) {
    call.batchRank = 1;
    call.batch[0] = batch;
    call.aBatchStrides[0] = m * k;
    call.bBatchStrides[0] = k * n;
    call.cBatchStrides[0] = m * n;
  }
  return call;
}

int compareConv(const std::string &text, const sinter_conv &call) {
  Program program(text);
  mlir::Operation *conv = program.contraction();
  int fused = 0;
  auto visit = [&](const Kinds &kinds) {
    sinter_conv asked = call;
    setPostOps(asked, kinds);
    bool expected = cuda::convFits(asked);
    INFO(text << ": " << textOf(kinds));
    bool answer =
        program.target->canFuseEpilogue(conv, program.postOps(kinds), {});
    if (kinds.empty())
      return true; // a question about 16-bit operands
    REQUIRE(answer == expected);
    fused += expected;
    return expected;
  };
  Kinds kinds;
  walk(visit, kinds);
  return fused;
}

/// 3 x 3 filters for images of 8 x 8, padded.
sinter_conv convolution(uint32_t dtype, int64_t channels, int64_t filters) {
  sinter_conv call{};
  call.direction = SINTER_CONV_FORWARD;
  call.dtype = dtype;
  call.outDtype = SINTER_F32;
  call.layout = call.filterLayout = SINTER_CHANNELS_FIRST;
  call.spatialRank = 2;
  call.batch = 2;
  call.channels = channels;
  call.filters = filters;
  call.groups = 1;
  for (int i = 0; i < 2; ++i) {
    call.inputDims[i] = call.outputDims[i] = 8;
    call.kernel[i] = 3;
    call.strides[i] = call.dilations[i] = 1;
    call.padsLow[i] = call.padsHigh[i] = 1;
  }
  return call;
}

} // namespace

TEST_CASE("a product has the post-ops that its plan computes") {
  auto dot = [](const std::string &a, const std::string &b,
                const std::string &c) {
    return "%x: tensor<" + a + "xf32>, %y: tensor<" + b +
           "xf32>) {\n%r = sinter.dot_general %x, %y batch [] x [] contract "
           "[1] x [0] : (tensor<" +
           a + "xf32>, tensor<" + b + "xf32>) -> tensor<" + c + "xf32>";
  };
  int whole = compareProduct(dot("64x32", "32x48", "64x48"),
                             product(SINTER_BF16, 64, 48, 32));
  int ragged = compareProduct(dot("64x32", "32x12", "64x12"),
                              product(SINTER_BF16, 64, 12, 32));
  // Rows that are not aligned keep no matrix.
  CHECK(whole > 40);
  CHECK(ragged < whole);
  compareProduct(dot("1x32", "32x12", "1x12"), product(SINTER_F32, 1, 12, 32));
  compareProduct(dot("64x32", "32x1", "64x1"), product(SINTER_F32, 64, 1, 32));
  compareProduct(
      "%x: tensor<64x32xbf16>, %y: tensor<32x48xbf16>) {\n"
      "%a = sinter.cast %x : tensor<64x32xbf16> -> tensor<64x32xf32>\n"
      "%b = sinter.cast %y : tensor<32x48xbf16> -> tensor<32x48xf32>\n"
      "%r = sinter.dot_general %a, %b batch [] x [] contract [1] x [0] : "
      "(tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>",
      product(SINTER_BF16, 64, 48, 32));
}

TEST_CASE("batches of products keep nothing besides the result") {
  std::string text =
      "%x: tensor<3x64x32xf32>, %y: tensor<3x32x48xf32>) {\n"
      "%r = sinter.dot_general %x, %y batch [0] x [0] contract [2] x [1] : "
      "(tensor<3x64x32xf32>, tensor<3x32x48xf32>) -> tensor<3x64x48xf32>";
  compareProduct(text, product(SINTER_F32, 64, 48, 32, 3));
  Program program(text);
  mlir::Operation *dot = program.contraction();
  auto isApplied = [&](const Kinds &kinds, mlir::FloatType narrow = {}) {
    return passes::isApplied(program.target.get(), dot, program.postOps(kinds),
                             narrow);
  };
  // The GELU of cuBLASLt is not exact to float32.
  auto narrow = mlir::FloatType::getBF16(dot->getContext());
  CHECK(isApplied({SINTER_POST_ADD, SINTER_POST_GELU_TANH}, narrow));
  CHECK_FALSE(isApplied({SINTER_POST_ADD, SINTER_POST_GELU_TANH}));
  CHECK_FALSE(isApplied({SINTER_POST_RELU_BITS}));
  CHECK_FALSE(isApplied({SINTER_POST_STORE, SINTER_POST_GELU_TANH}));
}

TEST_CASE("a convolution has the post-ops that plans for any layout compute") {
  auto conv = [](const std::string &x, const std::string &w,
                 const std::string &y, const std::string &more) {
    return "%x: tensor<" + x + ">, %w: tensor<" + w +
           ">) {\n%r = sinter.conv %x, %w {strides = array<i64: 1, 1>, "
           "dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, "
           "pads_high = array<i64: 1, 1>" +
           more + "} : (tensor<" + x + ">, tensor<" + w + ">) -> tensor<" + y +
           ">";
  };
  sinter_conv call = convolution(SINTER_F32, 4, 6);
  int fused =
      compareConv(conv("2x4x8x8xf32", "6x4x3x3xf32", "2x6x8x8xf32", ""), call);
  CHECK(fused > 8);
  CHECK(fused == compareConv(conv("2x8x8x4xf32", "6x4x3x3xf32", "2x8x8x6xf32",
                                  ", channels_last"),
                             call));
  call.groups = 2;
  compareConv(conv("2x4x8x8xf32", "6x2x3x3xf32", "2x6x8x8xf32", ", groups = 2"),
              call);
  // Filters of one point, which could have more steps with channels last.
  call.groups = 1;
  for (int i = 0; i < 2; ++i) {
    call.kernel[i] = 1;
    call.outputDims[i] = 10;
  }
  compareConv(
      conv("2x8x8x4xf32", "6x4x1x1xf32", "2x10x10x6xf32", ", channels_last"),
      call);
}

TEST_CASE("gradients of convolutions are stored in the type of operands") {
  Program program(
      "%x: tensor<2x4x8x8xf32>, %w: tensor<4x3x3x3xf32>) {\n"
      "%r = sinter.conv_input_grad %x, %w {strides = array<i64: 1, 1>, "
      "dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = "
      "array<i64: 1, 1>} : (tensor<2x4x8x8xf32>, tensor<4x3x3x3xf32>) -> "
      "tensor<2x3x8x8xf32>");
  mlir::Operation *conv = program.contraction();
  CHECK_FALSE(program.target->canFuseEpilogue(conv, {}, {}));
  CHECK_FALSE(program.target->canFuseEpilogue(
      conv, program.postOps({SINTER_POST_BIAS}), {}));
}
