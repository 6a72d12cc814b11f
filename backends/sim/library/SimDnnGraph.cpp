//===- SimDnnGraph.cpp - an operation graph read from descriptors ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimDnnGraph.h"
#include "backends/sim/library/SimMemory.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace sinter;
using namespace sinter::sim;
namespace dnn = sinter::cuda::dnn;

namespace {

std::string name(int64_t id) { return "tensor " + std::to_string(id); }

} // namespace

std::string SimDnnGraph::addTensor(const DnnObject *object, int64_t &id) {
  SimTensor tensor = readTensor(*object);
  id = tensor.id;
  auto [found, isNew] = tensors.emplace(id, tensor);
  if (!isNew && !(found->second == tensor))
    return name(id) + " is described in two ways";
  return {};
}

std::string SimDnnGraph::addOperation(const DnnObject &object) {
  SimOperation operation;
  operation.kind = object.type;
  std::vector<int> inputs;
  int output;
  switch (object.type) {
  case dnn::opConvForward:
    inputs = {dnn::forwardX, dnn::forwardW};
    output = dnn::forwardY;
    break;
  case dnn::opConvInputGrad:
    inputs = {dnn::inputGradDy, dnn::inputGradW};
    output = dnn::inputGradDx;
    break;
  case dnn::opConvFilterGrad:
    inputs = {dnn::filterGradX, dnn::filterGradDy};
    output = dnn::filterGradDw;
    break;
  case dnn::opPointwise:
    inputs = {dnn::opPointwiseX, dnn::opPointwiseB, dnn::opPointwiseT};
    output = dnn::opPointwiseY;
    break;
  case dnn::opMatmul:
    inputs = {dnn::opMatmulA, dnn::opMatmulB};
    output = dnn::opMatmulC;
    break;
  case dnn::opReduction:
    inputs = {dnn::opReductionX};
    output = dnn::opReductionY;
    break;
  case dnn::opReshape:
    inputs = {dnn::opReshapeX};
    output = dnn::opReshapeY;
    break;
  case dnn::opGenStats:
    inputs = {dnn::genStatsX};
    output = dnn::genStatsSum;
    if (std::string broken =
            addTensor(object.object(dnn::genStatsSquares), operation.squares);
        !broken.empty())
      return broken;
    break;
  default:
    return "an operation graph has a descriptor that is not an operation";
  }
  for (int attribute : inputs)
    if (const DnnObject *tensor = object.object(attribute)) {
      operation.inputs.emplace_back();
      if (std::string broken = addTensor(tensor, operation.inputs.back());
          !broken.empty())
        return broken;
    }
  if (std::string broken = addTensor(object.object(output), operation.output);
      !broken.empty())
    return broken;

  if (isConvolution(operation)) {
    const DnnObject &conv = *object.object(
        object.type == dnn::opConvForward     ? dnn::forwardConv
        : object.type == dnn::opConvInputGrad ? dnn::inputGradConv
                                              : dnn::filterGradConv);
    operation.computeType = conv.one<int32_t>(dnn::convComputeType, -1);
    operation.strides = conv.list<int64_t>(dnn::convStrides);
    operation.dilations = conv.list<int64_t>(dnn::convDilations);
    operation.prePads = conv.list<int64_t>(dnn::convPrePads);
    operation.postPads = conv.list<int64_t>(dnn::convPostPads);
  } else if (object.type == dnn::opPointwise) {
    const DnnObject &step = *object.object(dnn::opPointwiseDesc);
    operation.mode = step.one<int32_t>(dnn::pointwiseMode, -1);
    operation.lower = step.one<double>(dnn::pointwiseReluLower, 0);
    operation.propagatesNan =
        step.one<int32_t>(dnn::pointwiseNanPropagation, dnn::dropNan) ==
        dnn::propagateNan;
    operation.hasUpper = step.has(dnn::pointwiseReluUpper);
    operation.upper = step.one<double>(dnn::pointwiseReluUpper, 0);
    operation.swishBeta = step.one<double>(dnn::pointwiseSwishBeta, 1);
    operation.axis = step.one<int64_t>(dnn::pointwiseAxis, 0);
  } else if (object.type == dnn::opReduction) {
    operation.mode = object.object(dnn::opReductionDesc)
                         ->one<int32_t>(dnn::reductionOperator, -1);
  }
  operations.push_back(std::move(operation));
  return {};
}

