//===- Nest.cpp - a kernel's loops and what they compute ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/Nest.h"
#include "backends/common/codegen/Contraction.h"
#include "ir/IndexMap.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace sinter::codegen {

using ir::Domain;
using ir::Index;
using ir::IndexVector;

Nest::Nest(Block &body, Domain domain, std::vector<Root> roots)
    : Nest(body, std::move(domain), std::move(roots), body.getArguments()) {}

Nest::Nest(Block &body, Domain domainIn, std::vector<Root> rootsIn,
           ArrayRef<BlockArgument> arguments)
    : body(body), arguments(arguments), domain(std::move(domainIn)),
      roots(std::move(rootsIn)), contraction(Contraction::find(body)) {
  SmallVector<std::pair<Value, IndexVector>> starts;
  for (const Root &root : roots)
    starts.push_back({root.value, root.read});
  indices = ir::traceIndices(body, starts, domain.reduced,
                             /*opaque=*/contraction);
  collapseLoops();
}

static bool dependsOn(Value value, ValueRange sources,
                      llvm::DenseSet<Value> &visited) {
  if (llvm::is_contained(sources, value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && visited.insert(value).second &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, sources, visited);
         });
}

bool dependsOn(Value value, ValueRange sources) {
  llvm::DenseSet<Value> visited;
  return dependsOn(value, sources, visited);
}

std::vector<SmallVector<ir::ReduceOp>>
Nest::independentSums(size_t most,
                      llvm::function_ref<bool(ir::ReduceOp)> isAlone) const {
  std::vector<SmallVector<ir::ReduceOp>> groups;
  SmallVector<Value> results; // of the last group
  bool isLastAlone = false;
  for (auto op : body.getOps<ir::ReduceOp>()) {
    if (!indices.contains(op.getResult()))
      continue;
    const bool alone = isAlone && isAlone(op);
    if (groups.empty() || groups.back().size() == most || alone ||
        isLastAlone || dependsOn(op.getX(), results)) {
      groups.emplace_back();
      results.clear();
    }
    groups.back().push_back(op);
    results.push_back(op.getResult());
    isLastAlone = alone;
  }
  return groups;
}

bool Nest::isOverAllLoops(const Root &root) const {
  return llvm::any_of(root.read, [&](const Index &index) {
    return llvm::any_of(
        index.terms, [&](auto term) { return domain.isReduced(term.first); });
  });
}

Index linearIndex(RankedTensorType type, ArrayRef<Index> index) {
  Index sum = Index::fixed(0);
  for (auto [i, stride] :
       llvm::zip_equal(index, ir::rowMajorStrides(type.getShape())))
    sum = sum + i.scaled(stride);
  return sum;
}

bool Nest::isReadByContractionOnly(Value value) const {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return user == contraction || (user->getNumResults() == 1 &&
                                   isReadByContractionOnly(user->getResult(0)));
  });
}

/// Joins two neighbouring loops if every tensor is accessed as by a single
/// loop: vectors become longer and remainders rarer. The outer loop keeps one
/// step.
void Nest::collapseLoops() {
  SmallVector<Index> accesses;
  for (BlockArgument argument : body.getArguments()) {
    if (argument.use_empty() ||
        (contraction && isReadByContractionOnly(argument)))
      continue;
    auto it = indices.find(argument);
    if (it == indices.end())
      return;
    accesses.push_back(linearIndex(ir::tensorType(argument), it->second));
  }
  for (const Root &root : roots)
    accesses.push_back(linearIndex(root.type, root.write));
  if (contraction) {
    Value result = contraction->getResult(0);
    auto it = indices.find(result);
    if (it == indices.end())
      return;
    accesses.push_back(linearIndex(ir::tensorType(result), it->second));
  }
  for (Operation &op : body)
    if (isa<ir::IotaOp, ir::PadOp, ir::GatherOp, ir::GatherElementsOp,
            ir::GatherNdOp, ir::ReduceWindowOp, ir::ArgReduceOp>(op))
      return; // these use the index itself

  SmallVector<unsigned> loops;
  for (auto [loop, size] : llvm::enumerate(domain.sizes))
    if (size != 1)
      loops.push_back(loop);
  for (unsigned i = loops.size(); i-- > 1;) {
    unsigned outer = loops[i - 1], inner = loops[i];
    if (domain.isReduced(outer) != domain.isReduced(inner))
      continue;
    bool walksAsOne = llvm::all_of(accesses, [&](const Index &access) {
      return access.coefficient(outer) ==
             access.coefficient(inner) * domain.sizes[inner];
    });
    if (!walksAsOne)
      continue;
    domain.sizes[inner] *= domain.sizes[outer];
    domain.sizes[outer] = 1;
    // `inner` represents both in the next pair.
    loops[i - 1] = inner;
  }
}

