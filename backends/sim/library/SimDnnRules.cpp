//===- SimDnnRules.cpp - the rules of cuDNN's descriptors -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimDnnGraph.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::sim;
namespace dnn = sinter::cuda::dnn;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

std::string text(const std::vector<int64_t> &values) {
  std::string result;
  for (int64_t value : values)
    result += (result.empty() ? "" : "x") + number(value);
  return result;
}

std::string checkTensor(const DnnObject &object) {
  SimTensor tensor = readTensor(object);
  if (!object.has(dnn::tensorDataType) || !object.has(dnn::tensorDims) ||
      !object.has(dnn::tensorStrides) || !object.has(dnn::tensorId))
    return "a tensor needs a type, dims, strides and an id";
  if (tensor.elementBytes() == 0)
    return "a tensor has the unknown type " + number(tensor.type);
  if (tensor.dims.size() != tensor.strides.size() || tensor.dims.size() > 8)
    return "a tensor has " + number(int64_t(tensor.dims.size())) +
           " dims and " + number(int64_t(tensor.strides.size())) + " strides";
  for (int64_t dim : tensor.dims)
    if (dim < 1)
      return "a tensor has the dims " + text(tensor.dims);
  for (int64_t stride : tensor.strides)
    if (stride < 1)
      return "a tensor has the strides " + text(tensor.strides);
  if (tensor.alignment < 1 || (tensor.alignment & (tensor.alignment - 1)) ||
      tensor.alignment % static_cast<int64_t>(tensor.elementBytes()))
    return "a tensor is aligned to " + number(tensor.alignment) + " bytes";
  if (tensor.isVirtual && tensor.isByValue)
    return "a virtual tensor has no value";
  if (tensor.isByValue && tensor.elements() != 1)
    return "a tensor by value has " + text(tensor.dims) + " elements";
  return {};
}

std::string checkConvolution(const DnnObject &object) {
  auto strides = object.list<int64_t>(dnn::convStrides),
       dilations = object.list<int64_t>(dnn::convDilations),
       pre = object.list<int64_t>(dnn::convPrePads),
       post = object.list<int64_t>(dnn::convPostPads);
  auto dims = object.one<int64_t>(dnn::convSpatialDims, 0);
  if (dims < 2 || dims > 3)
    return "a convolution has " + number(dims) + " spatial dims";
  for (const auto &list : {strides, dilations, pre, post})
    if (static_cast<int64_t>(list.size()) != dims)
      return "a convolution of " + number(dims) + " dims has a list of " +
             number(int64_t(list.size()));
  for (int64_t i = 0; i < dims; ++i)
    if (strides[i] < 1 || dilations[i] < 1 || pre[i] < 0 || post[i] < 0)
      return "a convolution has strides " + text(strides) + ", dilations " +
             text(dilations) + ", pads " + text(pre) + " and " + text(post);
  if (object.one<int32_t>(dnn::convMode, 0) != dnn::crossCorrelation)
    return "a convolution is flipped";
  return {};
}

std::string checkConvOperation(const DnnObject &object) {
  bool forward = object.type == dnn::opConvForward,
       inputGrad = object.type == dnn::opConvInputGrad;
  auto read = [&](int ofForward, int ofInput, int ofFilter) {
    return object.object(forward ? ofForward : inputGrad ? ofInput : ofFilter);
  };
  const DnnObject *xAt =
                      read(dnn::forwardX, dnn::inputGradDx, dnn::filterGradX),
                  *wAt =
                      read(dnn::forwardW, dnn::inputGradW, dnn::filterGradDw),
                  *yAt =
                      read(dnn::forwardY, dnn::inputGradDy, dnn::filterGradDy),
                  *conv = read(dnn::forwardConv, dnn::inputGradConv,
                               dnn::filterGradConv);
  if (!xAt || !wAt || !yAt || !conv)
    return "a convolution operation lacks a tensor or the convolution";
  if (xAt->type != dnn::tensorDesc || wAt->type != dnn::tensorDesc ||
      yAt->type != dnn::tensorDesc || conv->type != dnn::convolutionDesc)
    return "a convolution operation has a descriptor of the wrong kind";
  SimTensor x = readTensor(*xAt), w = readTensor(*wAt), y = readTensor(*yAt);
  auto rank = conv->one<int64_t>(dnn::convSpatialDims, 0) + 2;
  for (const SimTensor *tensor : {&x, &w, &y})
    if (static_cast<int64_t>(tensor->dims.size()) != rank)
      return "a convolution of " + number(rank - 2) +
             " spatial dims has a tensor of " +
             number(int64_t(tensor->dims.size())) + " dims";
  if (x.dims[1] % w.dims[1] || y.dims[1] != w.dims[0] ||
      w.dims[0] % (x.dims[1] / w.dims[1]) || x.dims[0] != y.dims[0])
    return "a convolution of " + text(x.dims) + " with " + text(w.dims) +
           " does not give " + text(y.dims);
  auto strides = conv->list<int64_t>(dnn::convStrides),
       dilations = conv->list<int64_t>(dnn::convDilations),
       pre = conv->list<int64_t>(dnn::convPrePads),
       post = conv->list<int64_t>(dnn::convPostPads);
  for (size_t i = 0; i + 2 < x.dims.size(); ++i) {
    int64_t window = (w.dims[i + 2] - 1) * dilations[i] + 1,
            room = x.dims[i + 2] + pre[i] + post[i] - window;
    if (room < 0 || y.dims[i + 2] != room / strides[i] + 1)
      return "a convolution of " + text(x.dims) + " with " + text(w.dims) +
             " and pads " + text(pre) + ", " + text(post) + " does not give " +
             text(y.dims);
  }
  const SimTensor &result = forward     ? y
                            : inputGrad ? x
                                        : w,
                  &operand = forward ? x : y;
  if (!forward && !result.isVirtual && result.type != operand.type)
    return "a gradient of type " + number(operand.type) +
           " is stored as type " + number(result.type);
  auto compute = conv->one<int32_t>(dnn::convComputeType, -1);
  int32_t data = x.isVirtual || inputGrad ? w.type : x.type;
  if (compute != (data == dnn::f64 ? dnn::f64 : dnn::f32))
    return "a convolution of type " + number(data) + " computes in type " +
           number(compute);
  return {};
}

