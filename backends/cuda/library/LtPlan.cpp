//===- LtPlan.cpp - matrix products as cuBLASLt problems ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/LtPlan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

using namespace sinter;
using namespace sinter::cuda;

namespace {

constexpr int numOperands = LtPlan::numOperands;
constexpr int maxLoops = SINTER_MAX_BATCH_DIMS + 2;
/// For more calls per product than this, the library is not worth using.
constexpr int64_t maxCalls = 256;

/// One loop of the product and each operand's stride per iteration.
struct Loop {
  int64_t size = 1;
  std::array<int64_t, numOperands> strides{};

  /// Whether this loop around `inner` is one loop in every operand.
  bool continues(const Loop &inner) const {
    for (int x = 0; x < numOperands; ++x)
      if (strides[x] != inner.strides[x] * inner.size)
        return false;
    return true;
  }
};

/// The product as loops, and the steps that turn them into a problem.
class Product {
public:
  Product(const sinter_matmul &p, LtPlan &plan) : p_(p), plan_(plan) {}
  void make();

private:
  bool refuse(std::string reason) {
    plan_.refusal = std::move(reason);
    return false;
  }
  bool takeTypes();
  bool takePostOps();
  bool takePostOp(uint32_t i);
  void takeLoops();
  void joinBatches();
  bool foldInto(Loop &loop, int reads);
  void push(Loop &loop);
  bool place();
  bool tryPlace(bool swapped);
  static bool layOut(LtLayout &layout, int32_t &trans, const Loop &outer,
                     const Loop &depth, int operand);
  bool takeBatches();
  bool checkIntegers();
  bool checkAux();
  bool takeSums();

  const sinter_matmul &p_;
  LtPlan &plan_;
  Loop m_, n_, k_;
  std::array<Loop, maxLoops> batches_;
  int numBatches_ = 0;
  bool activated_ = false, keeps_ = false;
  /// The operand whose sums over k are stored, and their slice.
  std::optional<LtPlan::Operand> summed_;
  uint32_t sumSlice_ = noSlice;
};

} // namespace

bool Product::takeTypes() {
  struct Row {
    uint32_t in, out;
    int32_t inType, outType;
    int computeType;
    int32_t scaleType;
  };
  static constexpr Row rows[] = {
      {SINTER_F32, SINTER_F32, lt::f32, lt::f32, lt::compute32F, lt::f32},
      {SINTER_TF32, SINTER_F32, lt::f32, lt::f32, lt::compute32FFastTf32,
       lt::f32},
      {SINTER_BF16, SINTER_BF16, lt::bf16, lt::bf16, lt::compute32F, lt::f32},
      {SINTER_BF16, SINTER_F32, lt::bf16, lt::f32, lt::compute32F, lt::f32},
      {SINTER_F16, SINTER_F16, lt::f16, lt::f16, lt::compute32F, lt::f32},
      {SINTER_F16, SINTER_F32, lt::f16, lt::f32, lt::compute32F, lt::f32},
      {SINTER_F64, SINTER_F64, lt::f64, lt::f64, lt::compute64F, lt::f64},
      {SINTER_I8, SINTER_I32, lt::i8, lt::i32, lt::compute32I, lt::i32},
  };
  for (const Row &row : rows)
    if (row.in == p_.dtype && row.out == p_.outDtype) {
      plan_.a.type = plan_.b.type = row.inType;
      plan_.d.type = row.outType;
      plan_.computeType = row.computeType;
      plan_.scaleType = row.scaleType;
      return true;
    }
  return refuse("cuBLASLt does not multiply dtype " + std::to_string(p_.dtype) +
                " into dtype " + std::to_string(p_.outDtype));
}