std::optional<unsigned> Nest::reductionLoop() const {
  for (Operation &op : body) {
    if (!isa<ir::ReduceOp, ir::ArgReduceOp>(op))
      continue;
    auto it = indices.find(op.getOperand(0));
    if (it == indices.end())
      continue;
    for (const Index &index : llvm::reverse(it->second))
      if (std::optional<unsigned> loop = index.asLoop();
          loop && domain.sizes[*loop] > 1)
        return loop;
    break;
  }
  return std::nullopt;
}

std::optional<unsigned> Nest::contiguousLoop(int64_t lanes) const {
  llvm::DenseMap<unsigned, int64_t> votes;
  auto vote = [&](RankedTensorType type, ArrayRef<Index> index) {
    for (auto [loop, coefficient] : linearIndex(type, index).terms)
      if (coefficient == 1 && domain.sizes[loop] > 1)
        votes[loop] += type.getNumElements();
  };
  for (const Root &root : roots)
    vote(root.type, root.write);
  for (BlockArgument argument : body.getArguments())
    if (auto it = indices.find(argument); it != indices.end())
      vote(ir::tensorType(argument), it->second);
  // Windows read contiguous elements only along dimensions that they do not
  // slide over.
  for (auto windows : body.getOps<ir::ReduceWindowOp>())
    if (auto it = indices.find(windows.getResult()); it != indices.end()) {
      IndexVector index = it->second;
      for (auto [i, size, stride] :
           llvm::zip_equal(index, windows.getWindow(), windows.getStrides()))
        if (size != 1 || stride != 1)
          i = Index::fixed(0);
      vote(ir::tensorType(windows.getX()), index);
    }
  auto weight = [&](unsigned loop) {
    return votes.lookup(loop) * std::min(domain.sizes[loop], lanes);
  };
  std::optional<unsigned> chosen;
  for (auto [loop, size] : llvm::enumerate(domain.sizes))
    if (!domain.isReduced(loop) && weight(loop) > 0 &&
        (!chosen || weight(loop) >= weight(*chosen)))
      chosen = loop;
  return chosen;
}

int64_t Nest::stepCost() const {
  int64_t cost = 0;
  for (Operation &op : body.without_terminator())
    if (auto windows = dyn_cast<ir::ReduceWindowOp>(op))
      cost += std::accumulate(windows.getWindow().begin(),
                              windows.getWindow().end(), int64_t(1),
                              std::multiplies<>());
    else if (!isa<ir::BroadcastOp, ir::ConstantOp, ir::ReshapeOp>(op))
      ++cost;
  return std::max<int64_t>(cost, 1) + body.getNumArguments();
}

int64_t Nest::reducedSteps() const {
  int64_t steps = 1;
  for (unsigned loop : domain.reduced)
    steps *= std::max<int64_t>(domain.sizes[loop], 1);
  return steps;
}

//===----------------------------------------------------------------------===//
// Parts of kernels
//===----------------------------------------------------------------------===//

