//===- DnnDescriptors.h - making cuDNN's descriptors ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_DNNDESCRIPTORS_H
#define SINTER_BACKENDS_CUDA_LIBRARY_DNNDESCRIPTORS_H

#include "backends/cuda/library/DnnPlan.h"

namespace sinter::cuda {

/// Makes descriptors and records the first failure; after a failure, calls do
/// nothing. So a chain of calls needs only one check, by status().
class DnnMaker {
public:
  explicit DnnMaker(const DnnContext &context)
      : context_(context), api_(context.api()) {}

  const rt::Status &status() const { return status_; }

  DnnDesc make(dnn::DescriptorType type);
  void set(const DnnDesc &desc, dnn::Attribute attribute,
           dnn::AttributeType type, int64_t count, const void *values);
  template <typename T>
  void setOne(const DnnDesc &desc, dnn::Attribute attribute,
              dnn::AttributeType type, T value) {
    set(desc, attribute, type, 1, &value);
  }
  void setDesc(const DnnDesc &desc, dnn::Attribute attribute, dnn::Desc value) {
    set(desc, attribute, dnn::typeDescriptor, 1, &value);
  }
  void setList(const DnnDesc &desc, dnn::Attribute attribute,
               const std::vector<int64_t> &values) {
    set(desc, attribute, dnn::typeInt64, static_cast<int64_t>(values.size()),
        values.data());
  }
  /// Returns the number of elements and writes at most `requested` of them.
  int64_t get(const DnnDesc &desc, dnn::Attribute attribute,
              dnn::AttributeType type, int64_t requested, void *values);
  /// `what` is for the error.
  void finalize(const DnnDesc &desc, const char *what);
  /// False, without recording a failure, if the library rejects it.
  bool tryFinalize(const DnnDesc &desc);

  /// Makes the operation graph; the descriptors that it refers to are added to
  /// `parts`.
  DnnDesc makeGraph(const DnnGraph &graph, std::vector<DnnDesc> &parts);

private:
  DnnDesc makeTensor(const DnnTensor &tensor, int64_t id);
  DnnDesc makeOperation(const DnnGraph &graph, const DnnOperation &operation,
                        const std::vector<dnn::Desc> &tensors,
                        std::vector<DnnDesc> &parts);
  DnnDesc makeConvolution(const DnnGraph &graph, const DnnOperation &operation,
                          const std::vector<dnn::Desc> &tensors,
                          std::vector<DnnDesc> &parts);
  DnnDesc makePointwise(const DnnOperation &operation,
                        const std::vector<dnn::Desc> &tensors,
                        std::vector<DnnDesc> &parts);
  void check(const char *what, int status) {
    if (status != dnn::statusSuccess)
      status_ = context_.error(what, status);
  }

  const DnnContext &context_;
  const dnn::Api &api_;
  rt::Status status_;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_DNNDESCRIPTORS_H
