//===- OneDnnMatmulTest.cpp - fp32 products on the CPU --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/FloatPanels.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PostOps.h"
#include "backends/cpu/device/RowPanels.h"
#include "runtime/base/Hash.h"
#include "test/runtime/OneCommand.h"

#include <chrono>
#include <cmath>
#include <cstdio>

using namespace sinter;
using namespace sinter::test;

namespace {

/// The number of elements from the first to the last that the strides reach.
int64_t extent(std::initializer_list<std::pair<int64_t, int64_t>> dims) {
  int64_t last = 0;
  for (auto [size, stride] : dims) {
    if (size == 0)
      return 0;
    last += (size - 1) * stride;
  }
  return last + 1;
}

void addBatch(sinter_matmul &p, int64_t size, int64_t a, int64_t b, int64_t c) {
  uint32_t i = p.batchRank++;
  p.batch[i] = size;
  p.aBatchStrides[i] = a;
  p.bBatchStrides[i] = b;
  p.cBatchStrides[i] = c;
}

void addPostOp(sinter_matmul &p, uint32_t kind, float alpha = 0,
               float beta = 0) {
  uint32_t slice = 2;
  for (uint32_t i = 0; i < p.numPostOps; ++i)
    slice += p.postOps[i].kind == SINTER_POST_BIAS ||
             p.postOps[i].kind == SINTER_POST_ADD;
  p.postOps[p.numPostOps++] = {kind, slice, alpha, beta};
}

struct Options {
  bool constantB = false;
  bool addResult = false; // ADD reads the result itself
};

/// Runs `p` with 1, 2 and 3 threads, requires equal bits and compares with sums
/// in double precision. Returns what the library chose.
std::string check(const sinter_matmul &p, Options options = {}) {
  int64_t batch[4] = {1, 1, 1, 1};
  for (uint32_t i = 0; i < p.batchRank; ++i)
    batch[i] = p.batch[i];
  auto span = [&](int64_t rows, int64_t rowStride, int64_t cols,
                  int64_t colStride, const int64_t *strides) {
    return extent({{rows, rowStride},
                   {cols, colStride},
                   {batch[0], strides[0]},
                   {batch[1], strides[1]},
                   {batch[2], strides[2]},
                   {batch[3], strides[3]}});
  };
  std::vector<float> a =
      someValues(span(p.m, p.aStrideM, p.k, p.aStrideK, p.aBatchStrides), 1);
  std::vector<float> b =
      someValues(span(p.k, p.bStrideK, p.n, p.bStrideN, p.bBatchStrides), 2);
  int64_t size = span(p.m, p.cStrideM, p.n, p.cStrideN, p.cBatchStrides);
  std::vector<float> before = someValues(size, 3);
  OneCommand command(callOf(&p));
  command.operand(a);
  command.operand(b);
  if (options.constantB)
    command.constantFilter();
  std::vector<std::vector<float>> operands(p.numPostOps);
  for (uint32_t i = 0; i < p.numPostOps; ++i) {
    if (p.postOps[i].kind == SINTER_POST_BIAS) {
      operands[i] = someValues(p.n, 4 + i);
      command.operand(operands[i]);
    } else if (p.postOps[i].kind == SINTER_POST_ADD) {
      operands[i] = options.addResult ? before : someValues(size, 4 + i);
      options.addResult ? command.resultAsOperand()
                        : command.operand(operands[i]);
    }
  }
  std::vector<float> result = before;
  command.run(1, result);
  INFO(command.status.message());
  REQUIRE(command.status.ok());
  for (int threads : {2, 3}) {
    std::vector<float> other = before;
    command.run(threads, other);
    REQUIRE(sameBits(result, other));
  }

  std::vector<bool> written(static_cast<size_t>(size), false);
  int64_t wrong = 0;
  double worst = 0;
  for (int64_t i0 = 0; i0 < batch[0]; ++i0)
    for (int64_t i1 = 0; i1 < batch[1]; ++i1)
      for (int64_t i2 = 0; i2 < batch[2]; ++i2) {
        auto offset = [&](const int64_t *s) {
          return i0 * s[0] + i1 * s[1] + i2 * s[2];
        };
        for (int64_t i = 0; i < p.m; ++i)
          for (int64_t j = 0; j < p.n; ++j) {
            double sum = 0, magnitude = 0;
            for (int64_t l = 0; l < p.k; ++l) {
              double product =
                  double(a[offset(p.aBatchStrides) + i * p.aStrideM +
                           l * p.aStrideK]) *
                  b[offset(p.bBatchStrides) + l * p.bStrideK + j * p.bStrideN];
              sum += product;
              magnitude += std::abs(product);
            }
            int64_t at =
                offset(p.cBatchStrides) + i * p.cStrideM + j * p.cStrideN;
            double scale = 1;
            for (uint32_t op = 0; op < p.numPostOps; ++op) {
              const auto &values = operands[op];
              double operand = values.empty() ? 0
                               : p.postOps[op].kind == SINTER_POST_BIAS
                                   ? values[j]
                                   : values[at];
              sum = postOpReference(p.postOps[op], sum, operand);
              if (p.postOps[op].kind == SINTER_POST_SCALE)
                scale *= std::abs(p.postOps[op].alpha);
            }
            double error = std::abs(sum - result[at]);
            double allowed =
                1e-6 * magnitude * scale + 1e-5 * (1 + std::abs(sum));
            wrong += !(error <= allowed);
            worst = std::max(worst, error);
            written[at] = true;
          }
      }
  INFO(command.description << ", worst error " << worst);
  REQUIRE(wrong == 0);
  for (int64_t i = 0; i < size; ++i)
    if (!written[i])
      REQUIRE(result[i] == before[i]);
  REQUIRE(command.description.find("ref") == std::string::npos);
  return command.description;
}

} // namespace

