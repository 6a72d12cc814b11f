//===- SimLtCompute.cpp - products of cuBLASLt by loops -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/common/device/PlainProduct.h"
#include "backends/sim/library/SimLtProblem.h"
#include "runtime/base/Float16.h"
#include "runtime/base/Gelu.h"

#include <cmath>
#include <type_traits>
#include <vector>

using namespace sinter;
using namespace sinter::sim;
using namespace sinter::plain;
namespace lt = sinter::cuda::lt;

namespace {

template <typename Sum, typename T> Sum load(T value) {
  if constexpr (std::is_integral_v<T>)
    return value;
  else
    return rt::toFloat(value);
}
template <typename Sum, typename T> void save(Sum value, T &to) {
  if constexpr (std::is_integral_v<T>)
    to = value;
  else
    rt::fromFloat(value, to);
}

/// One product of the batch; `Sum` is also the scale type.
template <typename In, typename Out, typename Sum> class Multiplication {
public:
  Multiplication(const LtProblem &problem, Sum alpha, Sum beta, int32_t batch)
      : p_(problem), op_(problem.operation), alpha_(alpha), beta_(beta),
        batch_(batch) {}

  void run(const void *a, const void *b, const void *c, void *d) {
    a_ = at<In>(a, p_.a);
    b_ = at<In>(b, p_.b);
    c_ = at<Out>(c, p_.c);
    d_ = at<Out>(d, p_.d);
    if (op_.hasBias())
      bias_ = static_cast<Out *>(op_.bias) + batch_ * op_.biasBatchStride;
    auto m = static_cast<int64_t>(p_.m), n = static_cast<int64_t>(p_.n);
    if (op_.epilogue & 16u)
      gradient_.assign(p_.m, Sum(0));
    // The columns of D are the tile's rows, so that the tile's lines are lines
    // of D.
    std::vector<Sum> sums(tileRows * tileCols), packed(packedElements);
    for (int64_t j0 = 0; j0 < n; j0 += tileRows)
      for (int64_t i0 = 0; i0 < m; i0 += tileCols) {
        int64_t rows = std::min(tileRows, n - j0),
                cols = std::min(tileCols, m - i0);
        bool transA = op_.transA == lt::opT, transB = op_.transB == lt::opT;
        TileOperand<In> left = {b_ + j0 * (transB ? 1 : p_.b.ld),
                                transB ? 1 : p_.b.ld, transB ? p_.b.ld : 1};
        TileOperand<In> right = {a_ + i0 * (transA ? p_.a.ld : 1),
                                 transA ? p_.a.ld : 1, transA ? 1 : p_.a.ld};
        sumTile(left, right, rows, cols, static_cast<int64_t>(p_.k),
                sums.data(), packed.data(),
                [](In value) { return load<Sum>(value); });
        for (int64_t j = 0; j < rows; ++j)
          for (int64_t i = 0; i < cols; ++i)
            store(i0 + i, j0 + j, sums[j * tileCols + i]);
      }
    for (size_t i = 0; i < gradient_.size(); ++i)
      save(gradient_[i], bias_[i]);
    if (op_.epilogue & (lt::epilogueBGradA | lt::epilogueBGradB))
      sumOperand();
  }

private:
  template <typename T> T *at(const void *address, const LtMatrix &matrix) {
    return static_cast<T *>(const_cast<void *>(address)) +
           batch_ * matrix.batchStride;
  }

  void store(int64_t i, int64_t j, Sum value) {
    value *= alpha_;
    if (beta_ != Sum(0))
      value += beta_ * load<Sum>(c_[i + j * p_.c.ld]);
    if constexpr (std::is_same_v<Sum, float>)
      value = finish(i, j, value);
    save(value, d_[i + j * p_.d.ld]);
  }

  float finish(int64_t i, int64_t j, float value) {
    if (op_.epilogue & lt::epilogueBias)
      value += rt::toFloat(bias_[i]);
    int64_t aux = i + j * op_.auxLd + batch_ * op_.auxBatchStride;
    auto *values = static_cast<Out *>(op_.aux);
    switch (op_.epilogue & ~(16u | lt::epilogueBias)) {
    case lt::epilogueRelu:
      return value > 0.0f ? value : 0.0f; // NaN becomes 0
    case lt::epilogueReluAux:
      setBit(aux, value > 0.0f);
      return value > 0.0f ? value : 0.0f; // NaN becomes 0
    case lt::epilogueGeluAux:
      rt::fromFloat(value, values[aux]);
      return rt::gelu::tanhForm(value);
    case lt::epilogueGelu:
      return rt::gelu::tanhForm(value);
    case lt::epilogueDRelu:
      value = bit(aux) ? value : 0.0f;
      break;
    case lt::epilogueDGelu:
      value *= rt::gelu::tanhFormDerivative(rt::toFloat(values[aux]));
      break;
    default:
      break;
    }
    if (!gradient_.empty())
      gradient_[i] += value;
    return value;
  }

  void setBit(int64_t index, bool value) {
    uint8_t &byte = static_cast<uint8_t *>(op_.aux)[index / 8];
    uint8_t mask = static_cast<uint8_t>(1u << index % 8);
    byte = static_cast<uint8_t>(value ? byte | mask : byte & ~mask);
  }
  bool bit(int64_t index) const {
    return static_cast<const uint8_t *>(op_.aux)[index / 8] >> index % 8 & 1;
  }

  /// The sum of op(A)'s rows, or of op(B)'s columns, over k.
  void sumOperand() {
    bool ofA = op_.epilogue & lt::epilogueBGradA;
    const LtMatrix &matrix = ofA ? p_.a : p_.b;
    bool alongColumns = ofA == (op_.transA == lt::opN);
    if (!ofA)
      alongColumns = op_.transB == lt::opT;
    const In *from = ofA ? a_ : b_;
    for (uint64_t i = 0; i < (ofA ? p_.m : p_.n); ++i) {
      Sum sum = 0;
      for (uint64_t l = 0; l < p_.k; ++l)
        sum += load<Sum>(alongColumns
                             ? from[i + l * static_cast<uint64_t>(matrix.ld)]
                             : from[l + i * static_cast<uint64_t>(matrix.ld)]);
      save(sum, bias_[i]);
    }
  }

  const LtProblem &p_;
  const LtOperation &op_;
  Sum alpha_, beta_;
  int32_t batch_;
  const In *a_ = nullptr, *b_ = nullptr;
  const Out *c_ = nullptr;
  Out *d_ = nullptr, *bias_ = nullptr;
  std::vector<Sum> gradient_;
};

template <typename In, typename Out, typename Sum>
void multiply(const LtProblem &problem, const void *alpha, const void *a,
              const void *b, const void *beta, const void *c, void *d) {
  for (int32_t batch = 0; batch < problem.d.batch; ++batch)
    Multiplication<In, Out, Sum>(problem, *static_cast<const Sum *>(alpha),
                                 *static_cast<const Sum *>(beta), batch)
        .run(a, b, c, d);
}

} // namespace

