//===- TablesState.cpp - states, constants, training ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/Tables.h"
#include "passes/plan/ConstantPool.h"

#include "sinter/program_names.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/xxhash.h"

#include <unordered_map>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

uint32_t compiler::dtypeOf(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return SINTER_BOOL;
    case 8:
      return isUnsigned ? SINTER_U8 : SINTER_I8;
    case 16:
      return isUnsigned ? SINTER_U16 : SINTER_I16;
    case 32:
      return isUnsigned ? SINTER_U32 : SINTER_I32;
    case 64:
      return isUnsigned ? SINTER_U64 : SINTER_I64;
    default:
      return 0;
    }
  }
  return element.isF16()    ? SINTER_F16
         : element.isBF16() ? SINTER_BF16
         : element.isF32()  ? SINTER_F32
         : element.isF64()  ? SINTER_F64
                            : 0;
}

Row<sinter_tensor_desc> compiler::tensorRow(TableData &data, StringRef name,
                                            RankedTensorType type) {
  Row<sinter_tensor_desc> row;
  row.value.sizeBytes = exec::sizeBytes(type);
  row.value.dtype = dtypeOf(type.getElementType());
  row.value.rank = type.getRank();
  row.pointers = {data.string(name), data.int64s(type.getShape())};
  return row;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The bytes of `value`, if they are in memory in the form of abi.h.
static std::optional<ArrayRef<char>> rawBytes(ElementsAttr value,
                                              int64_t sizeBytes) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (blob && static_cast<int64_t>(blob->getData().size()) == sizeBytes)
      return blob->getData();
    return std::nullopt;
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  // Splats have one element, booleans are packed to bits.
  if (!dense || dense.isSplat() || dense.getElementType().isInteger(1))
    return std::nullopt;
  return dense.getRawData();
}

FailureOr<std::vector<ConstantPiece>>
compiler::constantPieces(ModuleOp module) {
  std::vector<ConstantPiece> pieces;
  uint64_t end = 0;
  for (auto constant : module.getOps<exec::ConstantOp>()) {
    int64_t sizeBytes = constant.getSizeBytes();
    if (constant.getOffset() < end)
      return constant.emitError() << "the constant at " << constant.getOffset()
                                  << " overlaps the one before";
    std::optional<ArrayRef<char>> bytes =
        rawBytes(constant.getValue(), sizeBytes);
    if (!bytes) {
      FailureOr<ir::Tensor> tensor = ir::Tensor::fromAttr(constant.getValue());
      if (failed(tensor))
        return constant.emitError()
               << "the constant at " << constant.getOffset() << " has no "
               << sizeBytes << " bytes of data";
      std::vector<char> expanded = tensor->toBytes();
      auto value = DenseResourceElementsAttr::get(
          cast<ShapedType>(constant.getValue().getType()), "constant",
          HeapAsmResourceBlob::allocateAndCopyInferAlign<char>(expanded));
      constant.setValueAttr(value);
      bytes = value.getRawHandle().getBlob()->getData();
    }
    pieces.push_back({constant.getOffset(), *bytes});
    end = constant.getOffset() + sizeBytes;
  }
  return pieces;
}

//===----------------------------------------------------------------------===//
// Constants of several targets
//===----------------------------------------------------------------------===//

/// Alignment of the constants of further targets, as GPUs need it.
static constexpr uint64_t kSharedAlignment = 256;

ConstantPlaces::ConstantPlaces(ArrayRef<ConstantPiece> pieces,
                               CompiledProgram &program)
    : areMoved_(true) {
  auto hash = [](const ConstantPiece &piece) {
    return llvm::xxh3_64bits(StringRef(piece.bytes.data(), piece.bytes.size()));
  };
  std::unordered_map<uint64_t, SmallVector<size_t, 1>> byHash;
  for (auto [i, piece] : llvm::enumerate(program.constants))
    byHash[hash(piece)].push_back(i);
  for (const ConstantPiece &piece : pieces) {
    Moved &moved = moved_.emplace_back();
    moved.planned = piece.offset;
    moved.sizeBytes = piece.bytes.size();
    SmallVector<size_t, 1> &equal = byHash[hash(piece)];
    auto found = llvm::find_if(equal, [&](size_t i) {
      return program.constants[i].bytes == piece.bytes;
    });
    if (found != equal.end()) {
      moved.place = program.constants[*found].offset;
      continue;
    }
    moved.place = llvm::alignTo(program.constantsBytes, kSharedAlignment);
    equal.push_back(program.constants.size());
    program.constants.push_back({moved.place, piece.bytes});
    program.constantsBytes = moved.place + piece.bytes.size();
  }
}