/// Sorts operands before their users. Exactly one operation must make each
/// virtual tensor.
std::string SimDnnGraph::sort() {
  std::set<int64_t> made, written;
  for (const SimOperation &operation : operations)
    for (int64_t id : operation.results()) {
      if (!written.insert(id).second)
        return name(id) + " is written by two operations";
      if (tensors[id].isByValue)
        return name(id) + " is passed by value and written";
    }
  std::vector<SimOperation> sorted;
  while (!operations.empty()) {
    auto next = std::find_if(
        operations.begin(), operations.end(), [&](const SimOperation &op) {
          return std::all_of(
              op.inputs.begin(), op.inputs.end(),
              [&](int64_t id) { return made.count(id) || !written.count(id); });
        });
    if (next == operations.end())
      return "the operations form a cycle";
    for (int64_t id : next->inputs)
      if (tensors[id].isVirtual && !made.count(id))
        return "virtual " + name(id) + " is read but never written";
    for (int64_t id : next->results())
      made.insert(id);
    sorted.push_back(std::move(*next));
    operations.erase(next);
  }
  operations = std::move(sorted);
  return {};
}

std::string SimDnnGraph::read(const DnnObject &graph) {
  auto found = graph.values.find(dnn::graphOps);
  if (found == graph.values.end() || found->second.objects.empty())
    return "an operation graph has no operations";
  for (const auto &object : found->second.objects)
    if (std::string broken = addOperation(*object); !broken.empty())
      return broken;
  return sort();
}

bool SimDnnGraph::isConvolution(const SimOperation &operation) const {
  return operation.kind == dnn::opConvForward ||
         operation.kind == dnn::opConvInputGrad ||
         operation.kind == dnn::opConvFilterGrad;
}

bool SimDnnGraph::isChannelsLast(int64_t id) const {
  const SimTensor &tensor = tensors.at(id);
  return tensor.strides[1] == 1;
}

/// As reported by cuDNN 9.19 for an H200: forward convolutions support [add]
/// bias [activation] in any layout; other steps need two spatial dimensions and
/// channels last everywhere. Statistics need a convolution without other steps,
/// in 16 bits and with activations that have channels last.
std::string SimDnnGraph::pattern() const {
  const SimOperation &first = operations.front();
  if (!isConvolution(first)) {
    auto matmuls = std::count_if(
        operations.begin(), operations.end(),
        [](const SimOperation &op) { return op.kind == dnn::opMatmul; });
    return matmuls == 2 ? "SDPA_FWD" : matmuls == 5 ? "SDPA_BWD" : "";
  }
  if (operations.size() == 1)
    return first.kind == dnn::opConvForward     ? "CONV_FORWARD"
           : first.kind == dnn::opConvInputGrad ? "CONV_BWD_DATA"
                                                : "CONV_BWD_FILTER";
  if (first.kind == dnn::opConvFilterGrad || first.computeType == dnn::f64)
    return {};
  if (operations[1].kind == dnn::opGenStats) {
    int32_t type = tensors.at(first.inputs[0]).type;
    bool isNarrow = type == dnn::f16 || type == dnn::bf16;
    return operations.size() == 2 && first.kind == dnn::opConvForward &&
                   operations[1].inputs[0] == first.output && isNarrow &&
                   isChannelsLast(first.inputs[0]) &&
                   isChannelsLast(first.output)
               ? "SCALE_BIAS_ADD_RELU_CONV_STATS"
               : "";
  }
  for (size_t i = 1; i < operations.size(); ++i) {
    const SimOperation &op = operations[i];
    if (op.kind != dnn::opPointwise || op.inputs[0] != operations[i - 1].output)
      return {};
  }
  auto isBias = [&](const SimOperation &op) {
    return op.mode == dnn::add &&
           tensors.at(op.inputs[1]).elements() == tensors.at(op.output).dims[1];
  };
  auto isAdd = [&](const SimOperation &op) {
    return op.mode == dnn::add &&
           tensors.at(op.inputs[1]).dims == tensors.at(op.output).dims;
  };
  auto isActivation = [&](const SimOperation &op) {
    return op.mode == dnn::reluForward || op.mode == dnn::sigmoidForward ||
           op.mode == dnn::tanhForward;
  };
  if (first.kind == dnn::opConvForward) {
    size_t at = 1, size = operations.size();
    if (at + 1 < size && isAdd(operations[at]) && isBias(operations[at + 1]))
      ++at;
    if (isBias(operations[at])) {
      ++at;
      if (at < size && isActivation(operations[at]))
        ++at;
      if (at == size)
        return "CONV_ADD_BIAS_ACT";
    }
  }
  bool last = first.strides.size() == 2 && isChannelsLast(first.inputs[0]) &&
              isChannelsLast(first.inputs[1]) &&
              isChannelsLast(operations.back().output);
  return last ? "GENERIC_CONV_FUSION" : "";
}