void LtProblem::compute(const void *alpha, const void *aAt, const void *bAt,
                        const void *beta, const void *cAt, void *dAt) const {
  bool wide = d.type == lt::f32;
  switch (a.type) {
  case lt::f64:
    return multiply<double, double, double>(*this, alpha, aAt, bAt, beta, cAt,
                                            dAt);
  case lt::i8:
    return multiply<int8_t, int32_t, int32_t>(*this, alpha, aAt, bAt, beta, cAt,
                                              dAt);
  case lt::bf16:
    return (wide ? multiply<rt::Bfloat, float, float>
                 : multiply<rt::Bfloat, rt::Bfloat, float>)(*this, alpha, aAt,
                                                            bAt, beta, cAt,
                                                            dAt);
  case lt::f16:
    return (wide ? multiply<rt::Half, float, float>
                 : multiply<rt::Half, rt::Half, float>)(*this, alpha, aAt, bAt,
                                                        beta, cAt, dAt);
  default:
    if (operation.computeType == lt::compute32FFastTf32)
      return multiply<rt::Tf32, float, float>(*this, alpha, aAt, bAt, beta, cAt,
                                              dAt);
    return multiply<float, float, float>(*this, alpha, aAt, bAt, beta, cAt,
                                         dAt);
  }
}