/// Takes post-op number `i`; those before it are taken.
bool Product::takePostOp(uint32_t i) {
  const sinter_post_op &op = p_.postOps[i];
  auto activate = [&](uint32_t epilogue) {
    if (activated_)
      return false;
    activated_ = true;
    plan_.epilogue = (plan_.epilogue & ~lt::epilogueDefault) | epilogue;
    return true;
  };
  switch (op.kind) {
  case SINTER_POST_SCALE:
    // alpha (AB + C) is alpha AB + alpha C.
    if (activated_ || keeps_ || plan_.biasSlice != noSlice)
      return false;
    plan_.reorders |= i > 0;
    plan_.alpha *= op.alpha;
    plan_.beta *= op.alpha;
    return true;
  case SINTER_POST_ADD:
    if (activated_ || keeps_ || plan_.cSlice != noSlice)
      return false;
    plan_.beta = 1;
    plan_.cSlice = op.slice;
    return true;
  case SINTER_POST_BIAS:
    if (activated_ || keeps_ || plan_.biasSlice != noSlice)
      return false;
    plan_.biasSlice = op.slice;
    plan_.epilogue = (plan_.epilogue & ~lt::epilogueDefault) | lt::epilogueBias;
    return true;
  case SINTER_POST_RELU:
    return !keeps_ && activate(lt::epilogueRelu);
  case SINTER_POST_CLIP:
    return !keeps_ && op.alpha == 0 && std::isinf(op.beta) && op.beta > 0 &&
           activate(lt::epilogueRelu);
  case SINTER_POST_GELU_TANH:
    plan_.approximates |= p_.dtype == SINTER_F32;
    return activate(keeps_ ? lt::epilogueGeluAux : lt::epilogueGelu);
  case SINTER_POST_STORE:
    // The operand of a GELU; see SINTER_POST_GELU_TANH.
    if (activated_ || keeps_)
      return false;
    keeps_ = true;
    plan_.auxSlice = op.slice;
    return true;
  case SINTER_POST_RELU_BITS:
    plan_.auxSlice = op.slice;
    return !keeps_ && activate(lt::epilogueReluAux);
  case SINTER_POST_RELU_GRAD:
    plan_.auxSlice = op.slice;
    return !keeps_ && plan_.biasSlice == noSlice && activate(lt::epilogueDRelu);
  case SINTER_POST_GELU_TANH_GRAD:
    plan_.approximates |= p_.dtype == SINTER_F32;
    plan_.auxSlice = op.slice;
    return !keeps_ && plan_.biasSlice == noSlice && activate(lt::epilogueDGelu);
  case SINTER_POST_BIAS_GRAD:
    if (plan_.epilogue != lt::epilogueDRelu &&
        plan_.epilogue != lt::epilogueDGelu)
      return false;
    plan_.epilogue |= lt::epilogueDReluBGrad & ~lt::epilogueDRelu;
    plan_.biasSlice = op.slice;
    return true;
  case SINTER_POST_A_SUM:
  case SINTER_POST_B_SUM:
    if (summed_)
      return false;
    summed_ = op.kind == SINTER_POST_A_SUM ? LtPlan::A : LtPlan::B;
    sumSlice_ = op.slice;
    return true;
  default:
    return false;
  }
}

bool Product::takePostOps() {
  for (uint32_t i = 0; i < p_.numPostOps; ++i) {
    const sinter_post_op_traits *traits =
        sinter_post_op_row(p_.postOps[i].kind);
    if (!takePostOp(i))
      return refuse("no epilogue of cuBLASLt has '" +
                    std::string(traits ? traits->name : "?") + "' as post-op " +
                    std::to_string(i));
  }
  if (keeps_ && !activated_)
    return refuse("cuBLASLt stores only the value before a GELU");
  bool plain = plan_.epilogue == lt::epilogueDefault;
  if (summed_ && !plain)
    return refuse("cuBLASLt sums an operand only without another epilogue");
  plain &= !summed_;
  if (p_.dtype == SINTER_F64 && !plain)
    return refuse("cuBLASLt has no epilogue in fp64");
  if (p_.dtype == SINTER_I8 && p_.numPostOps)
    return refuse("cuBLASLt has no epilogue for 32-bit integers");
  return true;
}