namespace {
/// Finds nested kernels with one nest that compute the same.
class EqualParts {
public:
  /// The number of the part that computes the same as `fusion`; `next` if there
  /// is none.
  size_t firstOf(ir::KernelOp fusion, size_t next) {
    bool isNest = fusion.getKind() == ir::KernelKind::loop ||
                  fusion.getKind() == ir::KernelKind::reduce;
    if (!isNest)
      return next;
    auto &known = byHash[hash(fusion)];
    for (auto &[other, number] : known)
      if (other->getAttrDictionary() == fusion->getAttrDictionary() &&
          OperationEquivalence::isRegionEquivalentTo(
              &other.getBody(), &fusion.getBody(),
              OperationEquivalence::IgnoreLocations))
        return number;
    known.push_back({fusion, next});
    return next;
  }

private:
  static size_t hash(ir::KernelOp fusion) {
    llvm::hash_code hash =
        llvm::hash_value(fusion->getAttrDictionary().getAsOpaquePointer());
    for (Type type : fusion.getBody().getArgumentTypes())
      hash = llvm::hash_combine(hash, type.getAsOpaquePointer());
    return llvm::hash_combine(hash,
                              fusion.getBody().front().getOperations().size());
  }
  llvm::DenseMap<size_t, SmallVector<std::pair<ir::KernelOp, size_t>, 1>>
      byHash;
};
} // namespace

namespace {
/// Compares whether two values are computed in the same way from different
/// block arguments.
class Likeness {
public:
  bool isAlike(Value one, Value other) {
    auto [known, isNew] = others.try_emplace(one, other);
    if (!isNew)
      return known->second == other;
    if (one.getType() != other.getType())
      return false;
    Operation *op = one.getDefiningOp(), *second = other.getDefiningOp();
    if (!op || !second) {
      arguments.push_back(one);
      return !op && !second;
    }
    return op->getName() == second->getName() && !op->getNumRegions() &&
           op->getAttrDictionary() == second->getAttrDictionary() &&
           op->getNumOperands() == second->getNumOperands() &&
           cast<OpResult>(one).getResultNumber() ==
               cast<OpResult>(other).getResultNumber() &&
           llvm::all_of(
               llvm::zip_equal(op->getOperands(), second->getOperands()),
               [&](auto pair) {
                 return isAlike(std::get<0>(pair), std::get<1>(pair));
               });
  }

  /// The block arguments of the one value, and the other value's counterparts.
  SmallVector<Value> arguments;
  llvm::DenseMap<Value, Value> others;
};

/// Makes a part for each operand of a concat, computed in its own loops.
class ConcatParts {
public:
  ConcatParts(ir::ConcatOp concat, ArrayRef<unsigned> inputs,
              ArrayRef<unsigned> outputs, std::vector<KernelPart> &parts)
      : concat(concat), inputs(inputs), outputs(outputs), parts(parts),
        type(concat.getType()), axis(concat.getAxis()) {}

  void add() {
    int64_t offset = 0;
    for (Value operand : concat.getInputs()) {
      if (!joinAlike(operand, offset))
        addFirst(operand, offset);
      offset += ir::tensorType(operand).getDimSize(axis);
    }
  }

private:
  struct First {
    Value operand;
    int64_t offset;
    size_t part;
  };

  /// Bytes of the result before position `offset` of the axis, per outer step.
  int64_t bytesAt(int64_t offset) const {
    return offset * ir::rowMajorStrides(type.getShape())[axis] *
           ir::elementSizeBytes(type.getElementType());
  }

  bool joinAlike(Value operand, int64_t offset) {
    constexpr int64_t kVectorBytes = 16;
    for (First &first : firsts[operand.getType()]) {
      int64_t shift = bytesAt(offset) - bytesAt(first.offset);
      if (shift % kVectorBytes != 0 ||
          shift > std::numeric_limits<int32_t>::max())
        continue;
      Likeness likeness;
      if (!likeness.isAlike(first.operand, operand))
        continue;
      PartBuffers &buffers = parts[first.part].buffers.emplace_back();
      for (BlockArgument argument : parts[first.part].nest->arguments)
        buffers.inputs.push_back(inputOf(likeness.others.lookup(argument)));
      buffers.outputs = llvm::to_vector(outputs);
      buffers.shiftBytes = shift;
      return true;
    }
    return false;
  }