TEST_CASE("matmul: shapes, dense and transposed", "[matmul]") {
  for (int64_t m : {1, 2, 17, 64, 131})
    for (int64_t n : {1, 3, 16, 67, 256})
      for (int64_t k : {1, 5, 64, 129}) {
        CAPTURE(m, n, k);
        sinter_matmul p = dense(m, n, k);
        check(p);
        check(p, {.constantB = true});
        sinter_matmul at = p;
        at.aStrideM = 1;
        at.aStrideK = m;
        check(at);
        sinter_matmul bt = p;
        bt.bStrideK = 1;
        bt.bStrideN = k;
        check(bt);
        check(bt, {.constantB = true});
        sinter_matmul ct = p;
        ct.cStrideM = 1;
        ct.cStrideN = m;
        check(ct);
      }
}

TEST_CASE("matmul: few rows with constant weights", "[matmul]") {
  for (int64_t m : {1, 2, 3, 4, 5})
    for (int64_t n : {1, 63, 64, 65, 200})
      for (int64_t k : {1, 7, 300}) {
        CAPTURE(m, n, k);
        sinter_matmul p = dense(m, n, k);
        for (uint32_t kind : {SINTER_POST_BIAS, SINTER_POST_GELU_ERF,
                              SINTER_POST_ADD, SINTER_POST_RELU})
          addPostOp(p, kind);
        const bool isOwn = m <= 4;
        auto isRowProduct = [](const std::string &description) {
          return description.find("weights packed at load") !=
                 std::string::npos;
        };
        CHECK((!isOwn || isRowProduct(check(p, {.constantB = true}))));
        check(p, {.constantB = true, .addResult = true});
        p.aStrideM = 2 * k;
        p.aStrideK = 2;
        p.cStrideM = 1;
        p.cStrideN = m;
        check(p, {.constantB = true});
        check(p, {.constantB = true, .addResult = true});
      }
}

TEST_CASE("matmul: few rows with a matrix in place", "[matmul]") {
  for (int64_t m : {1, 2, 3, 4, 5})
    for (int64_t n : {1, 15, 64, 65, 200})
      for (int64_t k : {1, 7, 16, 300})
        for (bool areColumns : {false, true})
          for (int64_t batch : {1, 3}) {
            CAPTURE(m, n, k, areColumns, batch);
            sinter_matmul p = dense(m, n, k);
            if (areColumns) {
              p.bStrideK = 1;
              p.bStrideN = k + 2;
            } else {
              p.bStrideK = n + 3;
            }
            if (batch > 1)
              addBatch(p, batch, m * k, areColumns ? (k + 2) * n : k * (n + 3),
                       m * n);
            const std::string description = check(p);
            // A matrix with one row or column has several forms.
            const bool isOwn = m <= (areColumns ? 2 : 4) && n > 1 && k > 1 &&
                               cpu::rowUnit() == cpu::RowUnit::Avx512;
            if (isOwn)
              CHECK(description.find("B in place") != std::string::npos);
            for (uint32_t kind : {SINTER_POST_BIAS, SINTER_POST_GELU_ERF,
                                  SINTER_POST_ADD, SINTER_POST_RELU})
              addPostOp(p, kind);
            check(p);
            check(p, {.addResult = true});
            p.cStrideM = 1;
            p.cStrideN = m;
            check(p);
          }
}

