//===- OneDnnMatmulTest.cpp - fp32 products on the CPU --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/FloatPanels.h"
#include "backends/cpu/device/RowPanels.h"
#include "runtime/base/Hash.h"
#include "test/runtime/FloatProducts.h"

#include <chrono>
#include <cstdio>

using namespace sinter;
using namespace sinter::test;

TEST_CASE("matmul: shapes, dense and transposed", "[matmul]") {
  for (int64_t m : {1, 2, 17, 64, 131})
    for (int64_t n : {1, 3, 16, 67, 256})
      for (int64_t k : {1, 5, 64, 129}) {
        CAPTURE(m, n, k);
        sinter_matmul p = dense(m, n, k);
        checkProduct(p);
        checkProduct(p, {.constantB = true});
        sinter_matmul at = p;
        at.aStrideM = 1;
        at.aStrideK = m;
        checkProduct(at);
        sinter_matmul bt = p;
        bt.bStrideK = 1;
        bt.bStrideN = k;
        checkProduct(bt);
        checkProduct(bt, {.constantB = true});
        sinter_matmul ct = p;
        ct.cStrideM = 1;
        ct.cStrideN = m;
        checkProduct(ct);
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
        const bool isOwn = m <= 4 && cpu::rowUnit() != cpu::RowUnit::None;
        auto isRowProduct = [](const std::string &description) {
          return description.find("weights packed at load") !=
                 std::string::npos;
        };
        CHECK((!isOwn || isRowProduct(checkProduct(p, {.constantB = true}))));
        checkProduct(p, {.constantB = true, .addResult = true});
        p.aStrideM = 2 * k;
        p.aStrideK = 2;
        p.cStrideM = 1;
        p.cStrideN = m;
        checkProduct(p, {.constantB = true});
        checkProduct(p, {.constantB = true, .addResult = true});
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
            const std::string description = checkProduct(p);
            // A matrix with one row or column has several forms.
            const bool isOwn = m <= (areColumns ? 2 : 4) && n > 1 && k > 1 &&
                               cpu::rowUnit() != cpu::RowUnit::None;
            if (isOwn)
              CHECK(description.find("B in place") != std::string::npos);
            for (uint32_t kind : {SINTER_POST_BIAS, SINTER_POST_GELU_ERF,
                                  SINTER_POST_ADD, SINTER_POST_RELU})
              addPostOp(p, kind);
            checkProduct(p);
            checkProduct(p, {.addResult = true});
            p.cStrideM = 1;
            p.cStrideN = m;
            checkProduct(p);
          }
}

TEST_CASE("matmul: dimensions of size 0", "[matmul]") {
  for (auto [m, n, k] :
       {std::tuple{0, 4, 5}, {4, 0, 5}, {4, 5, 0}, {0, 0, 0}}) {
    CAPTURE(m, n, k);
    sinter_matmul p = dense(m, n, k);
    checkProduct(p);
    addPostOp(p, SINTER_POST_BIAS);
    addPostOp(p, SINTER_POST_GELU_ERF);
    addPostOp(p, SINTER_POST_ADD);
    checkProduct(p);
    checkProduct(p, {.addResult = true});
    sinter_matmul batched = dense(m, n, k);
    addBatch(batched, 3, m * k, k * n, m * n);
    checkProduct(batched);
    sinter_matmul none = dense(4, 5, 6);
    addBatch(none, 0, 24, 30, 20);
    checkProduct(none);
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
    checkProduct(p);
    checkProduct(p, {.constantB = true});
    checkProduct(p, {.addResult = true});
    // No dimension has stride 1.
    sinter_matmul q = dense(m, n, k);
    q.aStrideM = 2 * k;
    q.aStrideK = 2;
    q.bStrideK = 3 * n;
    q.bStrideN = 3;
    q.cStrideM = 2 * n;
    q.cStrideN = 2;
    checkProduct(q);
    addPostOp(q, SINTER_POST_BIAS);
    addPostOp(q, SINTER_POST_ADD);
    checkProduct(q);
    checkProduct(q, {.addResult = true});
  }
  // One row of A for all m: a stride of 0.
  sinter_matmul broadcast = dense(20, 30, 40);
  broadcast.aStrideM = 0;
  checkProduct(broadcast);
  sinter_matmul column = dense(20, 30, 40);
  column.bStrideN = 0;
  checkProduct(column);
  // Overlapping windows, as in an unrolled 1-D convolution.
  sinter_matmul windows = dense(50, 8, 5);
  windows.aStrideM = 1;
  windows.aStrideK = 1;
  checkProduct(windows);
}

TEST_CASE("matmul: matrices that overhang each other", "[matmul]") {
  // Every second of 5 rows: the three rows extend into the next matrix.
  sinter_matmul rows = dense(3, 3, 8);
  rows.aStrideM = 16;
  addBatch(rows, 4, 40, 0, 9);
  checkProduct(rows);
  // Every third of 7 columns of a transposed A, and of the rows of B.
  sinter_matmul columns = dense(6, 5, 3);
  columns.aStrideM = 1;
  columns.aStrideK = 18;
  addBatch(columns, 4, 42, 15, 30);
  checkProduct(columns);
  sinter_matmul both = dense(6, 5, 3);
  both.bStrideK = 15;
  addBatch(both, 4, 18, 35, 30);
  checkProduct(both);
  addPostOp(both, SINTER_POST_BIAS);
  addPostOp(both, SINTER_POST_RELU);
  checkProduct(both);
}