/// Whether every dim of an operand is the result's or 1.
bool broadcasts(const SimTensor &operand, const SimTensor &result) {
  if (operand.dims.size() != result.dims.size())
    return false;
  for (size_t i = 0; i < operand.dims.size(); ++i)
    if (operand.dims[i] != result.dims[i] && operand.dims[i] != 1)
      return false;
  return true;
}

std::string checkPointwise(const DnnObject &object) {
  const DnnObject *desc = object.object(dnn::opPointwiseDesc),
                  *x = object.object(dnn::opPointwiseX),
                  *y = object.object(dnn::opPointwiseY);
  if (!desc || !x || !y || desc->type != dnn::pointwiseDesc)
    return "a pointwise operation lacks its step, x or y";
  auto mode = desc->one<int32_t>(dnn::pointwiseMode, -1);
  bool binary = mode == dnn::add || mode == dnn::mul || mode == dnn::sub ||
                mode == dnn::div || mode == dnn::compareGe ||
                mode == dnn::binarySelect;
  if (binary != object.has(dnn::opPointwiseB) ||
      (mode == dnn::binarySelect) != object.has(dnn::opPointwiseT))
    return "a pointwise operation of mode " + number(mode) +
           " has the wrong number of operands";
  SimTensor result = readTensor(*y);
  for (int attribute :
       {dnn::opPointwiseX, dnn::opPointwiseB, dnn::opPointwiseT}) {
    const DnnObject *operand = object.object(attribute);
    if (operand && !broadcasts(readTensor(*operand), result))
      return "a pointwise operation of " + text(result.dims) +
             " has an operand of " + text(readTensor(*operand).dims);
  }
  if (mode == dnn::genIndex) {
    auto axis = desc->one<int64_t>(dnn::pointwiseAxis, -1);
    if (axis < 0 || axis >= static_cast<int64_t>(result.dims.size()))
      return "an index runs along axis " + number(axis);
  }
  return {};
}

std::string checkMatmul(const DnnObject &object) {
  const DnnObject *aAt = object.object(dnn::opMatmulA),
                  *bAt = object.object(dnn::opMatmulB),
                  *cAt = object.object(dnn::opMatmulC);
  if (!aAt || !bAt || !cAt || !object.has(dnn::opMatmulDesc))
    return "a product lacks an operand or its descriptor";
  SimTensor a = readTensor(*aAt), b = readTensor(*bAt), c = readTensor(*cAt);
  size_t rank = c.dims.size();
  bool fits = rank >= 3 && a.dims.size() == rank && b.dims.size() == rank &&
              a.dims[rank - 1] == b.dims[rank - 2] &&
              c.dims[rank - 2] == a.dims[rank - 2] &&
              c.dims[rank - 1] == b.dims[rank - 1];
  for (size_t i = 0; fits && i + 2 < rank; ++i)
    // Grouped queries: several batches of c share one of an operand.
    fits = c.dims[i] % a.dims[i] == 0 && c.dims[i] % b.dims[i] == 0;
  if (!fits)
    return "a product of " + text(a.dims) + " and " + text(b.dims) +
           " does not give " + text(c.dims);
  return {};
}

