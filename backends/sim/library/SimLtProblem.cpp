//===- SimLtProblem.cpp - the rules of cuBLASLt's products ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimLtProblem.h"
#include "backends/sim/library/SimMemory.h"

#include <algorithm>
#include <array>
#include <atomic>

using namespace sinter;
using namespace sinter::sim;
namespace lt = sinter::cuda::lt;

static std::atomic<MemoryCheck> memoryCheck{nullptr};

void sinter::sim::setLibraryMemoryCheck(MemoryCheck check) {
  memoryCheck = check;
}

bool sinter::sim::isLibraryMemory(const void *address, uint64_t sizeBytes) {
  MemoryCheck check = memoryCheck;
  return !check || check(address, sizeBytes);
}

uint64_t LtMatrix::elementBytes() const { return lt::elementBytes(type); }

uint64_t LtMatrix::extentBytes() const {
  uint64_t last =
      rows - 1 + (cols - 1) * static_cast<uint64_t>(ld) +
      static_cast<uint64_t>(batch - 1) * static_cast<uint64_t>(batchStride);
  return (last + 1) * elementBytes();
}

namespace {

std::string number(int64_t value) { return std::to_string(value); }

/// A supported combination of types, and whether it has epilogues.
struct TypeRow {
  int32_t compute, scale, in, out;
  bool epilogues;
};
constexpr TypeRow typeRows[] = {
    {lt::compute32F, lt::f32, lt::f32, lt::f32, true},
    {lt::compute32FFastTf32, lt::f32, lt::f32, lt::f32, true},
    {lt::compute32F, lt::f32, lt::bf16, lt::bf16, true},
    {lt::compute32F, lt::f32, lt::bf16, lt::f32, true},
    {lt::compute32F, lt::f32, lt::f16, lt::f16, true},
    {lt::compute32F, lt::f32, lt::f16, lt::f32, true},
    {lt::compute64F, lt::f64, lt::f64, lt::f64, false},
    {lt::compute32I, lt::i32, lt::i8, lt::i32, false},
};

constexpr uint32_t knownEpilogues[] = {1,   2,   4,   6,   32,  36,  130, 134,
                                       136, 152, 160, 164, 192, 208, 256, 512};

std::string checkMatrix(const char *name, const LtMatrix &matrix,
                        int32_t batch) {
  std::string which = std::string("matrix ") + name;
  if (matrix.order != 0)
    return which + " is not stored in columns";
  if (!matrix.rows || !matrix.cols)
    return which + " is empty";
  if (matrix.ld < static_cast<int64_t>(matrix.rows))
    return "leading dimension of " + which + " is " + number(matrix.ld) +
           ", its columns have " + number(int64_t(matrix.rows)) + " rows";
  if (matrix.rows > INT32_MAX || matrix.cols > INT32_MAX)
    return which + " has a dimension of more than 32 bits";
  if (matrix.batch != batch)
    return which + " has a batch of " + number(matrix.batch) + ", D has " +
           number(batch);
  if (matrix.batch > 1 && matrix.batchStride < 0)
    return which + " has a negative batch stride";
  return {};
}

/// Whether no two elements of a written matrix share an address.
bool isDisjoint(const LtMatrix &matrix) {
  std::array<std::pair<int64_t, int64_t>, 3> dims = {
      std::pair(int64_t(1), int64_t(matrix.rows)),
      std::pair(matrix.ld, int64_t(matrix.cols)),
      std::pair(matrix.batchStride, int64_t(matrix.batch))};
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (auto [stride, size] : dims) {
    if (size == 1)
      continue;
    if (stride <= reach)
      return false;
    reach += (size - 1) * stride;
  }
  return true;
}

/// An operand of a call. Its columns repeat every `period` bytes and take
/// `width` of them, so that several operands can lie side by side in one
/// buffer. A `period` of 0: no such structure.
struct Operand {
  const char *name;
  const void *address;
  uint64_t bytes, alignment;
  bool written;
  uint64_t period = 0, width = 0;
};

Operand operandOf(const char *name, const void *address, const LtMatrix &matrix,
                  bool written) {
  uint64_t element = matrix.elementBytes(),
           period = static_cast<uint64_t>(matrix.ld) * element,
           width = matrix.rows * element,
           step = static_cast<uint64_t>(matrix.batchStride) * element;
  if (matrix.batch > 1 && step % period != 0)
    width += static_cast<uint64_t>(matrix.batch - 1) * step;
  if (width > period)
    period = 0;
  return {name, address, matrix.extentBytes(), element, written, period, width};
}

bool overlap(const Operand &x, const Operand &y) {
  auto first = reinterpret_cast<uintptr_t>(x.address),
       second = reinterpret_cast<uintptr_t>(y.address);
  if (first >= second + y.bytes || second >= first + x.bytes)
    return false;
  if (!x.period || x.period != y.period)
    return true;
  uint64_t ahead = (second - first) % x.period; // of x's columns
  if (second < first)
    ahead = (x.period - (first - second) % x.period) % x.period;
  return ahead < x.width || ahead + y.width > x.period;
}

bool isAligned(const void *address, uint64_t bytes) {
  return reinterpret_cast<uintptr_t>(address) % bytes == 0;
}

std::string checkEpilogue(const LtProblem &problem, bool allowed) {
  const LtOperation &op = problem.operation;
  if (std::find(std::begin(knownEpilogues), std::end(knownEpilogues),
                op.epilogue) == std::end(knownEpilogues))
    return "there is no epilogue " + number(op.epilogue);
  if (op.epilogue == lt::epilogueDefault)
    return {};
  if (!allowed)
    return "these types support only the default epilogue";
  int32_t out = problem.d.type;
  if (op.hasBias()) {
    if (!op.bias)
      return "the epilogue needs a bias pointer";
    if (op.biasType != -1 && op.biasType != out)
      return "the bias has type " + number(op.biasType) + ", D has " +
             number(out);
  }
  if (op.hasAux()) {
    if (!op.aux)
      return "the epilogue needs an auxiliary pointer";
    if (op.auxType != -1 && op.auxType != out)
      return "the auxiliary matrix has type " + number(op.auxType) +
             ", D has " + number(out);
    int64_t multiple = op.isRelu() ? 128 : 8;
    if (op.auxLd % multiple || op.auxLd < static_cast<int64_t>(problem.m))
      return "the auxiliary leading dimension " + number(op.auxLd) +
             " is not a multiple of " + number(multiple) + " of at least " +
             number(int64_t(problem.m));
    if (problem.d.batch > 1 && op.auxBatchStride % multiple)
      return "the auxiliary batch stride " + number(op.auxBatchStride) +
             " is not a multiple of " + number(multiple);
    if (problem.d.batch > 1 && op.auxBatchStride == 0)
      return "the products of a batch share one auxiliary matrix";
  }
  if ((op.epilogue & (16u | 256u | 512u)) && problem.d.batch > 1 &&
      op.biasBatchStride == 0)
    return "the products of a batch share one bias gradient";
  return {};
}

/// The rules of integer kernels on ordinary layouts.
std::string checkIntegers(const LtProblem &problem) {
  const LtOperation &op = problem.operation;
  if (op.transA != lt::opT || op.transB != lt::opN)
    return "int8 products need A transposed and B not transposed";
  for (const LtMatrix *matrix :
       {&problem.a, &problem.b, &problem.c, &problem.d})
    if (matrix->ld % 4)
      return "int8 products need leading dimensions in multiples of 4";
  if (problem.m % 4 || problem.k % 4)
    return "int8 products need m and k in multiples of 4";
  return {};
}

} // namespace