TEST_CASE("matmul: batches", "[matmul]") {
  SECTION("dense") {
    for (int64_t size : {1, 2, 7, 100}) {
      sinter_matmul p = dense(12, 20, 9);
      addBatch(p, size, 12 * 9, 9 * 20, 12 * 20);
      checkProduct(p);
      addPostOp(p, SINTER_POST_BIAS);
      addPostOp(p, SINTER_POST_ADD);
      checkProduct(p);
      checkProduct(p, {.addResult = true});
    }
  }
  SECTION("one B for all") {
    sinter_matmul p = dense(12, 20, 9);
    addBatch(p, 5, 12 * 9, 0, 12 * 20);
    addPostOp(p, SINTER_POST_BIAS);
    checkProduct(p);
    checkProduct(p, {.constantB = true});
    p.aBatchStrides[0] += 3; // the rows cannot be one matrix
    checkProduct(p);
    checkProduct(p, {.constantB = true});
  }
  SECTION("one A for all") {
    sinter_matmul p = dense(12, 20, 9);
    addBatch(p, 50, 0, 9 * 20, 12 * 20);
    checkProduct(p);
    addPostOp(p, SINTER_POST_ADD);
    checkProduct(p, {.addResult = true});
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
    checkProduct(p);
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
        checkProduct(p);
        addPostOp(p, SINTER_POST_BIAS);
        checkProduct(p);
        addPostOp(p, second);
        checkProduct(p);
        const std::string description = checkProduct(p, {.constantB = true});
        if (steps >= 16 && cpu::floatUnit() != cpu::FloatUnit::None)
          CHECK(description.find("B packed at load") != std::string::npos);
      }
  }
  SECTION("products by one matrix are one product") {
    // Layers of a batch whose steps are transposed before or after them; the
    // rows of A may be contiguous or not. A chunk ends within a group.
    for (auto [count, rows] : {std::pair{16, 20}, {3, 200}, {70, 7}, {5, 5}})
      for (bool alternates : {false, true})
        for (bool isTransposed : {false, true}) {
          CAPTURE(count, rows, alternates, isTransposed);
          const int64_t columns = 136, depth = 400;
          sinter_matmul p = dense(rows, columns, depth);
          if (isTransposed) {
            p.aStrideM = 1;
            p.aStrideK = rows;
          }
          if (alternates)
            p.cStrideM = count * columns;
          // Matrices of A are farther apart than their rows: not one matrix.
          addBatch(p, count, rows * depth + 16, 0,
                   alternates ? columns : rows * columns);
          addPostOp(p, SINTER_POST_BIAS);
          addPostOp(p, SINTER_POST_ADD);
          const std::string description = checkProduct(p),
                            constant = checkProduct(p, {.constantB = true});
          if (cpu::floatUnit() == cpu::FloatUnit::Fma16) {
            CHECK(description.starts_with("product of fp32"));
            CHECK(constant.starts_with("product of fp32"));
          }
        }
  }
  SECTION("three dimensions, broadcast in the middle") {
    sinter_matmul p = dense(6, 10, 8);
    addBatch(p, 2, 3 * 48, 80, 12 * 60);
    addBatch(p, 4, 0, 0, 3 * 60);
    addBatch(p, 3, 48, 0, 60);
    checkProduct(p);
    addPostOp(p, SINTER_POST_BIAS);
    checkProduct(p);
  }
  SECTION("single rows with a transposed result") {
    sinter_matmul p = dense(1, 24, 8);
    p.cStrideN = 5;
    p.cStrideM = 1;
    addBatch(p, 5, 8, 0, 1);
    addPostOp(p, SINTER_POST_BIAS);
    checkProduct(p);
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
      checkProduct(p);
      addPostOp(p, SINTER_POST_BIAS);
      addPostOp(p, SINTER_POST_RELU);
      checkProduct(p, {.constantB = true});
      addPostOp(p, SINTER_POST_ADD);
      checkProduct(p, {.constantB = true});
      checkProduct(p, {.constantB = true, .addResult = true});
    }
  }
  SECTION("long sums") {
    sinter_matmul p = dense(10, 20, 40000);
    checkProduct(p);
    addPostOp(p, SINTER_POST_BIAS);
    addPostOp(p, SINTER_POST_ADD);
    addPostOp(p, SINTER_POST_TANH);
    checkProduct(p);
    checkProduct(p, {.addResult = true});
    checkProduct(p, {.constantB = true});
    p.aStrideM = 1;
    p.aStrideK = 10;
    checkProduct(p);
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
        checkProduct(p, {constantB, addResult});
        sinter_matmul transposed = p;
        transposed.aStrideM = 1;
        transposed.aStrideK = m;
        transposed.bStrideK = 1;
        transposed.bStrideN = k;
        checkProduct(transposed, {constantB, addResult});
        // Written as C^T = B^T * A^T, with a bias along the rows.
        transposed.cStrideM = 1;
        transposed.cStrideN = m;
        checkProduct(transposed, {false, addResult});
      }
  }
}

// For fp32-units.test: the results of all units have the same bits.
TEST_CASE("matmul: bits", "[.][product-bits]") {
  for (auto [m, n, k, areColumns] : {std::tuple{17, 40, 600, false},
                                     {64, 256, 784, false},
                                     {300, 33, 1025, false},
                                     {1, 200, 300, false},
                                     {3, 65, 77, false},
                                     {2, 70, 333, true}}) {
    sinter_matmul p = dense(m, n, k);
    if (areColumns) {
      p.bStrideK = 1;
      p.bStrideN = k;
    }
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
