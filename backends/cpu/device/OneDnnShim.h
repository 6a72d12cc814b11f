//===- OneDnnShim.h - differences between oneDNN 2 and 3 --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The only file that depends on the library's major version. oneDNN 3 dropped
// the operation descriptors, moved the scale of eltwise post-ops and renamed
// the queries of memory descriptors. Like the library's own functions, these
// throw dnnl::error; callers turn that into a Status.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_ONEDNNSHIM_H
#define SINTER_BACKENDS_CPU_DEVICE_ONEDNNSHIM_H

#include <dnnl.hpp>

namespace sinter::cpu::shim {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

/// Geometry of a convolution, spatial dimensions only. Dilation 0 is dense.
struct ConvGeometry {
  Dims strides, dilations, padsLow, padsHigh;
};

/// Whether this CPU has `isa` and the library may use it.
inline bool mayUse(dnnl::cpu_isa isa) {
  // An instruction set's bits include those of the sets that it builds on.
  const auto bits = static_cast<unsigned>(isa);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

#if DNNL_VERSION_MAJOR >= 3

/// The first implementation that `accept` takes; without one, the library's own
/// choice.
template <class Accept>
dnnl::matmul::primitive_desc
matmul(const dnnl::engine &engine, const Desc &a, const Desc &b,
       const Desc &bias, const Desc &c, const dnnl::primitive_attr &attr,
       const Accept &accept) {
  dnnl::matmul::primitive_desc found(engine, a, b, bias, c, attr);
  while (!accept(found))
    if (!found.next_impl())
      return {engine, a, b, bias, c, attr};
  return found;
}

inline dnnl::convolution_forward::primitive_desc
convForward(const dnnl::engine &engine, const Desc &src, const Desc &weights,
            const Desc &bias, const Desc &dst, const ConvGeometry &g,
            const dnnl::primitive_attr &attr) {
  return {engine,
          dnnl::prop_kind::forward_training,
          dnnl::algorithm::convolution_direct,
          src,
          weights,
          bias,
          dst,
          g.strides,
          g.dilations,
          g.padsLow,
          g.padsHigh,
          attr};
}

inline dnnl::convolution_backward_data::primitive_desc
convBackwardData(const dnnl::engine &engine, const Desc &diffSrc,
                 const Desc &weights, const Desc &diffDst,
                 const ConvGeometry &g, const dnnl::primitive_attr &attr,
                 const dnnl::convolution_forward::primitive_desc &forward) {
  return {engine,      dnnl::algorithm::convolution_direct,
          diffSrc,     weights,
          diffDst,     g.strides,
          g.dilations, g.padsLow,
          g.padsHigh,  forward,
          attr};
}

inline dnnl::convolution_backward_weights::primitive_desc
convBackwardWeights(const dnnl::engine &engine, const Desc &src,
                    const Desc &diffWeights, const Desc &diffDst,
                    const ConvGeometry &g, const dnnl::primitive_attr &attr,
                    const dnnl::convolution_forward::primitive_desc &forward) {
  return {engine,      dnnl::algorithm::convolution_direct,
          src,         diffWeights,
          diffDst,     g.strides,
          g.dilations, g.padsLow,
          g.padsHigh,  forward,
          attr};
}

inline void appendEltwise(dnnl::post_ops &ops, dnnl::algorithm algorithm,
                          float alpha, float beta) {
  ops.append_eltwise(algorithm, alpha, beta);
}

/// x * min(max(x / 6 + 1 / 2, 0), 1).
inline void appendHardSwish(dnnl::post_ops &ops) {
  appendEltwise(ops, dnnl::algorithm::eltwise_hardswish, 1.0f / 6.0f, 0.5f);
}

#else

/// The first implementation that `accept` takes; without one, the library's own
/// choice. Here a primitive_desc points to its operation descriptor, which must
/// live as long as it is asked for further implementations.
template <class Accept>
dnnl::matmul::primitive_desc
matmul(const dnnl::engine &engine, const Desc &a, const Desc &b,
       const Desc &bias, const Desc &c, const dnnl::primitive_attr &attr,
       const Accept &accept) {
  dnnl::matmul::desc operation(a, b, bias, c);
  dnnl::matmul::primitive_desc found(operation, attr, engine);
  while (!accept(found))
    if (!found.next_impl())
      return {operation, attr, engine};
  return found;
}

inline dnnl::convolution_forward::primitive_desc
convForward(const dnnl::engine &engine, const Desc &src, const Desc &weights,
            const Desc &bias, const Desc &dst, const ConvGeometry &g,
            const dnnl::primitive_attr &attr) {
  return {dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training,
                                          dnnl::algorithm::convolution_direct,
                                          src, weights, bias, dst, g.strides,
                                          g.dilations, g.padsLow, g.padsHigh),
          attr, engine};
}

inline dnnl::convolution_backward_data::primitive_desc
convBackwardData(const dnnl::engine &engine, const Desc &diffSrc,
                 const Desc &weights, const Desc &diffDst,
                 const ConvGeometry &g, const dnnl::primitive_attr &attr,
                 const dnnl::convolution_forward::primitive_desc &forward) {
  return {dnnl::convolution_backward_data::desc(
              dnnl::algorithm::convolution_direct, diffSrc, weights, diffDst,
              g.strides, g.dilations, g.padsLow, g.padsHigh),
          attr, engine, forward};
}

inline dnnl::convolution_backward_weights::primitive_desc
convBackwardWeights(const dnnl::engine &engine, const Desc &src,
                    const Desc &diffWeights, const Desc &diffDst,
                    const ConvGeometry &g, const dnnl::primitive_attr &attr,
                    const dnnl::convolution_forward::primitive_desc &forward) {
  return {dnnl::convolution_backward_weights::desc(
              dnnl::algorithm::convolution_direct, src, diffWeights, diffDst,
              g.strides, g.dilations, g.padsLow, g.padsHigh),
          attr, engine, forward};
}

inline void appendEltwise(dnnl::post_ops &ops, dnnl::algorithm algorithm,
                          float alpha, float beta) {
  ops.append_eltwise(1.0f, algorithm, alpha, beta);
}

/// x * min(max(x / 6 + 1 / 2, 0), 1): fixed in this version.
inline void appendHardSwish(dnnl::post_ops &ops) {
  appendEltwise(ops, dnnl::algorithm::eltwise_hardswish, 0.0f, 0.0f);
}

#endif

} // namespace sinter::cpu::shim

#endif // SINTER_BACKENDS_CPU_DEVICE_ONEDNNSHIM_H