std::string LtProblem::check() {
  auto row = std::find_if(
      std::begin(typeRows), std::end(typeRows), [&](const TypeRow &row) {
        return row.compute == operation.computeType &&
               row.scale == operation.scaleType && row.in == a.type &&
               row.in == b.type && row.out == c.type && row.out == d.type;
      });
  if (row == std::end(typeRows))
    return "compute type " + number(operation.computeType) +
           " with scale type " + number(operation.scaleType) +
           " does not take A, B, C, D of types " + number(a.type) + ", " +
           number(b.type) + ", " + number(c.type) + ", " + number(d.type);
  if (operation.pointerMode != 0)
    return "alpha and beta are expected on the host";
  for (auto [name, matrix] : {std::pair("A", &a), std::pair("B", &b),
                              std::pair("C", &c), std::pair("D", &d)})
    if (std::string text = checkMatrix(name, *matrix, d.batch); !text.empty())
      return text;
  if (d.batch < 1)
    return "the batch is " + number(d.batch);

  bool transA = operation.transA == lt::opT,
       transB = operation.transB == lt::opT;
  m = transA ? a.cols : a.rows;
  k = transA ? a.rows : a.cols;
  n = transB ? b.rows : b.cols;
  if ((transB ? b.cols : b.rows) != k)
    return "op(A) has " + number(int64_t(k)) + " columns, op(B) has " +
           number(int64_t(transB ? b.cols : b.rows)) + " rows";
  if (d.rows != m || d.cols != n || c.rows != m || c.cols != n)
    return "op(A) op(B) is " + number(int64_t(m)) + "x" + number(int64_t(n)) +
           ", C is " + number(int64_t(c.rows)) + "x" + number(int64_t(c.cols)) +
           ", D is " + number(int64_t(d.rows)) + "x" + number(int64_t(d.cols));
  if (!isDisjoint(d))
    return "the columns or products of D overlap";
  if (row->in == lt::i8)
    if (std::string text = checkIntegers(*this); !text.empty())
      return text;
  return checkEpilogue(*this, row->epilogues);
}