uint64_t ConstantPlaces::operator()(uint64_t planned) const {
  if (!areMoved_)
    return planned;
  auto after = llvm::upper_bound(moved_, planned,
                                 [](uint64_t offset, const Moved &moved) {
                                   return offset < moved.planned;
                                 });
  // Only a constant without bytes is in no piece.
  if (after == moved_.begin())
    return 0;
  const Moved &moved = after[-1];
  uint64_t inside = planned - moved.planned;
  return inside <= moved.sizeBytes ? moved.place + inside : 0;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

static uint32_t roleOf(ir::StateRole role) {
  switch (role) {
  case ir::StateRole::param:
    return SINTER_STATE_PARAM;
  case ir::StateRole::buffer:
    return SINTER_STATE_BUFFER;
  case ir::StateRole::slot:
    return SINTER_STATE_SLOT;
  case ir::StateRole::accum:
    return SINTER_STATE_ACCUM;
  case ir::StateRole::rounded:
    return SINTER_STATE_ROUNDED;
  }
  return 0;
}

FailureOr<StateTable> compiler::stateTable(TableData &data, ModuleOp module) {
  llvm::DenseMap<const void *, uint64_t> offsets;
  for (auto constant : module.getOps<exec::ConstantOp>())
    offsets.try_emplace(passes::plan::identityOf(constant.getValue()),
                        constant.getOffset());

  StateTable table;
  std::vector<uint64_t> blockBytes(ir::numDevices(module), 0); // by place
  llvm::StringMap<uint32_t> bySymbol;
  for (auto state : module.getOps<ir::StateOp>()) {
    auto held = cast<RankedTensorType>(state.getType());
    auto type = cast<RankedTensorType>(state.getPartOf().value_or(held));
    StringRef name = state.getOnnx() ? *state.getOnnx() : state.getSymName();
    Row<sinter_tensor_desc> tensor = tensorRow(data, name, type);
    auto &row = table.rows.emplace_back();
    sinter_state_desc &desc = row.value;
    desc.tensor = tensor.value;
    desc.role = roleOf(state.getRole());
    desc.trainable = state.getTrainable();
    desc.of = SINTER_NONE;
    desc.place = ir::deviceNumber(state);
    uint64_t &block = blockBytes[desc.place];
    desc.offsetBytes = block;
    desc.initOffsetBytes = UINT64_MAX;
    const uint64_t heldBytes = exec::sizeBytes(held);
    if (state.getPartOf())
      desc.partBytes = heldBytes;
    block = exec::alignedBytes(block + heldBytes);
    table.bytes = std::max(table.bytes, block);
    if (std::optional<ElementsAttr> init = state.getInit();
        init && !passes::plan::isAllZeros(*init)) {
      auto it = offsets.find(passes::plan::identityOf(*init));
      if (it == offsets.end())
        return state.emitError()
               << "the initial value of state @" << state.getSymName()
               << " is not a constant of the plan";
      desc.initOffsetBytes = it->second;
    }
    std::string aliases;
    if (state.getAliases())
      for (StringRef alias : state.getAliases()->getAsValueRange<StringAttr>())
        aliases += (aliases.empty() ? "" : "\n") + alias.str();
    row.pointers = {tensor.pointers[0], tensor.pointers[1],
                    state.getSlot() ? data.string(*state.getSlot()) : nullptr,
                    aliases.empty() ? nullptr : data.string(aliases)};
    bySymbol[state.getSymName()] = table.rows.size() - 1;
  }

  uint32_t number = 0;
  for (auto state : module.getOps<ir::StateOp>()) {
    if (state.getOnnx())
      table.numbers[*state.getOnnx()] = number;
    if (state.getOf()) {
      auto it = bySymbol.find(*state.getOf());
      if (it == bySymbol.end())
        return state.emitError()
               << "state @" << state.getSymName() << " belongs to @"
               << *state.getOf() << ", which is not a state";
      table.rows[number].value.of = it->second;
      if (state.getSlot() == SINTER_SLOT_EMA)
        table.averages[it->second] = number;
    }
    ++number;
  }
  for (const auto &entry : bySymbol)
    table.numbers.try_emplace(entry.getKey(), entry.getValue());
  return table;
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

FailureOr<std::vector<Row<sinter_training>>>
compiler::trainingRow(TableData &data, ModuleOp module) {
  StringRef name = exec::ExecDialect::kTrainingAttr;
  if (!module->hasAttr(name))
    return std::vector<Row<sinter_training>>();
  auto training = exec::TrainingAttr::of(module);
  if (!training)
    return module.emitError()
           << "attribute '" << name << "' must be an #exec.training";
  auto number = [](FloatAttr value) {
    return static_cast<float>(value.getValueAsDouble());
  };
  Row<sinter_training> row;
  row.value.lr = number(training.getLr());
  row.value.weightDecay = number(training.getWeightDecay());
  row.value.clipNorm = number(training.getClipNorm());
  row.value.batch = training.getBatch();
  row.value.numClasses = training.getNumClasses();
  if (IntegerAttr index = training.getIgnoreIndex()) {
    row.value.ignoreIndex = index.getInt();
    row.value.hasIgnoreIndex = 1;
  }
  row.value.replicas = static_cast<uint32_t>(training.getReplicas());
  row.value.accumulate = static_cast<uint32_t>(training.getAccumulate());
  row.pointers = {data.string(training.getOptimizer().getValue()),
                  data.string(training.getLoss().getValue())};
  return std::vector<Row<sinter_training>>{row};
}