void Product::takeLoops() {
  using P = LtPlan;
  m_.size = p_.m;
  n_.size = p_.n;
  k_.size = p_.k;
  m_.strides[P::A] = p_.aStrideM;
  k_.strides[P::A] = p_.aStrideK;
  k_.strides[P::B] = p_.bStrideK;
  n_.strides[P::B] = p_.bStrideN;
  m_.strides[P::D] = p_.cStrideM;
  n_.strides[P::D] = p_.cStrideN;
  bool hasBias = plan_.biasSlice != noSlice, hasAux = plan_.auxSlice != noSlice;
  bool bits = plan_.epilogue == lt::epilogueReluAux ||
              plan_.epilogue == lt::epilogueReluAuxBias ||
              (plan_.epilogue & ~16u) == lt::epilogueDRelu;
  n_.strides[P::Bias] = hasBias;
  int64_t line = reluBitsPerLine(p_.n);
  if (hasAux) {
    n_.strides[P::Aux] = bits ? 1 : p_.cStrideN;
    m_.strides[P::Aux] = bits ? line : p_.cStrideM;
  }
  int64_t bitStride = line * p_.m;
  numBatches_ = static_cast<int>(p_.batchRank);
  for (int i = numBatches_ - 1; i >= 0; --i) {
    Loop &loop = batches_[i];
    loop.size = p_.batch[i];
    loop.strides[P::A] = p_.aBatchStrides[i];
    loop.strides[P::B] = p_.bBatchStrides[i];
    loop.strides[P::D] = p_.cBatchStrides[i];
    if (hasAux)
      loop.strides[P::Aux] = bits ? bitStride : p_.cBatchStrides[i];
    bitStride *= p_.batch[i];
  }
  for (Loop *loop : {&m_, &n_, &k_})
    if (loop->size == 1)
      loop->strides = {};
}

/// Drops loops of one iteration and merges adjacent loops if possible.
void Product::joinBatches() {
  auto begin = batches_.begin();
  auto end = std::remove_if(begin, begin + numBatches_,
                            [](const Loop &loop) { return loop.size == 1; });
  std::sort(begin, end, [](const Loop &x, const Loop &y) {
    return x.strides[LtPlan::D] > y.strides[LtPlan::D];
  });
  numBatches_ = static_cast<int>(end - begin);
  for (int i = numBatches_ - 1; i > 0; --i)
    if (batches_[i - 1].continues(batches_[i])) {
      batches_[i].size *= batches_[i - 1].size;
      std::move(begin + i, begin + numBatches_, begin + i - 1);
      --numBatches_;
    }
}

/// Merges a batch into m (or n) if it only extends that loop, or replaces it.
/// `reads` is the operand that does not have the dimension.
bool Product::foldInto(Loop &loop, int reads) {
  for (int i = numBatches_ - 1; i >= 0; --i) {
    const Loop &batch = batches_[i];
    bool extends = loop.size > 1 && batch.continues(loop);
    // An epilogue's operands may follow a batch that becomes m, but not one
    // that becomes n.
    bool standsFor = loop.size == 1 && batch.strides[reads] == 0 &&
                     (reads == LtPlan::B || (plan_.biasSlice == noSlice &&
                                             plan_.auxSlice == noSlice));
    if (!extends && !standsFor)
      continue;
    if (extends)
      loop.size *= batch.size;
    else
      loop = batch;
    std::move(batches_.begin() + i + 1, batches_.begin() + numBatches_,
              batches_.begin() + i);
    --numBatches_;
    return true;
  }
  return false;
}

/// Turns `loop` into a batch or into several calls.
void Product::push(Loop &loop) {
  batches_[numBatches_++] = loop;
  loop = {};
}

