//===- RowsPart.cpp - kernels of which a block computes a row -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The parts of a kernel of kind rows, such as the products and the softmax of
// an attention with one query. A block computes its row of one part after the
// other. What only these parts read is in shared memory, where the block has
// its own row.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/BlockPart.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::gpu {

using codegen::ElementEmitter;
using codegen::Nest;

namespace {

/// A thread has a piece of 16 bytes of each operand at a time, if that needs no
/// more threads than these.
constexpr int64_t kPieceBytes = 16, kMostThreads = 512;

int64_t keptSteps(const Nest &nest) {
  int64_t steps = 1;
  for (auto [loop, size] : llvm::enumerate(nest.domain.sizes))
    if (!nest.domain.isReduced(loop))
      steps *= size;
  return steps;
}

/// The threads of a block that computes one of `rows` rows of `part`: enough
/// for its reductions, too.
int64_t threadsFor(const codegen::KernelPart &part, int64_t rows) {
  int64_t bytes = 1, least = kWarpThreads;
  for (const codegen::KernelPart &member : part.chain) {
    for (BlockArgument argument : member.nest->arguments) {
      RankedTensorType type = ir::tensorType(argument);
      bytes = std::max(bytes, type.getNumElements() *
                                  ir::elementSizeBytes(type.getElementType()));
    }
    if (hasSharedRows(*member.nest))
      least = std::max(least,
                       createRowPart(member.nest, /*isAlone=*/true)->threads());
  }
  auto pieces = static_cast<int64_t>(
      llvm::PowerOf2Ceil(llvm::divideCeil(bytes, rows * kPieceBytes)));
  return std::max(std::min(pieces, kMostThreads),
                  static_cast<int64_t>(llvm::PowerOf2Ceil(least)));
}

class RowsPart : public BlockPart {
public:
  struct Member {
    std::unique_ptr<BlockPart> part;
    codegen::PartBuffers buffers;
  };

  RowsPart(std::vector<Member> &&members, ArrayRef<Value> kept, int64_t rows)
      : members(std::move(members)), kept(kept), rows(rows) {}

  int64_t threads() const override {
    int64_t most = 0;
    for (const Member &member : members)
      most = std::max(most, member.part->threads());
    return most;
  }
  int64_t workers(int64_t blockThreads) const override { return threads(); }
  int64_t blocks(int64_t blockThreads) const override { return rows; }
  int64_t reach() const override {
    int64_t most = 0;
    for (const Member &member : members)
      most = std::max(most, member.part->reach());
    return most;
  }

  void emit(Threads &threads, ArrayRef<Value> inputs,
            ArrayRef<Value> outputs) override {
    SmallVector<Value> buffers(inputs);
    buffers.append(outputs.begin(), outputs.end());
    for (auto [number, value] : llvm::enumerate(kept))
      buffers.push_back(rowOf(threads, number, ir::tensorType(value)));
    auto buffersAt = [&](ArrayRef<unsigned> numbers) {
      SmallVector<Value> list;
      for (unsigned number : numbers)
        list.push_back(buffers[number]);
      return list;
    };
    for (Member &member : members) {
      if (&member != &members.front())
        threads.barrier();
      member.part->emit(threads, buffersAt(member.buffers.inputs),
                        buffersAt(member.buffers.outputs));
    }
  }

private:
  /// The address at which the whole tensor would begin if the block's row of it
  /// is in shared memory.
  Value rowOf(Threads &t, unsigned number, RankedTensorType type) const {
    Type memory = ElementEmitter(t.b, t.loc, ir::Domain())
                      .storageType(type.getElementType());
    int64_t elements = type.getNumElements() / rows;
    Value array = t.keptArray(number, memory, elements);
    Value before = t.mul(t.block, elements);
    return t.elementAddress(
        array, memory, t.b.create<arith::SubIOp>(t.loc, t.number(0), before));
  }

  std::vector<Member> members;
  SmallVector<Value> kept;
  int64_t rows;
};

} // namespace

std::unique_ptr<BlockPart> createRowsPart(const codegen::KernelPart &part) {
  std::optional<int64_t> rows;
  for (const codegen::KernelPart &member : part.chain) {
    if (!member.nest)
      return nullptr;
    if (!member.nest->contraction && !rows)
      rows = keptSteps(*member.nest);
  }
  if (!rows || *rows == 0)
    return nullptr;
  RowBlocks blocks{*rows, threadsFor(part, *rows)};
  auto isKept = [&](unsigned number) {
    const codegen::PartBuffers &own = part.buffers.front();
    return number >= own.inputs.size() + own.outputs.size();
  };
  auto create = [&](const codegen::KernelPart &member) {
    if (member.nest->contraction)
      return createVectorRowPart(member.nest, blocks);
    if (!hasSharedRows(*member.nest) || keptSteps(*member.nest) != *rows)
      return std::unique_ptr<BlockPart>();
    std::unique_ptr<BlockPart> made =
        createRowPart(member.nest, /*isAlone=*/true);
    const codegen::PartBuffers &own = member.buffers.front();
    for (auto [number, buffer] : llvm::enumerate(own.inputs))
      if (isKept(buffer) && !made->readsOwnRows(number))
        return std::unique_ptr<BlockPart>();
    for (auto [number, buffer] : llvm::enumerate(own.outputs))
      if (isKept(buffer) && !made->writesOwnRows(number))
        return std::unique_ptr<BlockPart>();
    return made;
  };
  std::vector<RowsPart::Member> members;
  for (const codegen::KernelPart &member : part.chain) {
    std::unique_ptr<BlockPart> made = create(member);
    if (!made)
      return nullptr;
    members.push_back({std::move(made), member.buffers.front()});
  }
  return std::make_unique<RowsPart>(std::move(members), part.kept, *rows);
}

} // namespace sinter::gpu