TEST_CASE("matmul: dimensions of size 0", "[matmul]") {
  for (auto [m, n, k] :
       {std::tuple{0, 4, 5}, {4, 0, 5}, {4, 5, 0}, {0, 0, 0}}) {
    CAPTURE(m, n, k);
    sinter_matmul p = dense(m, n, k);
    check(p);
    addPostOp(p, SINTER_POST_BIAS);
    addPostOp(p, SINTER_POST_GELU_ERF);
    addPostOp(p, SINTER_POST_ADD);
    check(p);
    check(p, {.addResult = true});
    sinter_matmul batched = dense(m, n, k);
    addBatch(batched, 3, m * k, k * n, m * n);
    check(batched);
    sinter_matmul none = dense(4, 5, 6);
    addBatch(none, 0, 24, 30, 20);
    check(none);
  }
}

TEST_CASE("matmul: strides wider than the matrix", "[matmul]") {
  for (auto [m, n, k] :
       {std::tuple{5, 7, 9}, {64, 64, 64}, {33, 130, 257}, {300, 200, 100}}) {
    CAPTURE(m, n, k);
    sinter_matmul p = dense(m, n, k);
    p.aStrideM = k + 3;
    p.bStrideK = n + 5;
    p.cStrideM = n + 7;
    addPostOp(p, SINTER_POST_BIAS);
    addPostOp(p, SINTER_POST_ADD);
    addPostOp(p, SINTER_POST_RELU);
    check(p);
    check(p, {.constantB = true});
    check(p, {.addResult = true});
    // No dimension has stride 1.
    sinter_matmul q = dense(m, n, k);
    q.aStrideM = 2 * k;
    q.aStrideK = 2;
    q.bStrideK = 3 * n;
    q.bStrideN = 3;
    q.cStrideM = 2 * n;
    q.cStrideN = 2;
    check(q);
    addPostOp(q, SINTER_POST_BIAS);
    addPostOp(q, SINTER_POST_ADD);
    check(q);
    check(q, {.addResult = true});
  }
  // One row of A for all m: a stride of 0.
  sinter_matmul broadcast = dense(20, 30, 40);
  broadcast.aStrideM = 0;
  check(broadcast);
  sinter_matmul column = dense(20, 30, 40);
  column.bStrideN = 0;
  check(column);
  // Overlapping windows, as in an unrolled 1-D convolution.
  sinter_matmul windows = dense(50, 8, 5);
  windows.aStrideM = 1;
  windows.aStrideK = 1;
  check(windows);
}

TEST_CASE("matmul: matrices that overhang each other", "[matmul]") {
  // Every second of 5 rows: the three rows extend into the next matrix.
  sinter_matmul rows = dense(3, 3, 8);
  rows.aStrideM = 16;
  addBatch(rows, 4, 40, 0, 9);
  check(rows);
  // Every third of 7 columns of a transposed A, and of the rows of B.
  sinter_matmul columns = dense(6, 5, 3);
  columns.aStrideM = 1;
  columns.aStrideK = 18;
  addBatch(columns, 4, 42, 15, 30);
  check(columns);
  sinter_matmul both = dense(6, 5, 3);
  both.bStrideK = 15;
  addBatch(both, 4, 18, 35, 30);
  check(both);
  addPostOp(both, SINTER_POST_BIAS);
  addPostOp(both, SINTER_POST_RELU);
  check(both);
}