/// A matrix with one index along `outer` and one along `depth`. Its columns run
/// along depth (as B needs without a transpose) or along outer (as A needs).
bool Product::layOut(LtLayout &layout, int32_t &trans, const Loop &outer,
                     const Loop &depth, int operand) {
  int64_t across = outer.strides[operand], along = depth.strides[operand];
  bool columnsOfDepth = depth.size > 1 && along == 1;
  bool columnsOfOuter = outer.size > 1 && across == 1;
  if (!columnsOfDepth && !columnsOfOuter) {
    // A single line with any stride is a matrix of one row.
    columnsOfDepth = depth.size == 1;
    columnsOfOuter = !columnsOfDepth && outer.size == 1;
  }
  if (columnsOfDepth) {
    layout.rows = depth.size;
    layout.cols = outer.size;
    layout.ld = outer.size == 1 ? depth.size : across;
    trans = lt::opT;
  } else if (columnsOfOuter) {
    layout.rows = outer.size;
    layout.cols = depth.size;
    layout.ld = depth.size == 1 ? outer.size : along;
    trans = lt::opN;
  } else {
    return false;
  }
  return layout.ld >= layout.rows;
}

/// Makes the rows of D n (or m, if swapped), so that D is column-major.
bool Product::tryPlace(bool swapped) {
  const Loop &rows = swapped ? m_ : n_, &cols = swapped ? n_ : m_;
  auto stride = [](const Loop &loop, int operand) {
    return loop.size == 1 ? 0 : loop.strides[operand];
  };
  if (rows.size > 1 && rows.strides[LtPlan::D] != 1)
    return false;
  int64_t ld = cols.size == 1 ? rows.size : cols.strides[LtPlan::D];
  if (ld < rows.size)
    return false;
  if (plan_.biasSlice != noSlice &&
      ((rows.size > 1 && rows.strides[LtPlan::Bias] != 1) ||
       stride(cols, LtPlan::Bias) != 0))
    return false;
  if (plan_.auxSlice != noSlice && rows.size > 1 &&
      rows.strides[LtPlan::Aux] != 1)
    return false;

  int32_t transRows, transCols;
  LtLayout rowSide = plan_.a, colSide = plan_.b;
  if (!layOut(rowSide, transRows, rows, k_, swapped ? LtPlan::A : LtPlan::B) ||
      !layOut(colSide, transCols, cols, k_, swapped ? LtPlan::B : LtPlan::A))
    return false;
  plan_.a = rowSide;
  plan_.b = colSide;
  plan_.transA = transRows;
  plan_.transB = transCols == lt::opT ? lt::opN : lt::opT;
  plan_.aSlice = swapped ? 0 : 1;
  plan_.bSlice = swapped ? 1 : 0;
  plan_.m = plan_.d.rows = rows.size;
  plan_.n = plan_.d.cols = cols.size;
  plan_.k = k_.size;
  plan_.d.ld = ld;
  plan_.auxLd = cols.size == 1 ? 0 : cols.strides[LtPlan::Aux];
  return true;
}

/// Tries both orientations. Then tries again with m, n or both taken out of the
/// matrices, because a line with any stride is a matrix of one row.
bool Product::place() {
  if (tryPlace(false) || tryPlace(true))
    return true;
  // But not only because of an epilogue: a separate kernel for it is faster.
  LtPlan plan = plan_;
  plan_.biasSlice = plan_.auxSlice = noSlice;
  bool isEpilogue = tryPlace(false) || tryPlace(true);
  plan_ = plan;
  if (isEpilogue)
    return refuse("a bias or auxiliary matrix runs along a different dimension "
                  "than the result");
  Loop m = m_, n = n_;
  int batches = numBatches_;
  for (int taken : {m.size <= n.size ? 1 : 2, m.size <= n.size ? 2 : 1, 3}) {
    m_ = m;
    n_ = n;
    numBatches_ = batches;
    if (taken & 1)
      push(m_);
    if (taken & 2)
      push(n_);
    joinBatches();
    if (tryPlace(false) || tryPlace(true))
      return true;
  }
  return refuse("its strides repeat or overlap elements");
}