  void addFirst(Value operand, int64_t offset) {
    Domain domain;
    IndexVector read;
    // An operand that is a reduction also has its reduced loops.
    auto reduce = operand.getDefiningOp<ir::ReduceOp>();
    RankedTensorType loops = ir::tensorType(reduce ? reduce.getX() : operand);
    for (auto [dim, size] : llvm::enumerate(loops.getShape())) {
      domain.sizes.push_back(size);
      if (reduce && llvm::is_contained(reduce.getDims(), dim))
        domain.reduced.push_back(dim);
      else
        read.push_back(size == 1 ? Index::fixed(0) : Index::loop(dim));
    }
    IndexVector write = read;
    write[axis] = write[axis].plus(offset);
    Likeness self;
    self.isAlike(operand, operand);
    SmallVector<BlockArgument> arguments;
    PartBuffers buffers;
    for (Value argument : self.arguments) {
      arguments.push_back(cast<BlockArgument>(argument));
      buffers.inputs.push_back(inputOf(argument));
    }
    buffers.outputs = llvm::to_vector(outputs);
    firsts[operand.getType()].push_back({operand, offset, parts.size()});
    parts.push_back(
        {std::make_shared<Nest>(
             *concat->getBlock(), domain,
             std::vector<Root>{{operand, read, type, write, nullptr, 0}},
             arguments),
         nullptr,
         {buffers}});
  }

  unsigned inputOf(Value argument) const {
    return inputs[cast<BlockArgument>(argument).getArgNumber()];
  }

  ir::ConcatOp concat;
  ArrayRef<unsigned> inputs, outputs;
  std::vector<KernelPart> &parts;
  RankedTensorType type;
  uint64_t axis;
  llvm::DenseMap<Type, SmallVector<First, 1>> firsts;
};
} // namespace

static void addParts(ir::KernelOpInterface fusion, ArrayRef<unsigned> inputs,
                     ArrayRef<unsigned> outputs,
                     std::vector<KernelPart> &parts);

/// Calls `visit` for each kernel in `body`, with the numbers of its inputs.
/// `numbers` gets those of arguments and aliases; `visit` adds those of
/// results.
static void
forKernels(Block &body, llvm::DenseMap<Value, unsigned> &numbers,
           llvm::function_ref<void(ir::KernelOp, ArrayRef<unsigned>)> visit) {
  for (BlockArgument argument : body.getArguments())
    numbers[argument] = argument.getArgNumber();
  for (Operation &member : body.without_terminator()) {
    auto kernel = dyn_cast<ir::KernelOp>(member);
    if (!kernel) { // an alias: the same bytes
      numbers[member.getResult(0)] = numbers.lookup(member.getOperand(0));
      continue;
    }
    SmallVector<unsigned> inputs;
    for (Value input : kernel.getInputs())
      inputs.push_back(numbers.lookup(input));
    visit(kernel, inputs);
  }
}

/// The part of a kernel of kind rows.
static KernelPart rowsPart(Block &body, ArrayRef<unsigned> inputs,
                           ArrayRef<unsigned> outputs) {
  KernelPart part;
  part.buffers.push_back({llvm::to_vector(inputs), llvm::to_vector(outputs)});
  Operation *yield = body.getTerminator();
  llvm::DenseMap<Value, unsigned> numbers;
  forKernels(body, numbers, [&](ir::KernelOp kernel, ArrayRef<unsigned> own) {
    SmallVector<unsigned> results;
    for (Value output : kernel.getOutputs()) {
      unsigned number = body.getNumArguments();
      auto yielded = llvm::find(yield->getOperands(), output);
      number += yielded - yield->operand_begin();
      if (yielded == yield->operand_end()) {
        number += part.kept.size();
        part.kept.push_back(output);
      }
      numbers[output] = number;
      results.push_back(number);
    }
    addParts(kernel, own, results, part.chain);
  });
  return part;
}

