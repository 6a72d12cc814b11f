//===- DnnDescriptors.cpp - making cuDNN's descriptors --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/DnnDescriptors.h"

#include <string>

using namespace sinter;
using namespace sinter::cuda;

DnnDesc DnnMaker::make(dnn::DescriptorType type) {
  dnn::Desc desc = nullptr;
  if (status_.ok())
    check("cudnnBackendCreateDescriptor",
          api_.backendCreateDescriptor(type, &desc));
  return DnnDesc(api_, desc);
}

void DnnMaker::set(const DnnDesc &desc, dnn::Attribute attribute,
                   dnn::AttributeType type, int64_t count, const void *values) {
  if (!status_.ok())
    return;
  int status =
      api_.backendSetAttribute(desc.get(), attribute, type, count, values);
  if (status != dnn::statusSuccess)
    status_ = context_.error("cudnnBackendSetAttribute of attribute " +
                                 std::to_string(attribute),
                             status);
}

int64_t DnnMaker::get(const DnnDesc &desc, dnn::Attribute attribute,
                      dnn::AttributeType type, int64_t requested,
                      void *values) {
  int64_t count = 0;
  if (!status_.ok())
    return count;
  int status = api_.backendGetAttribute(desc.get(), attribute, type, requested,
                                        &count, values);
  if (status != dnn::statusSuccess)
    status_ = context_.error("cudnnBackendGetAttribute of attribute " +
                                 std::to_string(attribute),
                             status);
  return count;
}

void DnnMaker::finalize(const DnnDesc &desc, const char *what) {
  if (!status_.ok())
    return;
  int status = api_.backendFinalize(desc.get());
  if (status != dnn::statusSuccess)
    status_ =
        context_.error(std::string("cudnnBackendFinalize of ") + what, status);
}

bool DnnMaker::tryFinalize(const DnnDesc &desc) {
  return status_.ok() && api_.backendFinalize(desc.get()) == dnn::statusSuccess;
}

DnnDesc DnnMaker::makeTensor(const DnnTensor &tensor, int64_t id) {
  DnnDesc desc = make(dnn::tensorDesc);
  setOne(desc, dnn::tensorDataType, dnn::typeDataType, tensor.type);
  setList(desc, dnn::tensorDims, tensor.dims);
  setList(desc, dnn::tensorStrides, tensor.strides);
  setOne(desc, dnn::tensorId, dnn::typeInt64, id);
  setOne(desc, dnn::tensorAlignment, dnn::typeInt64, tensor.alignment);
  if (tensor.isVirtual)
    setOne(desc, dnn::tensorIsVirtual, dnn::typeBoolean, true);
  if (tensor.isByValue)
    setOne(desc, dnn::tensorIsByValue, dnn::typeBoolean, true);
  finalize(desc, "a tensor");
  return desc;
}

DnnDesc DnnMaker::makeConvolution(const DnnGraph &graph,
                                  const DnnOperation &operation,
                                  const std::vector<dnn::Desc> &tensors,
                                  std::vector<DnnDesc> &parts) {
  DnnDesc conv = make(dnn::convolutionDesc);
  setOne(conv, dnn::convComputeType, dnn::typeDataType, graph.computeType);
  setOne(conv, dnn::convMode, dnn::typeConvMode, dnn::crossCorrelation);
  setOne(conv, dnn::convSpatialDims, dnn::typeInt64,
         static_cast<int64_t>(operation.strides.size()));
  setList(conv, dnn::convStrides, operation.strides);
  setList(conv, dnn::convDilations, operation.dilations);
  setList(conv, dnn::convPrePads, operation.prePads);
  setList(conv, dnn::convPostPads, operation.postPads);
  finalize(conv, "a convolution");

  struct Names {
    dnn::DescriptorType type;
    dnn::Attribute x, w, y, conv, alpha, beta;
  };
  static constexpr Names names[] = {
      {dnn::opConvForward, dnn::forwardX, dnn::forwardW, dnn::forwardY,
       dnn::forwardConv, dnn::forwardAlpha, dnn::forwardBeta},
      {dnn::opConvInputGrad, dnn::inputGradDy, dnn::inputGradW,
       dnn::inputGradDx, dnn::inputGradConv, dnn::inputGradAlpha,
       dnn::inputGradBeta},
      {dnn::opConvFilterGrad, dnn::filterGradX, dnn::filterGradDy,
       dnn::filterGradDw, dnn::filterGradConv, dnn::filterGradAlpha,
       dnn::filterGradBeta}};
  const Names &of = names[operation.kind];
  DnnDesc desc = make(of.type);
  setDesc(desc, of.x, tensors[operation.x]);
  setDesc(desc, of.w, tensors[operation.w]);
  setDesc(desc, of.y, tensors[operation.y]);
  setDesc(desc, of.conv, conv.get());
  if (graph.computeType == dnn::f64) {
    setOne(desc, of.alpha, dnn::typeDouble, 1.0);
    setOne(desc, of.beta, dnn::typeDouble, 0.0);
  } else {
    setOne(desc, of.alpha, dnn::typeFloat, 1.0f);
    setOne(desc, of.beta, dnn::typeFloat, 0.0f);
  }
  finalize(desc, "a convolution operation");
  parts.push_back(std::move(conv));
  return desc;
}

