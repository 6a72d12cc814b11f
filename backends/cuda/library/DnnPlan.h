//===- DnnPlan.h - operation graphs made executable by cuDNN ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Turns a DnnGraph into descriptors, an engine and an execution plan, and
// converts a plan to JSON text and back. Works with a handle (on a device) or
// with the description of a device. In the second case, a plan can be made and
// stored, but not run.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_DNNPLAN_H
#define SINTER_BACKENDS_CUDA_LIBRARY_DNNPLAN_H

#include "backends/cuda/library/DnnApi.h"
#include "backends/cuda/library/DnnGraph.h"
#include "backends/cuda/library/LibraryOptions.h"
#include "runtime/base/Status.h"

#include <memory>
#include <string>
#include <vector>

namespace sinter::cuda {

/// A backend descriptor, destroyed with its owner. `api` must outlive it.
class DnnDesc {
public:
  DnnDesc() = default;
  DnnDesc(const dnn::Api &api, dnn::Desc desc) : api_(&api), desc_(desc) {}
  DnnDesc(DnnDesc &&other) noexcept { *this = std::move(other); }
  DnnDesc &operator=(DnnDesc &&other) noexcept;
  ~DnnDesc();
  dnn::Desc get() const { return desc_; }

private:
  const dnn::Api *api_ = nullptr;
  dnn::Desc desc_ = nullptr;
};

/// An initialized cuDNN, for the current device or for a described one.
class DnnContext {
public:
  static rt::Result<std::unique_ptr<DnnContext>> create(const dnn::Api &api);
  /// `deviceJson` is a device-property descriptor's JSON text.
  static rt::Result<std::unique_ptr<DnnContext>>
  createDeviceless(const dnn::Api &api, const std::string &deviceJson);
  DnnContext(const DnnContext &) = delete;
  DnnContext &operator=(const DnnContext &) = delete;
  ~DnnContext();

  const dnn::Api &api() const { return api_; }
  dnn::Handle handle() const { return handle_; }     // null: deviceless
  dnn::Desc device() const { return device_.get(); } // null: with a handle
  /// "cuDNN 9.19.0".
  std::string version() const;
  /// The current device as createDeviceless() takes it.
  rt::Result<std::string> deviceJson() const;
  /// A failure with the status's name and the library's own message.
  rt::Status error(const std::string &what, int status) const;

private:
  explicit DnnContext(const dnn::Api &api) : api_(api) {}

  const dnn::Api &api_;
  dnn::Handle handle_ = nullptr;
  DnnDesc device_;
};

class DnnPlan {
public:
  /// Makes up to `most` plans for `graph`, which must have operations, under
  /// `options`, in the order of the heuristics. Because compiling some engines
  /// takes half a second, it stops after one second with the plans made so far.
  /// Fails with SINTER_UNSUPPORTED if no engine computes the graph, or with
  /// SINTER_OUT_OF_MEMORY if all such engines need more scratch, including the
  /// graph's own, than the options allow.
  static rt::Result<std::vector<DnnPlan>>
  buildSeveral(const DnnContext &context, const DnnGraph &graph,
               const LibraryOptions &options, size_t most);
  /// The first of these.
  static rt::Result<DnnPlan> build(const DnnContext &context,
                                   const DnnGraph &graph,
                                   const LibraryOptions &options);
  /// Restores a plan from its json(), for an equal device and the same version.
  static rt::Result<DnnPlan> reload(const DnnContext &context,
                                    const std::string &json);

  uint64_t workspaceBytes() const { return workspaceBytes_; }
  /// The offset of the graph's own scratch, after the workspace.
  uint64_t scratchOffset() const { return (workspaceBytes_ + 255) / 256 * 256; }
  /// How many engine configurations were offered and allowed; 0 after a reload.
  int candidates() const { return candidates_; }
  rt::Result<std::string> json() const;

  /// Queues the plan. `addresses[i]` belongs to tensor `ids[i]` (its index +
  /// 1).
  rt::Status execute(const std::vector<int64_t> &ids,
                     const std::vector<void *> &addresses, void *workspace,
                     dnn::Stream stream) const;

private:
  explicit DnnPlan(const DnnContext &context) : context_(&context) {}
  rt::Status finish();

  const DnnContext *context_;
  /// The descriptors that the plan was made from, shared with other plans.
  std::shared_ptr<const std::vector<DnnDesc>> operations_;
  DnnDesc config_;
  DnnDesc plan_;
  uint64_t workspaceBytes_ = 0;
  int candidates_ = 0;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_DNNPLAN_H