std::string checkReduction(const DnnObject &object) {
  const DnnObject *x = object.object(dnn::opReductionX),
                  *y = object.object(dnn::opReductionY);
  if (!x || !y || !object.has(dnn::opReductionDesc))
    return "a reduction lacks x, y or its descriptor";
  SimTensor from = readTensor(*x), to = readTensor(*y);
  bool fits = from.dims.size() == to.dims.size();
  for (size_t i = 0; fits && i < from.dims.size(); ++i)
    fits = from.dims[i] % to.dims[i] == 0;
  if (!fits)
    return "a reduction of " + text(from.dims) + " does not give " +
           text(to.dims);
  return {};
}

std::string checkStatistics(const DnnObject &object) {
  const DnnObject *x = object.object(dnn::genStatsX),
                  *sum = object.object(dnn::genStatsSum),
                  *squares = object.object(dnn::genStatsSquares);
  if (!x || !sum || !squares || !object.has(dnn::genStatsMode))
    return "statistics lack x, a result or their mode";
  if (object.one<int32_t>(dnn::genStatsMathPrecision, -1) != dnn::f32)
    return "statistics are not computed in fp32";
  SimTensor of = readTensor(*x);
  for (const DnnObject *result : {sum, squares}) {
    SimTensor to = readTensor(*result);
    std::vector<int64_t> expected(of.dims.size(), 1);
    if (expected.size() > 1)
      expected[1] = of.dims[1];
    if (to.dims != expected || to.type != dnn::f32)
      return "statistics of " + text(of.dims) + " are " + text(to.dims) +
             " of type " + number(to.type);
  }
  return {};
}

std::string checkReshape(const DnnObject &object) {
  const DnnObject *x = object.object(dnn::opReshapeX),
                  *y = object.object(dnn::opReshapeY);
  if (!x || !y)
    return "a reshape lacks x or y";
  if (readTensor(*x).elements() != readTensor(*y).elements())
    return "a reshape of " + text(readTensor(*x).dims) + " gives " +
           text(readTensor(*y).dims);
  return {};
}

} // namespace

SimTensor sinter::sim::readTensor(const DnnObject &object) {
  SimTensor tensor;
  tensor.id = object.one<int64_t>(dnn::tensorId, 0);
  tensor.type = object.one<int32_t>(dnn::tensorDataType, -1);
  tensor.dims = object.list<int64_t>(dnn::tensorDims);
  tensor.strides = object.list<int64_t>(dnn::tensorStrides);
  tensor.alignment = object.one<int64_t>(dnn::tensorAlignment, 16);
  tensor.isVirtual = object.one<bool>(dnn::tensorIsVirtual, false);
  tensor.isByValue = object.one<bool>(dnn::tensorIsByValue, false);
  return tensor;
}

int64_t SimTensor::elements() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

uint64_t SimTensor::elementBytes() const {
  switch (type) {
  case dnn::f64:
    return 8;
  case dnn::f32:
  case dnn::i32:
    return 4;
  case dnn::f16:
  case dnn::bf16:
    return 2;
  case dnn::boolean:
    return 1;
  default:
    return 0;
  }
}

uint64_t SimTensor::extentBytes() const {
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    last += (dims[i] - 1) * strides[i];
  return static_cast<uint64_t>(last + 1) * elementBytes();
}

std::string sinter::sim::checkObject(const DnnObject &object) {
  switch (object.type) {
  case dnn::tensorDesc:
    return checkTensor(object);
  case dnn::convolutionDesc:
    return checkConvolution(object);
  case dnn::opConvForward:
  case dnn::opConvInputGrad:
  case dnn::opConvFilterGrad:
    return checkConvOperation(object);
  case dnn::opPointwise:
    return checkPointwise(object);
  case dnn::opMatmul:
    return checkMatmul(object);
  case dnn::opReduction:
    return checkReduction(object);
  case dnn::opReshape:
    return checkReshape(object);
  case dnn::opGenStats:
    return checkStatistics(object);
  case dnn::operationGraphDesc:
    return SimDnnGraph().read(object);
  case dnn::variantPackDesc: {
    auto ids = object.list<int64_t>(dnn::packIds);
    if (ids.size() != object.list<void *>(dnn::packPointers).size())
      return "a variant pack has as many pointers as ids";
    std::sort(ids.begin(), ids.end());
    if (std::adjacent_find(ids.begin(), ids.end()) != ids.end())
      return "a variant pack names a tensor twice";
    return {};
  }
  default:
    return {};
  }
}