DnnDesc DnnMaker::makePointwise(const DnnOperation &operation,
                                const std::vector<dnn::Desc> &tensors,
                                std::vector<DnnDesc> &parts) {
  DnnDesc pointwise = make(dnn::pointwiseDesc);
  setOne(pointwise, dnn::pointwiseMode, dnn::typePointwiseMode, operation.mode);
  setOne(pointwise, dnn::pointwiseMathPrecision, dnn::typeDataType,
         operation.mathType);
  // By default, cuDNN's ReLU turns NaN into 0, which hides it from loss scaling
  // and from the checks for values that are not finite.
  if (operation.mode == dnn::reluForward)
    setOne(pointwise, dnn::pointwiseNanPropagation, dnn::typeNanPropagation,
           dnn::propagateNan);
  if (operation.mode == dnn::reluForward && operation.hasUpper)
    setOne(pointwise, dnn::pointwiseReluUpper, dnn::typeDouble,
           static_cast<double>(operation.upper));
  if (operation.mode == dnn::swishForward)
    setOne(pointwise, dnn::pointwiseSwishBeta, dnn::typeDouble, 1.0);
  if (operation.mode == dnn::genIndex)
    setOne(pointwise, dnn::pointwiseAxis, dnn::typeInt64, operation.axis);
  finalize(pointwise, "a pointwise step");

  DnnDesc desc = make(dnn::opPointwise);
  setDesc(desc, dnn::opPointwiseDesc, pointwise.get());
  setDesc(desc, dnn::opPointwiseX, tensors[operation.x]);
  if (operation.w >= 0)
    setDesc(desc, dnn::opPointwiseB, tensors[operation.w]);
  if (operation.t >= 0)
    setDesc(desc, dnn::opPointwiseT, tensors[operation.t]);
  setDesc(desc, dnn::opPointwiseY, tensors[operation.y]);
  finalize(desc, "a pointwise operation");
  parts.push_back(std::move(pointwise));
  return desc;
}

DnnDesc DnnMaker::makeOperation(const DnnGraph &graph,
                                const DnnOperation &operation,
                                const std::vector<dnn::Desc> &tensors,
                                std::vector<DnnDesc> &parts) {
  switch (operation.kind) {
  case DnnOperation::ConvForward:
  case DnnOperation::ConvInputGrad:
  case DnnOperation::ConvFilterGrad:
    return makeConvolution(graph, operation, tensors, parts);
  case DnnOperation::Pointwise:
    return makePointwise(operation, tensors, parts);
  case DnnOperation::Matmul: {
    DnnDesc matmul = make(dnn::matmulDesc);
    setOne(matmul, dnn::matmulComputeType, dnn::typeDataType, dnn::f32);
    finalize(matmul, "a product");
    DnnDesc desc = make(dnn::opMatmul);
    setDesc(desc, dnn::opMatmulA, tensors[operation.x]);
    setDesc(desc, dnn::opMatmulB, tensors[operation.w]);
    setDesc(desc, dnn::opMatmulC, tensors[operation.y]);
    setDesc(desc, dnn::opMatmulDesc, matmul.get());
    finalize(desc, "a product operation");
    parts.push_back(std::move(matmul));
    return desc;
  }
  case DnnOperation::Reduction: {
    DnnDesc reduction = make(dnn::reductionDesc);
    setOne(reduction, dnn::reductionComputeType, dnn::typeDataType, dnn::f32);
    setOne(reduction, dnn::reductionOperator, dnn::typeReductionOperator,
           operation.mode);
    finalize(reduction, "a reduction");
    DnnDesc desc = make(dnn::opReduction);
    setDesc(desc, dnn::opReductionX, tensors[operation.x]);
    setDesc(desc, dnn::opReductionY, tensors[operation.y]);
    setDesc(desc, dnn::opReductionDesc, reduction.get());
    finalize(desc, "a reduction operation");
    parts.push_back(std::move(reduction));
    return desc;
  }
  case DnnOperation::GenStats: {
    DnnDesc desc = make(dnn::opGenStats);
    setOne(desc, dnn::genStatsMode, dnn::typeGenStatsMode, dnn::sumAndSquares);
    setOne(desc, dnn::genStatsMathPrecision, dnn::typeDataType, dnn::f32);
    setDesc(desc, dnn::genStatsX, tensors[operation.x]);
    setDesc(desc, dnn::genStatsSum, tensors[operation.y]);
    setDesc(desc, dnn::genStatsSquares, tensors[operation.w]);
    finalize(desc, "a statistics operation");
    return desc;
  }
  case DnnOperation::Reshape:
    break;
  }
  DnnDesc desc = make(dnn::opReshape);
  setDesc(desc, dnn::opReshapeX, tensors[operation.x]);
  setDesc(desc, dnn::opReshapeY, tensors[operation.y]);
  finalize(desc, "a reshape operation");
  return desc;
}

DnnDesc DnnMaker::makeGraph(const DnnGraph &graph,
                            std::vector<DnnDesc> &parts) {
  std::vector<dnn::Desc> tensors, operations;
  for (const DnnTensor &tensor : graph.tensors) {
    parts.push_back(
        makeTensor(tensor, static_cast<int64_t>(tensors.size()) + 1));
    tensors.push_back(parts.back().get());
  }
  for (const DnnOperation &operation : graph.operations) {
    DnnDesc desc = makeOperation(graph, operation, tensors, parts);
    operations.push_back(desc.get());
    parts.push_back(std::move(desc));
  }
  DnnDesc desc = make(dnn::operationGraphDesc);
  set(desc, dnn::graphOps, dnn::typeDescriptor,
      static_cast<int64_t>(operations.size()), operations.data());
  if (context_.handle())
    setOne(desc, dnn::graphHandle, dnn::typeHandle, context_.handle());
  finalize(desc, "an operation graph");
  return desc;
}