/// The largest batch becomes the library's batch; the others become separate
/// calls.
bool Product::takeBatches() {
  int largest = -1;
  for (int i = 0; i < numBatches_; ++i)
    if (largest < 0 || batches_[i].size > batches_[largest].size)
      largest = i;
  for (int i = 0; i < numBatches_; ++i) {
    const Loop &loop = batches_[i];
    if (i != largest) {
      plan_.loop[plan_.loopRank] = loop.size;
      std::copy(loop.strides.begin(), loop.strides.end(),
                plan_.loopStrides[plan_.loopRank++]);
      continue;
    }
    if (loop.size > INT32_MAX)
      return refuse("a batch of more than 2^31 products");
    bool swapped = plan_.aSlice == 0;
    plan_.batch = static_cast<int32_t>(loop.size);
    plan_.a.batchStride = loop.strides[swapped ? LtPlan::A : LtPlan::B];
    plan_.b.batchStride = loop.strides[swapped ? LtPlan::B : LtPlan::A];
    plan_.d.batchStride = loop.strides[LtPlan::D];
    plan_.biasBatchStride = loop.strides[LtPlan::Bias];
    plan_.auxBatchStride = loop.strides[LtPlan::Aux];
  }
  if (plan_.calls() > maxCalls)
    return refuse("its strides take " + std::to_string(plan_.calls()) +
                  " calls of cuBLASLt; at most " + std::to_string(maxCalls) +
                  " are allowed");
  for (int64_t size : {plan_.m, plan_.n, plan_.k, plan_.d.ld})
    if (size > INT32_MAX)
      return refuse("a dimension of more than 2^31");
  return true;
}

/// Integer kernels need A transposed, B not, and all sizes in multiples of 4.
bool Product::checkIntegers() {
  if (p_.dtype != SINTER_I8)
    return true;
  auto inFours = [](const LtLayout &layout) {
    return layout.ld % 4 == 0 && layout.batchStride % 4 == 0;
  };
  if (plan_.transA != lt::opT || plan_.transB != lt::opN || plan_.m % 4 ||
      plan_.k % 4 || !inFours(plan_.a) || !inFours(plan_.b) ||
      !inFours(plan_.d))
    return refuse("cuBLASLt multiplies int8 only with k innermost in both "
                  "operands and sizes that are multiples of 4");
  return true;
}

bool Product::checkAux() {
  if (plan_.auxSlice == noSlice)
    return true;
  uint32_t base = plan_.epilogue & ~(16u | lt::epilogueBias);
  bool bits = base == lt::epilogueReluAux || base == lt::epilogueDRelu;
  int64_t multiple = bits ? 128 : 8;
  if (plan_.n == 1)
    plan_.auxLd = (plan_.m + multiple - 1) / multiple * multiple;
  if (plan_.auxLd % multiple || plan_.auxBatchStride % multiple)
    return refuse("lines of " + std::to_string(plan_.auxLd) +
                  " elements in the auxiliary matrix are not a multiple of " +
                  std::to_string(multiple));
  // Each of several calls or of a batch's products would write its own
  // gradient.
  if ((plan_.epilogue & 16u) && (plan_.batch > 1 || plan_.calls() > 1))
    return refuse("a bias gradient over several products");
  return true;
}

/// The sums run along the rows or the columns of the column-major result.
bool Product::takeSums() {
  if (!summed_)
    return true;
  if (plan_.batch > 1 || plan_.calls() > 1 || p_.batchRank > 0)
    return refuse("sums of an operand over several products");
  bool alongRows = (plan_.aSlice == 0) == (*summed_ == LtPlan::A);
  plan_.epilogue = alongRows ? lt::epilogueBGradA : lt::epilogueBGradB;
  plan_.biasSlice = sumSlice_;
  return true;
}

void Product::make() {
  if (!takeTypes() || !takePostOps())
    return;
  takeLoops();
  plan_.empty = p_.m == 0 || p_.n == 0;
  for (uint32_t i = 0; i < p_.batchRank; ++i)
    plan_.empty |= p_.batch[i] == 0;
  if (plan_.empty)
    return;
  if (p_.k == 0) {
    refuse("it has no products to sum");
    return;
  }
  joinBatches();
  // After folding, another batch may become foldable.
  while (foldInto(m_, LtPlan::B) || foldInto(n_, LtPlan::A)) {
  }
  if (place() && takeBatches() && checkIntegers() && checkAux())
    takeSums();
}

LtPlan LtPlan::make(const sinter_matmul &params) {
  LtPlan plan;
  Product(params, plan).make();
  return plan;
}