static void addParts(ir::KernelOpInterface fusion, ArrayRef<unsigned> inputs,
                     ArrayRef<unsigned> outputs,
                     std::vector<KernelPart> &parts) {
  Block &body = fusion.getBody().front();
  ir::KernelKind kind = fusion.getKind();
  Operation *yield = body.getTerminator();
  auto addNest = [&](ir::Domain domain, std::vector<Root> roots) {
    parts.push_back({std::make_shared<Nest>(body, domain, std::move(roots)),
                     nullptr,
                     {{llvm::to_vector(inputs), llvm::to_vector(outputs)}}});
  };

  if (kind == ir::KernelKind::multi) {
    EqualParts equal;
    for (auto part : body.getOps<ir::KernelOp>()) {
      SmallVector<unsigned> partInputs, partOutputs;
      for (Value input : part.getInputs())
        partInputs.push_back(inputs[cast<BlockArgument>(input).getArgNumber()]);
      for (Value output : part.getOutputs())
        for (OpOperand &use : output.getUses())
          partOutputs.push_back(outputs[use.getOperandNumber()]);
      size_t first = equal.firstOf(part, parts.size());
      if (first < parts.size()) {
        parts[first].buffers.push_back({partInputs, partOutputs});
        continue;
      }
      addParts(part, partInputs, partOutputs, parts);
    }
    return;
  }
  if (kind == ir::KernelKind::rows) {
    parts.push_back(
        rowsPart(body, llvm::to_vector(inputs), llvm::to_vector(outputs)));
    return;
  }
  if (ir::hasDomain(kind)) {
    ir::Domain domain(fusion.getDomainAttr());
    std::vector<Root> roots;
    // A result without elements is not stored. Others of the same nest may have
    // elements, such as sums over an empty dimension.
    for (auto [number, value] : llvm::enumerate(yield->getOperands())) {
      if (ir::tensorType(value).getNumElements() == 0)
        continue;
      const IndexVector &view = domain.views[number];
      roots.push_back({value, view, ir::tensorType(value), view, nullptr,
                       static_cast<unsigned>(number)});
    }
    addNest(domain, std::move(roots));
    return;
  }
  if (kind == ir::KernelKind::concat) {
    auto concat = yield->getOperand(0).getDefiningOp<ir::ConcatOp>();
    ConcatParts(concat, inputs, outputs, parts).add();
    return;
  }
  // The op's operands are block arguments; its results are yielded, in any
  // order.
  Operation *op = &body.front();
  KernelPart part;
  part.solo = op;
  PartBuffers &own = part.buffers.emplace_back();
  for (Value operand : op->getOperands())
    own.inputs.push_back(inputs[cast<BlockArgument>(operand).getArgNumber()]);
  own.outputs.resize(op->getNumResults());
  for (auto [number, value] : llvm::enumerate(yield->getOperands()))
    own.outputs[cast<OpResult>(value).getResultNumber()] = outputs[number];
  parts.push_back(std::move(part));
}

std::vector<std::vector<KernelPart>>
kernelStages(ir::KernelOpInterface kernel) {
  if (!ir::hasStages(kernel.getKind()))
    return {kernelParts(kernel)};
  Block &body = kernel.getBody().front();
  Operation *yield = body.getTerminator();
  llvm::DenseMap<Value, unsigned> numbers;
  std::vector<std::vector<KernelPart>> stages;
  forKernels(body, numbers, [&](ir::KernelOp stage, ArrayRef<unsigned> inputs) {
    SmallVector<unsigned> outputs;
    for (Value output : stage.getOutputs())
      for (OpOperand &use : output.getUses())
        if (use.getOwner() == yield) {
          outputs.push_back(use.getOperandNumber());
          numbers[output] = body.getNumArguments() + use.getOperandNumber();
        }
    addParts(stage, inputs, outputs, stages.emplace_back());
  });
  return stages;
}

std::vector<KernelPart> kernelParts(ir::KernelOpInterface kernel) {
  Block &body = kernel.getBody().front();
  std::vector<KernelPart> parts;
  addParts(kernel,
           llvm::to_vector(llvm::seq<unsigned>(0, body.getNumArguments())),
           llvm::to_vector(
               llvm::seq<unsigned>(0, body.getTerminator()->getNumOperands())),
           parts);
  return parts;
}

} // namespace sinter::codegen
