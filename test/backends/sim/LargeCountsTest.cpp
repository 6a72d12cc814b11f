//===- LargeCountsTest.cpp - kernels on more than 2^32 elements -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The mappings of GPU kernels over loops, on tensors whose sizes are around
// 2^31 and 2^32. (Scans and sorts have positions of 64 bits in any case.) The
// tensors are address space without memory: only a few blocks of each grid run,
// around the numbers at which 32 bits end, and they touch few pages.
//
//===----------------------------------------------------------------------===//
#include "test/backends/sim/SimKernel.h"

#include "backends/cuda/codegen/Nvptx.h"
#include "backends/gpu/codegen/Lowering.h"
#include "ir/Dialect.h"
#include "ir/exec/Exec.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <catch2/catch.hpp>

#include <functional>
#include <sys/mman.h>

using namespace sinter;

namespace {

/// Zeros that take memory only where they are written.
template <class T> class Sparse {
public:
  explicit Sparse(int64_t count) : sizeBytes_(uint64_t(count) * sizeof(T)) {
    void *memory = mmap(nullptr, sizeBytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    data_ = static_cast<T *>(memory);
  }
  ~Sparse() { munmap(data_, sizeBytes_); }
  Sparse(const Sparse &) = delete;
  Sparse &operator=(const Sparse &) = delete;

  T &operator[](int64_t i) { return data_[i]; }
  sim::MemoryRange range() const { return {data_, sizeBytes_, true}; }

private:
  T *data_ = nullptr;
  uint64_t sizeBytes_;
};

/// The kernel of an exec.kernel called @k, compiled as for NVIDIA's GPUs.
class Kernel {
public:
  explicit Kernel(const std::string &text) {
    context_.loadDialect<ir::SinterDialect, exec::ExecDialect>();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    REQUIRE(module);
    passes::CodeGenOptions options;
    auto kernels = gpu::lowerKernels(
        *module, cuda::nvidia(), 90u, options,
        [&](llvm::Module &kernel, unsigned) -> std::optional<std::string> {
          std::string llvmText;
          llvm::raw_string_ostream(llvmText) << kernel;
          return llvmText;
        });
    REQUIRE(succeeded(kernels));
    auto op = *module->getOps<exec::KernelOp>().begin();
    grid = (*op.getGrid())[0];
    block = (*op.getBlock())[0];
    sim::SimOptions simulated;
    simulated.isChecked = false; // that would take memory for each element
    code_ = test::SimKernel::fromText(kernels->front().front(), "k", simulated);
    INFO(code_->error());
    REQUIRE(code_->code());
  }

  /// Runs the blocks from `first` to `last` that there are.
  void run(int64_t first, int64_t last, std::vector<sim::MemoryRange> buffers) {
    first = std::clamp<int64_t>(first, 0, grid - 1);
    last = std::clamp<int64_t>(last, 0, grid - 1);
    sim::Launch launch =
        code_->launch(std::move(buffers), uint32_t(grid), uint32_t(block));
    launch.firstBlock = uint64_t(first);
    launch.numBlocks = uint64_t(last - first + 1);
    sim::Engine engine{sim::EngineOptions()};
    CHECK(engine.launch(launch, nullptr).message() == "");
  }

  int64_t grid = 0, block = 0;

private:
  mlir::MLIRContext context_;
  std::unique_ptr<test::SimKernel> code_;
};

/// Where 32 bits end, for `count` things that blocks do in order.
std::vector<int64_t> edgesOf(int64_t count) {
  std::vector<int64_t> edges{0, count - 1};
  for (int64_t edge : {int64_t(1) << 31, int64_t(1) << 32})
    if (edge < count)
      edges.push_back(edge);
  return edges;
}

/// Calls `visit` with ranges [begin, end) of `count` things around the edges,
/// and the blocks that do them, if blocks do equally many, in order.
void aroundEdges(
    int64_t count, int64_t grid,
    const std::function<void(int64_t begin, int64_t end, int64_t firstBlock,
                             int64_t lastBlock)> &visit) {
  const int64_t perBlock = (count + grid - 1) / grid;
  for (int64_t edge : edgesOf(count)) {
    CAPTURE(count, edge);
    visit(std::max<int64_t>(edge - 40, 0), std::min(edge + 40, count),
          (edge - 40) / perBlock - 1, (edge + 40) / perBlock + 1);
  }
}

/// A small whole number for element `i`; neighbours differ.
int64_t valueOf(int64_t i) { return (i * 7 + i / 1000) % 61 - 30; }

void checkElementwise(std::vector<int64_t> shape) {
  int64_t count = 1;
  std::string dims, sizes, map;
  for (size_t i = 0; i < shape.size(); ++i) {
    count *= shape[i];
    dims += std::to_string(shape[i]) + "x";
    sizes += (i ? ", " : "") + std::to_string(shape[i]);
    map += (i ? ", d" : "d") + std::to_string(i);
  }
  Kernel kernel(llvm::formatv(R"(
    exec.kernel @k loop over <[{1}] views [({2}) -> ({2})]> {{
    ^bb0(%x: tensor<{0}i8>):
      %0 = sinter.add %x, %x : tensor<{0}i8>
      sinter.yield %0 : tensor<{0}i8>
    })",
                              dims, sizes, map));
  Sparse<int8_t> x(count), y(count);
  aroundEdges(count, kernel.grid,
              [&](int64_t begin, int64_t end, int64_t first, int64_t last) {
                for (int64_t i = begin; i < end; ++i)
                  x[i] = int8_t(valueOf(i));
                kernel.run(first, last, {x.range(), y.range()});
                for (int64_t i = begin; i < end; ++i) {
                  CAPTURE(i);
                  REQUIRE(int64_t(y[i]) == 2 * valueOf(i));
                }
              });
}

} // namespace

TEST_CASE("large counts: elementwise", "[large]") {
  constexpr int64_t k31 = int64_t(1) << 31, k32 = int64_t(1) << 32;
  for (int64_t count : {k31 - 5, k31, k31 + 5, k32 - 16, k32, k32 + 5,
                        k32 + 16 * 256 * 4, 2 * k32 + 1})
    checkElementwise({count});
  checkElementwise({65536, 65536});
  checkElementwise({65537, 65537});
  checkElementwise({65541, 65540});
}

TEST_CASE("large counts: rows", "[large]") {
  constexpr int64_t rows = 4294980, size = 1000;
  Kernel sum(llvm::formatv(R"(
    exec.kernel @k reduce over <[{0}, {1}] reduced [1] views [(d0, d1) -> (d0)]> {{
    ^bb0(%x: tensor<{0}x{1}xf32>):
      %0 = sinter.reduce sum %x dims [1] : (tensor<{0}x{1}xf32>) -> tensor<{0}xf32>
      sinter.yield %0 : tensor<{0}xf32>
    })",
                           rows, size));
  Kernel arg(llvm::formatv(R"(
    exec.kernel @k reduce over <[{0}, {1}] reduced [1] views [(d0, d1) -> (d0)]> {{
    ^bb0(%x: tensor<{0}x{1}xf32>):
      %0 = sinter.arg_reduce max %x {{axis = 1 : i64} : (tensor<{0}x{1}xf32>) -> tensor<{0}xi64>
      sinter.yield %0 : tensor<{0}xi64>
    })",
                           rows, size));
  Kernel centred(llvm::formatv(R"(
    exec.kernel @k reduce over <[{0}, {1}] reduced [1] views [(d0, d1) -> (d0, d1)]> {{
    ^bb0(%x: tensor<{0}x{1}xf32>):
      %0 = sinter.reduce max %x dims [1] : (tensor<{0}x{1}xf32>) -> tensor<{0}xf32>
      %1 = sinter.broadcast %0 dims [0] : tensor<{0}xf32> -> tensor<{0}x{1}xf32>
      %2 = sinter.sub %x, %1 : tensor<{0}x{1}xf32>
      sinter.yield %2 : tensor<{0}x{1}xf32>
    })",
                               rows, size));
  Sparse<float> x(rows * size), sums(rows), all(rows * size);
  Sparse<int64_t> places(rows);
  for (int64_t edge : edgesOf(rows * size)) {
    const int64_t row = edge / size;
    CAPTURE(row);
    int64_t total = 0;
    for (int64_t i = 0; i < size; ++i) {
      x[row * size + i] = float(valueOf(row * size + i));
      total += valueOf(row * size + i);
    }
    const int64_t place = row % size;
    x[row * size + place] = 50;
    places[row] = all[row * size + place] = -1;
    total += 50 - valueOf(row * size + place);
    auto around = [&](Kernel &kernel, sim::MemoryRange result) {
      int64_t block = row / ((rows + kernel.grid - 1) / kernel.grid);
      kernel.run(block - 1, block + 1, {x.range(), result});
    };
    around(sum, sums.range());
    CHECK(sums[row] == float(total));
    around(arg, places.range());
    CHECK(places[row] == place);
    around(centred, all.range());
    CHECK(all[row * size + place] == 0);
    CHECK(all[row * size + 7] == x[row * size + 7] - 50);
  }
}

TEST_CASE("large counts: columns", "[large]") {
  constexpr int64_t rows = 8200, columns = 524309; // more than 2^32
  Kernel kernel(llvm::formatv(R"(
    exec.kernel @k reduce over <[{0}, {1}] reduced [0] views [(d0, d1) -> (d1)]> {{
    ^bb0(%x: tensor<{0}x{1}xf32>):
      %0 = sinter.reduce sum %x dims [0] : (tensor<{0}x{1}xf32>) -> tensor<{1}xf32>
      sinter.yield %0 : tensor<{1}xf32>
    })",
                              rows, columns));
  // So few columns that threads share their sums.
  constexpr int64_t length = 65700, width = 32704;
  Kernel shared(llvm::formatv(R"(
    exec.kernel @k reduce over <[2, {0}, {1}] reduced [1] views [(d0, d1, d2) -> (d0, d2)]> {{
    ^bb0(%x: tensor<2x{0}x{1}xf32>):
      %0 = sinter.reduce sum %x dims [1] : (tensor<2x{0}x{1}xf32>) -> tensor<2x{1}xf32>
      sinter.yield %0 : tensor<2x{1}xf32>
    })",
                              length, width));
  CHECK(shared.block == 256); // 32 columns, 8 threads each
  CHECK(shared.grid == 2 * width / 32);
  Sparse<float> x(rows * columns), sums(columns);
  for (int64_t column : {int64_t(0), columns - 1}) {
    for (int64_t row : {int64_t(0), int64_t(4096), int64_t(8191), rows - 1})
      x[row * columns + column] = float(row + 1);
    const int64_t perBlock = (columns + kernel.grid - 1) / kernel.grid;
    kernel.run(column / perBlock, column / perBlock, {x.range(), sums.range()});
    CHECK(sums[column] == 1 + 4097 + 8192 + rows);
  }
  Sparse<float> z(2 * length * width), zSums(2 * width);
  for (int64_t half : {0, 1}) {
    const int64_t column = width - 1, at = half * length * width + column;
    z[at] = 5;
    z[at + (length - 1) * width] = 6;
    const int64_t at32 = (half * width + column) / 32;
    shared.run(at32, at32, {z.range(), zSums.range()});
    CHECK(zSums[half * width + column] == 11);
  }
}

TEST_CASE("large counts: transposed", "[large]") {
  constexpr int64_t rows = 65537, columns = 65539;
  Kernel kernel(llvm::formatv(R"(
    exec.kernel @k loop over <[{1}, {0}] views [(d0, d1) -> (d0, d1)]> {{
    ^bb0(%x: tensor<{0}x{1}xf32>):
      %0 = sinter.transpose %x perm [1, 0] : (tensor<{0}x{1}xf32>) -> tensor<{1}x{0}xf32>
      %1 = sinter.neg %0 : tensor<{1}x{0}xf32>
      sinter.yield %1 : tensor<{1}x{0}xf32>
    })",
                              rows, columns));
  Sparse<float> x(rows * columns), y(rows * columns);
  // Squares are numbered along the first dimension of x or of y.
  constexpr int64_t square = 32;
  for (int64_t row : {int64_t(0), int64_t(32768), rows - 1})
    for (int64_t column : {int64_t(0), int64_t(65535), columns - 1}) {
      CAPTURE(row, column);
      x[row * columns + column] = float(row + 1);
      const int64_t r = row / square, c = column / square;
      for (int64_t block : {r * ((columns + square - 1) / square) + c,
                            c * ((rows + square - 1) / square) + r})
        kernel.run(block, block, {x.range(), y.range()});
      CHECK(y[column * rows + row] == -float(row + 1));
    }
}

TEST_CASE("large counts: products", "[large]") {
  constexpr int64_t rows = 4194309, depth = 32, columns = 1024;
  const std::string text = R"(
    exec.kernel @k matmul over <[{0}, {2}] views [(d0, d1) -> (d0, d1)]> {{
    ^bb0(%x: tensor<{0}x{1}x{3}>, %w: tensor<{1}x{2}x{3}>):
      {4}%y = sinter.dot_general {5} batch [] x [] contract [1] x [0] : (tensor<{0}x{1}xf32>, tensor<{1}x{2}xf32>) -> tensor<{0}x{2}xf32>
      sinter.yield %y : tensor<{0}x{2}xf32>
    })";
  auto source = [&](int64_t m, int64_t k, int64_t n, bool isNarrow) {
    std::string casts = llvm::formatv(
        "%a = sinter.cast %x : tensor<{0}x{1}xbf16> -> tensor<{0}x{1}xf32>\n"
        "%b = sinter.cast %w : tensor<{1}x{2}xbf16> -> tensor<{1}x{2}xf32>\n",
        m, k, n);
    return llvm::formatv(text.c_str(), m, k, n, isNarrow ? "bf16" : "f32",
                         isNarrow ? casts : "", isNarrow ? "%a, %b" : "%x, %w")
        .str();
  };
  auto check = [&](auto zero, int64_t m, int64_t k, int64_t n, auto encode,
                   bool isNarrow) {
    using T = decltype(zero);
    Kernel kernel(source(m, k, n, isNarrow));
    CAPTURE(m, k, n, isNarrow, kernel.grid);
    Sparse<T> x(m * k), w(k * n);
    Sparse<float> y(m * n);
    for (int64_t i = 0; i < k * n; ++i)
      w[i] = encode(valueOf(i));
    // Tiles are numbered along the columns first.
    for (int64_t edge : edgesOf(m * n)) {
      const int64_t row = edge / n, column = edge % n;
      for (int64_t i = 0; i < k; ++i)
        x[row * k + i] = encode(valueOf(row + i));
      int64_t sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += valueOf(row + i) * valueOf(i * n + column);
      const auto block = int64_t(double(row) / double(m) * double(kernel.grid));
      const int64_t near = 2 + 2 * n / 16;
      kernel.run(block - near, block + near, {x.range(), w.range(), y.range()});
      CAPTURE(row, column);
      CHECK(y[row * n + column] == float(sum));
    }
  };
  auto asFloat = [](int64_t value) { return float(value); };
  auto asBfloat16 = [](int64_t value) { // exact for small whole numbers
    const float wide = float(value);
    uint32_t bits;
    std::memcpy(&bits, &wide, sizeof bits);
    return uint16_t(bits >> 16);
  };
  check(float(), rows, depth, columns, asFloat, false);
  check(uint16_t(), rows, depth, columns, asBfloat16, true);
  check(float(), 67108871, 1, 65, asFloat, false); // an outer product
}