std::string LtProblem::checkAddresses(const void *aAt, const void *bAt,
                                      const void *cAt, const void *dAt,
                                      bool readsC) const {
  std::array<Operand, 6> operands = {operandOf("A", aAt, a, false),
                                     operandOf("B", bAt, b, false),
                                     operandOf("D", dAt, d, true)};
  size_t count = 3;
  uint64_t batch = static_cast<uint64_t>(d.batch);
  if (readsC && cAt != dAt)
    operands[count++] = operandOf("C", cAt, c, false);
  if (operation.hasBias()) {
    uint64_t length = operation.epilogue == lt::epilogueBGradB ? n : m;
    length += (batch - 1) * static_cast<uint64_t>(operation.biasBatchStride);
    operands[count++] = {"the bias", operation.bias, length * d.elementBytes(),
                         d.elementBytes(),
                         (operation.epilogue & lt::epilogueBias) == 0};
  }
  if (operation.hasAux()) {
    uint64_t elements =
        (n - 1) * static_cast<uint64_t>(operation.auxLd) + m +
        (batch - 1) * static_cast<uint64_t>(operation.auxBatchStride);
    operands[count++] = {"the auxiliary matrix", operation.aux,
                         operation.isRelu() ? (elements + 7) / 8
                                            : elements * d.elementBytes(),
                         16, (operation.epilogue & (8u | 64u)) == 0};
  }
  if (cAt == dAt && readsC && !(c == d))
    return "C and D are one matrix with two layouts";
  for (size_t i = 0; i < count; ++i) {
    const Operand &x = operands[i];
    if (!x.address)
      return std::string(x.name) + " is null";
    if (!isAligned(x.address, x.alignment))
      return std::string(x.name) + " is not aligned to " +
             number(int64_t(x.alignment)) + " bytes";
    if (!isLibraryMemory(x.address, x.bytes))
      return std::string(x.name) + " of " + number(int64_t(x.bytes)) +
             " bytes does not lie in memory of the device";
    for (size_t j = 0; j < i; ++j) {
      const Operand &y = operands[j];
      if ((x.written || y.written) && overlap(x, y))
        return std::string(y.name) + " and " + x.name + " overlap";
    }
  }
  return {};
}

uint64_t LtProblem::hash() const {
  uint64_t hash = 0xcbf29ce484222325u;
  auto mix = [&](int64_t value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x100000001b3u;
  };
  for (const LtMatrix *x : {&a, &b, &c, &d})
    for (int64_t value : {int64_t(x->type), int64_t(x->rows), int64_t(x->cols),
                          x->ld, int64_t(x->batch), x->batchStride})
      mix(value);
  for (int64_t value :
       {int64_t(operation.computeType), int64_t(operation.transA),
        int64_t(operation.transB), int64_t(operation.epilogue)})
    mix(value);
  return hash;
}