TEST_CASE("matmul: every post-op, in every order", "[matmul]") {
  const uint32_t kinds[] = {
      SINTER_POST_BIAS,     SINTER_POST_ADD,       SINTER_POST_RELU,
      SINTER_POST_GELU_ERF, SINTER_POST_GELU_TANH, SINTER_POST_SIGMOID,
      SINTER_POST_TANH,     SINTER_POST_CLIP,      SINTER_POST_SCALE,
      SINTER_POST_SWISH,    SINTER_POST_HARD_SWISH};
  auto add = [](sinter_matmul &p, uint32_t kind) {
    kind == SINTER_POST_CLIP    ? addPostOp(p, kind, -0.5f, 0.75f)
    : kind == SINTER_POST_SCALE ? addPostOp(p, kind, 1.75f)
                                : addPostOp(p, kind);
  };
  for (uint32_t first : kinds)
    for (uint32_t second : kinds)
      for (auto [m, n, k] : {std::tuple{13, 37, 29}, {96, 256, 64}}) {
        CAPTURE(first, second, m, n, k);
        sinter_matmul p = dense(m, n, k);
        add(p, first);
        add(p, second);
        check(p, {.constantB = true});
        if (first == SINTER_POST_ADD || second == SINTER_POST_ADD)
          check(p, {.addResult = true});
        p.cStrideM = 1;
        p.cStrideN = m;
        check(p);
      }
  sinter_matmul all = dense(40, 100, 60);
  for (uint32_t kind :
       {kinds[0], kinds[1], kinds[2], kinds[8], kinds[6], kinds[7]})
    add(all, kind);
  check(all);
}

TEST_CASE("matmul: batches", "[matmul]") {
  SECTION("dense") {
    for (int64_t size : {1, 2, 7, 100}) {
      sinter_matmul p = dense(12, 20, 9);
      addBatch(p, size, 12 * 9, 9 * 20, 12 * 20);
      check(p);
      addPostOp(p, SINTER_POST_BIAS);
      addPostOp(p, SINTER_POST_ADD);
      check(p);
      check(p, {.addResult = true});
    }
  }
  SECTION("one B for all") {
    sinter_matmul p = dense(12, 20, 9);
    addBatch(p, 5, 12 * 9, 0, 12 * 20);
    addPostOp(p, SINTER_POST_BIAS);
    check(p);
    check(p, {.constantB = true});
    p.aBatchStrides[0] += 3; // the rows cannot be one matrix
    check(p);
    check(p, {.constantB = true});
  }
  SECTION("one A for all") {
    sinter_matmul p = dense(12, 20, 9);
    addBatch(p, 50, 0, 9 * 20, 12 * 20);
    check(p);
    addPostOp(p, SINTER_POST_ADD);
    check(p, {.addResult = true});
  }
  SECTION("attention heads inside rows") {
    int64_t heads = 4, width = 16, length = 33, batch = 3;
    sinter_matmul p{};
    p.dtype = p.outDtype = SINTER_F32;
    p.m = p.n = length;
    p.k = width;
    p.aStrideM = p.bStrideN = heads * width;
    p.aStrideK = p.bStrideK = 1;
    p.cStrideM = length;
    p.cStrideN = 1;
    addBatch(p, batch, length * heads * width, length * heads * width,
             heads * length * length);
    addBatch(p, heads, width, width, length * length);
    addPostOp(p, SINTER_POST_SCALE, 0.25f);
    check(p);
  }
  SECTION("rows of the results alternate") {
    // The gates of a recurrent layer: stored time step by time step.
    for (auto [batch, steps] :
         {std::pair{1, 7}, {3, 7}, {16, 7}, {1, 20}, {3, 20}, {16, 20}})
      for (uint32_t second : {SINTER_POST_BIAS, SINTER_POST_ADD}) {
        CAPTURE(batch, steps, second);
        int64_t width = 40, inputs = 12;
        sinter_matmul p = dense(steps, width, inputs);
        p.cStrideM = batch * width;
        addBatch(p, batch, steps * inputs, 0, width);
        check(p);
        addPostOp(p, SINTER_POST_BIAS);
        check(p);
        addPostOp(p, second);
        check(p);
        const std::string description = check(p, {.constantB = true});
        if (steps >= 16 && cpu::floatUnit() != cpu::FloatUnit::None)
          CHECK(description.find("B packed at load") != std::string::npos);
      }
  }
  SECTION("three dimensions, broadcast in the middle") {
    sinter_matmul p = dense(6, 10, 8);
    addBatch(p, 2, 3 * 48, 80, 12 * 60);
    addBatch(p, 4, 0, 0, 3 * 60);
    addBatch(p, 3, 48, 0, 60);
    check(p);
    addPostOp(p, SINTER_POST_BIAS);
    check(p);
  }
  SECTION("single rows with a transposed result") {
    sinter_matmul p = dense(1, 24, 8);
    p.cStrideN = 5;
    p.cStrideM = 1;
    addBatch(p, 5, 8, 0, 1);
    addPostOp(p, SINTER_POST_BIAS);
    check(p);
  }
}