std::vector<std::pair<uintptr_t, uintptr_t>>
SimTensor::runsAt(uintptr_t address) const {
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  // Dimensions without gaps between them form one run.
  int64_t run = 1;
  size_t inner = 0;
  for (; inner < order.size(); ++inner) {
    size_t dim = order[inner];
    if (dims[dim] != 1 && strides[dim] != run)
      break;
    run *= dims[dim];
  }
  std::vector<std::pair<uintptr_t, uintptr_t>> runs;
  int64_t count = run ? elements() / run : 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0, rest = i;
    for (size_t j = inner; j < order.size(); ++j) {
      offset += rest % dims[order[j]] * strides[order[j]];
      rest /= dims[order[j]];
    }
    uintptr_t begin = address + static_cast<uint64_t>(offset) * elementBytes();
    runs.push_back(
        {begin, begin + static_cast<uint64_t>(run) * elementBytes()});
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

/// Whether two sorted lists of runs share a byte.
static bool shareBytes(const std::vector<std::pair<uintptr_t, uintptr_t>> &a,
                       const std::vector<std::pair<uintptr_t, uintptr_t>> &b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].first < b[j].second && b[j].first < a[i].second)
      return true;
    if (a[i].second <= b[j].first)
      ++i;
    else
      ++j;
  }
  return false;
}

std::string
SimDnnGraph::checkAddresses(const std::map<int64_t, void *> &addresses) const {
  for (const auto &[id, address] : addresses)
    if (!tensors.count(id) || tensors.at(id).isVirtual)
      return name(id) + " has an address but is not in memory";
  std::set<int64_t> written;
  for (const SimOperation &operation : operations)
    for (int64_t id : operation.results())
      written.insert(id);
  for (const auto &[id, tensor] : tensors) {
    if (tensor.isVirtual)
      continue;
    auto found = addresses.find(id);
    if (found == addresses.end() || !found->second)
      return name(id) + " has no address";
    if (tensor.isByValue)
      continue;
    auto at = reinterpret_cast<uintptr_t>(found->second);
    if (at % static_cast<uint64_t>(tensor.alignment))
      return name(id) + " is not aligned to the " +
             std::to_string(tensor.alignment) + " bytes of its descriptor";
    if (!isLibraryMemory(found->second, tensor.extentBytes()))
      return name(id) + " of " + std::to_string(tensor.extentBytes()) +
             " bytes does not lie in memory of the device";
    for (const auto &[otherId, other] : tensors) {
      if (otherId == id || other.isVirtual || other.isByValue ||
          !written.count(id))
        continue;
      auto otherFound = addresses.find(otherId);
      auto otherAt = otherFound == addresses.end()
                         ? 0
                         : reinterpret_cast<uintptr_t>(otherFound->second);
      // An added operand may be the result itself, at exactly the same address.
      bool inPlace = otherAt == at && other.dims == tensor.dims &&
                     other.strides == tensor.strides && !written.count(otherId);
      if (otherAt && !inPlace && at < otherAt + other.extentBytes() &&
          otherAt < at + tensor.extentBytes() &&
          shareBytes(tensor.runsAt(at), other.runsAt(otherAt)))
        return name(id) + " is written and overlaps " + name(otherId);
    }
  }
  return {};
}
