//===- OneDnnMatmul.h - fp32 products in slices -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// MatmulPlan cuts a product into slices; slices of one shape share a primitive.
// A constant B is packed at load, once per n piece. If the library cannot read
// or write an operand in place, or cannot fuse a post-op, the slice goes
// through its worker's scratch and the loops of PostOps.h.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_ONEDNNMATMUL_H
#define SINTER_BACKENDS_CPU_DEVICE_ONEDNNMATMUL_H

#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/MatmulPlan.h"
#include "backends/cpu/device/PostOps.h"

#include <array>
#include <compare>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sinter::cpu {

/// The extents of one slice.
struct MatmulSliceSize {
  int64_t batch, m, n, k;
  auto operator<=>(const MatmulSliceSize &) const = default;
};

/// The primitive for slices of one shape.
struct MatmulVariant {
  MatmulSliceSize size;
  OneDnnPrimitive primitive; // arguments: A, B, C, then operands of post-ops
  size_t fusedPostOps = 0;   // the first ones; our loops do the others
};

class MatmulCall : public rt::LibraryCall {
public:
  /// `mayPack`: operands may be copied so that they are read faster.
  MatmulCall(OneDnnContext &context, const sinter_command &command,
             bool mayPack)
      : context_(context), command_(command), params_(*command.matmul.params),
        postOps_(params_.postOps, params_.numPostOps), mayPack_(mayPack) {}

  rt::Status prepare(const uint8_t *constants);

  uint64_t sharedBytes() const override { return sharedBytes_; }
  uint64_t perWorkerBytes() const override { return perWorkerBytes_; }
  rt::Status bind(const rt::Scratch &scratch, int threads) override;
  rt::Status run(void *const *buffers, const rt::CallContext &context) override;
  std::string description() const override;

private:
  /// The addresses of one run.
  struct Operands {
    const float *a, *b;
    float *c;
    std::array<const float *, SINTER_MAX_POST_OPS> postOps; // null: reads none
  };

  void makeVariant(const MatmulSliceSize &size);
  bool tryVariant(MatmulVariant &variant, size_t fusedPostOps);
  float *denseA() const {
    return reinterpret_cast<float *>(scratch_.shared + denseAOffset_);
  }
  void chooseMode(const float *constantB);
  void makeVariants();
  void packConstantB(const float *b);
  void makeDenseA(const float *a, const rt::CallContext &context) const;
  const float *packedB(int64_t piece) const {
    return reinterpret_cast<const float *>(
        constantB_[static_cast<size_t>(piece)].get());
  }
  bool runSlice(const Operands &operands, int worker, int64_t slice) const;
  void runEmptySum(const Operands &operands, int64_t matrix) const;
  void combinePartials(const Operands &operands, int64_t row) const;
  PostOpOperand operandAt(const Operands &operands, size_t op,
                          int64_t batchOffset, int64_t m0, int64_t n0) const;

  dnnl::memory::desc operandDesc(const Strides &strides, bool scratch,
                                 int64_t batch, int64_t rows,
                                 int64_t cols) const;

  OneDnnContext &context_;
  const sinter_command &command_;
  const sinter_matmul &params_;
  std::span<const sinter_post_op> postOps_;
  MatmulShape shape_;
  MatmulPlan plan_;
  std::map<MatmulSliceSize, MatmulVariant> variants_;
  std::vector<const MatmulVariant *>
      variantOf_; // by slice within an outer batch

  /// By n and k piece; empty when B is not packed.
  std::vector<PackedBytes> constantB_;
  const bool mayPack_;
  bool packs_ = false;
  bool denseA_ = false; // A is copied to dense rows at the start of a run
  bool gatherA_ = false, gatherB_ = false; // slice by slice instead
  bool scatterC_ = false; // compute into scratch, then copy to C
  bool ownPostOps_ = false;
  bool partials_ = false;

  uint64_t sharedBytes_ = 0, perWorkerBytes_ = 0;
  int64_t gatherAOffset_ = 0, gatherBOffset_ = 0, scatterCOffset_ = 0;
  int64_t denseAOffset_ = 0; // shared
  rt::Scratch scratch_;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_ONEDNNMATMUL_H