TEST_CASE("matmul: shapes that are cut", "[matmul]") {
  SECTION("rows and columns") {
    for (auto [m, n, k] : {std::tuple{512, 512, 256},
                           {64, 2048, 300},
                           {2048, 48, 200},
                           {1, 3000, 700},
                           {7, 1031, 513}}) {
      CAPTURE(m, n, k);
      sinter_matmul p = dense(m, n, k);
      check(p);
      addPostOp(p, SINTER_POST_BIAS);
      addPostOp(p, SINTER_POST_RELU);
      check(p, {.constantB = true});
      addPostOp(p, SINTER_POST_ADD);
      check(p, {.constantB = true});
      check(p, {.constantB = true, .addResult = true});
    }
  }
  SECTION("long sums") {
    sinter_matmul p = dense(10, 20, 40000);
    check(p);
    addPostOp(p, SINTER_POST_BIAS);
    addPostOp(p, SINTER_POST_ADD);
    addPostOp(p, SINTER_POST_TANH);
    check(p);
    check(p, {.addResult = true});
    check(p, {.constantB = true});
    p.aStrideM = 1;
    p.aStrideK = 10;
    check(p);
  }
}

TEST_CASE("matmul: stretches of the depth, chunks of rows", "[matmul]") {
  // Panels have at most 64 columns, stretches 384 rows, chunks 128 K elements.
  for (auto [m, n, k] : {std::tuple{16, 64, 1100},
                         {28, 96, 513},
                         {29, 70, 1537},
                         {300, 33, 512},
                         {40, 145, 385},
                         {2100, 32, 70}}) {
    CAPTURE(m, n, k);
    sinter_matmul p = dense(m, n, k);
    addPostOp(p, SINTER_POST_ADD);
    addPostOp(p, SINTER_POST_GELU_ERF);
    addPostOp(p, SINTER_POST_BIAS);
    for (bool constantB : {false, true})
      for (bool addResult : {false, true}) {
        check(p, {constantB, addResult});
        sinter_matmul transposed = p;
        transposed.aStrideM = 1;
        transposed.aStrideK = m;
        transposed.bStrideK = 1;
        transposed.bStrideN = k;
        check(transposed, {constantB, addResult});
        // Written as C^T = B^T * A^T, with a bias along the rows.
        transposed.cStrideM = 1;
        transposed.cStrideN = m;
        check(transposed, {false, addResult});
      }
  }
}

// For fp32-units.test: the results of all units have the same bits.
TEST_CASE("matmul: bits", "[.][product-bits]") {
  for (auto [m, n, k] :
       {std::tuple{17, 40, 600}, {64, 256, 784}, {300, 33, 1025}}) {
    sinter_matmul p = dense(m, n, k);
    OneCommand command(callOf(&p));
    std::vector<float> a = someValues(m * k, 1), b = someValues(k * n, 2),
                       result(static_cast<size_t>(m * n));
    command.operand(a);
    command.operand(b);
    command.run(1, result);
    REQUIRE(command.status.ok());
    const uint64_t hash =
        rt::hash64({reinterpret_cast<const uint8_t *>(result.data()),
                    result.size() * sizeof(float)});
    std::printf("bits %s\n%s\n", rt::toHex(hash).c_str(),
                command.description.c_str());
  }
}

TEST_CASE("post-ops: the CPU has all that every device has", "[matmul]") {
  auto library = sinter::cpu::createOneDnnLibrary();
  REQUIRE(library.ok());
  sinter_matmul p = dense(4, 4, 4);
  p.numPostOps = 1;
  const sinter_command command = callOf(&p);
  for (uint32_t kind = 0; kind <= SINTER_NUM_POST_OPS; ++kind) {
    CAPTURE(kind);
    const sinter_post_op_traits *row = sinter_post_op_row(kind);
    const bool isEverywhere = row && row->scope == SINTER_POST_SCOPE_ALL;
    CHECK(sinter::cpu::hasPostOp(kind) == isEverywhere);
    if (sinter::cpu::hasPostOp(kind))
      continue;
    p.postOps[0] = {kind, 0, 0, 0};
    auto prepared = (*library)->prepare(command, {});
    REQUIRE_FALSE(prepared.ok());
    CHECK(prepared.status().code() == SINTER_UNSUPPORTED);
  }
}

TEST_CASE("matmul: NaN goes through every post-op", "[matmul]") {
  for (uint32_t kind :
       {SINTER_POST_RELU, SINTER_POST_GELU_ERF, SINTER_POST_GELU_TANH,
        SINTER_POST_SIGMOID, SINTER_POST_TANH, SINTER_POST_CLIP,
        SINTER_POST_SCALE, SINTER_POST_SWISH, SINTER_POST_HARD_SWISH})
    for (int64_t m : {1, 64})
      for (int64_t spread : {1, 2}) {
        CAPTURE(kind, m, spread);
        sinter_matmul p = dense(m, 48, 16);
        p.cStrideM *= spread;
        p.cStrideN *= spread;
        addPostOp(p, kind, -1, 1);
        std::vector<float> a = someValues(m * 16, 1);
        a[0] = std::nanf("");
        OneCommand command(callOf(&p));
        command.operand(a);
        command.operand(someValues(16 * 48, 2));
        std::vector<float> result(static_cast<size_t>(m * 48 * spread));
        command.run(1, result);
        REQUIRE(std::isnan(result[0]));
        REQUIRE(std::isnan(result[47 * spread]));
        if (m > 1)
          REQUIRE_FALSE(std::isnan(result[48 * spread]));
      }
}

TEST_CASE("matmul: speed", "[.][bench]") {
  for (auto [m, n, k] : {std::tuple{1024, 1024, 1024},
                         {64, 256, 784},
                         {128, 768, 3072},
                         {256, 784, 64},
                         {1, 1024, 1024}})
    for (bool constant : {false, true})
      for (int threads : {1, 2}) {
        sinter_matmul p = dense(m, n, k);
        sinter_command command = callOf(&p);
        std::vector<float> a = someValues(int64_t(m) * k, 1),
                           b = someValues(int64_t(k) * n, 2), c(size_t(m) * n);
        sinter_slice slices[] = {{SINTER_SPACE_INPUT, 0, 0, 4 * a.size()},
                                 {constant ? uint32_t(SINTER_SPACE_CONSTANT)
                                           : uint32_t(SINTER_SPACE_INPUT),
                                  0, 0, 4 * b.size()},
                                 {SINTER_SPACE_OUTPUT, 0, 0, 4 * c.size()}};
        command.slices = slices;
        command.numSlices = 3;
        command.numReads = 2;
        auto device = cpu::createCpuDevice(threads);
        REQUIRE(device.ok());
        auto call =
            (*(*device)->library())
                ->prepare(command, {reinterpret_cast<const uint8_t *>(b.data()),
                                    threads, 64u << 20});
        REQUIRE(call.ok());
        auto stream = (*device)->createStream();
        rt::Scratch scratch;
        scratch.perWorkerStride =
            ((*call)->perWorkerBytes() + 4095) / 4096 * 4096;
        auto shared = rt::AlignedBlock::allocate((*call)->sharedBytes(), "s");
        auto mine = rt::AlignedBlock::allocate(
            scratch.perWorkerStride * uint64_t(threads), "s");
        scratch.shared = shared->data();
        scratch.perWorker = mine->data();
        REQUIRE((*call)->bind(scratch, threads).ok());
        void *buffers[] = {a.data(), b.data(), c.data()};
        double best = 1e9;
        for (int i = 0; i < 30; ++i) {
          auto begin = std::chrono::steady_clock::now();
          REQUIRE((*device)->call(**stream, **call, buffers).ok());
          best = std::min(best, std::chrono::duration<double>(
                                    std::chrono::steady_clock::now() - begin)
                                    .count());
        }
        std::printf("%4dx%4dx%4d %d threads %9.1f us %6.1f GFLOP/s  %s\n", m, n,
                    k, threads, best * 1e6, 2e-9 * m * n * k / best,
                    (*call)->description().c_str());
      }
}
