//===- Exec.cpp - registration, slices, buffers, kernels, constants -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/exec/Exec.h"
#include "ir/Kernel.h"

#include "sinter/program_names.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::exec;

static ParseResult parseSlice(AsmParser &parser, SliceAttr &slice);
static void printSlice(AsmPrinter &printer, SliceAttr slice);
static ParseResult parseSlice(OpAsmParser &parser, SliceAttr &slice) {
  return parseSlice(static_cast<AsmParser &>(parser), slice);
}
static void printSlice(OpAsmPrinter &printer, Operation *, SliceAttr slice) {
  printSlice(printer, slice);
}

/// `(` "name" `:` type, .. `)`
static ParseResult parseNamedTypes(OpAsmParser &parser, ArrayAttr &names,
                                   ArrayAttr &types) {
  SmallVector<Attribute> nameList, typeList;
  auto parseOne = [&]() -> ParseResult {
    std::string name;
    Type type;
    if (parser.parseString(&name) || parser.parseColonType(type))
      return failure();
    nameList.push_back(parser.getBuilder().getStringAttr(name));
    typeList.push_back(TypeAttr::get(type));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne))
    return failure();
  names = parser.getBuilder().getArrayAttr(nameList);
  types = parser.getBuilder().getArrayAttr(typeList);
  return success();
}

static void printNamedTypes(OpAsmPrinter &printer, Operation *, ArrayAttr names,
                            ArrayAttr types) {
  printer << '(';
  for (size_t i = 0, count = std::min(names.size(), types.size()); i < count;
       ++i)
    printer << (i ? ", " : "") << names[i] << " : "
            << cast<TypeAttr>(types[i]).getValue();
  printer << ')';
}

#include "ir/exec/ExecDialect.cpp.inc"
#include "ir/exec/ExecEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/exec/ExecAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/exec/ExecTypes.cpp.inc"

#include "ir/exec/ExecInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "ir/exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/exec/ExecAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/exec/ExecTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/exec/ExecOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// space `[` index `]` offset `+` size
static ParseResult parseSlice(AsmParser &parser, SliceAttr &slice) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  int64_t index, offset, size;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Space> space = symbolizeSpace(word);
  if (!space)
    return parser.emitError(loc) << "'" << word << "' is not a space";
  if (parser.parseLSquare() || parser.parseInteger(index) ||
      parser.parseRSquare() || parser.parseInteger(offset) ||
      parser.parsePlus() || parser.parseInteger(size))
    return failure();
  slice = SliceAttr::get(parser.getContext(), *space, index, offset, size);
  return success();
}

static void printSlice(AsmPrinter &printer, SliceAttr slice) {
  printer << stringifySpace(slice.getSpace()) << '[' << slice.getIndex() << "] "
          << slice.getOffset() << " + " << slice.getSize();
}

Attribute SliceAttr::parse(AsmParser &parser, Type) {
  SliceAttr slice;
  if (parser.parseLess() || parseSlice(parser, slice) || parser.parseGreater())
    return {};
  return slice;
}

void SliceAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printSlice(printer, *this);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Buffers, kernels, constants
//===----------------------------------------------------------------------===//

int64_t exec::sizeBytes(Type tensorType) {
  auto type = cast<RankedTensorType>(tensorType);
  return type.getNumElements() * ir::elementSizeBytes(type.getElementType());
}

ArrayRef<ControlField> exec::controlFields() {
  using namespace control_offset;
  static constexpr ControlField fields[] = {
      {SINTER_CONTROL_LR, kLr, 4},
      {SINTER_CONTROL_WEIGHT_DECAY, kWeightDecay, 4},
      {SINTER_CONTROL_CLIP_NORM, kClipNorm, 4},
      {SINTER_CONTROL_STEP, kStep, 8},
      {SINTER_CONTROL_SEED, kSeed, 8},
      {SINTER_CONTROL_VALID_ROWS, kValidRows, 8},
      {SINTER_CONTROL_MICRO_BATCH, kMicroBatch, 8},
      {SINTER_CONTROL_REPLICA, kReplica, 8}};
  return fields;
}

RankedTensorType exec::ticketType(MLIRContext *context) {
  return RankedTensorType::get({}, IntegerType::get(context, 32));
}

BufferOp exec::bufferOp(Value buffer) {
  // The verifier of programs checks the kind of op.
  return cast<BufferOp>(buffer.getDefiningOp());
}

/// With offsets and sizes up to 2^62 no sum overflows.
static constexpr int64_t kMaxOffset = int64_t(1) << 62;

void BufferOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (SliceAttr slice = getSliceAttr())
    setName(getResult(), stringifySpace(slice.getSpace()));
}

TrainingAttr TrainingAttr::of(ModuleOp module) {
  return module->getAttrOfType<TrainingAttr>(ExecDialect::kTrainingAttr);
}

std::optional<double> TrainingAttr::constant(StringRef name) const {
  auto value = getConstants().getAs<FloatAttr>(name);
  return value ? std::optional(value.getValueAsDouble()) : std::nullopt;
}

LogicalResult TrainingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   StringAttr, StringAttr, FloatAttr, FloatAttr,
                                   FloatAttr, DictionaryAttr constants,
                                   DictionaryAttr recipe, int64_t batch,
                                   int64_t numClasses, IntegerAttr,
                                   int64_t replicas, int64_t accumulate,
                                   LocationAttr, LocationAttr) {
  for (NamedAttribute entry : constants)
    if (!llvm::isa<FloatAttr>(entry.getValue()))
      return emitError() << "constant '" << entry.getName().getValue()
                         << "' must be a float";
  for (NamedAttribute entry :
       recipe ? recipe.getValue() : ArrayRef<NamedAttribute>())
    if (!llvm::isa<StringAttr, IntegerAttr, FloatAttr>(entry.getValue()))
      return emitError() << "recipe entry '" << entry.getName().getValue()
                         << "' must be a string, a number or a truth value";
  if (batch < 0 || numClasses < 0)
    return emitError() << "batch and num_classes must not be negative";
  if (replicas < 1 || accumulate < 1)
    return emitError() << "replicas and accumulate must be at least 1";
  return success();
}

LogicalResult BufferOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !ir::hasBoundedSize(type) ||
      ir::elementSizeBytes(type.getElementType()) == 0)
    return emitOpError() << "has type " << getType()
                         << ", expected a tensor of static shape";
  SliceAttr slice = getSlice();
  if (slice.getIndex() < 0 || slice.getOffset() < 0 || slice.getSize() < 0)
    return emitOpError() << "has a slice with a negative number";
  if (slice.getOffset() > kMaxOffset)
    return emitOpError() << "is beyond 2^62 bytes";
  if (slice.getSize() != sizeBytes(type))
    return emitOpError() << "has a slice of " << slice.getSize()
                         << " bytes, but " << type << " has "
                         << sizeBytes(type);
  return success();
}

OperandRange KernelOp::getYielded() {
  return getBody().front().getTerminator()->getOperands();
}

LogicalResult KernelOp::verify() {
  Block &body = getBody().front();
  if (body.empty() || !isa<ir::YieldOp>(body.back()))
    return emitOpError() << "has a body that does not end with sinter.yield";
  if (failed(ir::verifyKernel(*this)))
    return failure();
  auto isTensor = [](Type type) { return ir::hasBoundedSize(type); };
  if (!llvm::all_of(body.getArgumentTypes(), isTensor))
    return emitOpError()
           << "has an argument that is not a tensor of static shape";
  if (getTiles() && static_cast<int64_t>(*getTiles()) < 0)
    return emitOpError() << "has a negative number of tiles";
  if (getGrid().has_value() != getBlock().has_value())
    return emitOpError() << "has a grid or a block without the other";
  auto isShape = [](std::optional<ArrayRef<int64_t>> sizes) {
    return !sizes ||
           (sizes->size() == 3 && llvm::all_of(*sizes, [](int64_t size) {
              return size > 0 && size <= std::numeric_limits<int32_t>::max();
            }));
  };
  if (!isShape(getGrid()) || !isShape(getBlock()))
    return emitOpError()
           << "has a grid or a block that is not three positive numbers";
  return success();
}

int64_t ConstantOp::getSizeBytes() { return sizeBytes(getValue().getType()); }

LogicalResult ConstantOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getValue().getType());
  if (!type || !ir::hasBoundedSize(type) ||
      ir::elementSizeBytes(type.getElementType()) == 0)
    return emitOpError() << "has type " << getValue().getType()
                         << ", expected a tensor of static shape";
  int64_t offset = getOffset();
  if (offset < 0 || offset > kMaxOffset || offset % kBufferAlignment != 0)
    return emitOpError() << "is at " << offset << ", expected a multiple of "
                         << kBufferAlignment << " up to 2^62";
  return success();
}

//===----------------------------------------------------------------------===//
// Reads and writes of commands
//===----------------------------------------------------------------------===//

OperandRange MatmulOp::getReads() { return getInputs(); }
OperandRange MatmulOp::getWrites() {
  return getOperation()->getOperands().drop_front(getInputs().size());
}
OperandRange ConvOp::getReads() { return getInputs(); }
OperandRange ConvOp::getWrites() {
  return getOperation()->getOperands().drop_front(getInputs().size());
}
OperandRange AttentionOp::getReads() { return getInputs(); }
OperandRange AttentionOp::getWrites() { return getOutputs(); }
OperandRange AwaitOp::getReads() { return getOperation()->getOperands(); }
OperandRange AwaitOp::getWrites() { return getOperation()->getOperands(); }
OperandRange CopyOp::getReads() { return getOperands().take_front(1); }
OperandRange CopyOp::getWrites() { return getOperands().take_back(1); }
OperandRange RecordOp::getReads() { return getOperation()->getOperands(); }
OperandRange RecordOp::getWrites() { return getOperation()->getOperands(); }
OperandRange WaitOp::getReads() { return getOperation()->getOperands(); }
OperandRange WaitOp::getWrites() { return getOperation()->getOperands(); }
OperandRange FillOp::getReads() {
  return getOperation()->getOperands().take_front(0);
}
OperandRange FillOp::getWrites() { return getOperation()->getOperands(); }

bool KernelOp::isStaged() { return ir::hasStages(getKind()); }

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(
      getOperation()->getParentOp(), getKernelAttr());
  if (!kernel)
    return emitOpError() << "launches " << getKernelAttr()
                         << ", which is not an exec.kernel";
  Block &body = kernel.getBody().front();
  if (body.empty() || !body.back().hasTrait<OpTrait::IsTerminator>())
    return success(); // the verifier of the kernel reports it
  auto check = [&](StringRef what, TypeRange types,
                   OperandRange buffers) -> LogicalResult {
    if (types.size() != buffers.size())
      return emitOpError() << "has " << buffers.size() << ' ' << what
                           << ", but " << getKernelAttr() << " has "
                           << types.size();
    for (auto [index, type, value] : llvm::enumerate(types, buffers)) {
      auto buffer = value.getDefiningOp<BufferOp>();
      if (buffer && ir::hasBoundedSize(type) &&
          buffer.getSlice().getSize() != sizeBytes(type))
        return emitOpError() << what << " number " << index << " have "
                             << buffer.getSlice().getSize() << " bytes, but "
                             << getKernelAttr() << " has " << type << " there";
    }
    return success();
  };
  SmallVector<Type> reads(body.getArgumentTypes());
  if (kernel.isStaged())
    reads.push_back(ticketType(getContext()));
  if (failed(check("reads", reads, getReads())))
    return failure();
  if (kernel.isStaged()) {
    auto ticket = getReads().back().getDefiningOp<BufferOp>();
    if (ticket &&
        (ticket.getSlice().getSpace() != Space::control ||
         ticket.getSlice().getOffset() != ticketOffset(placeOf(*this).stream)))
      return emitOpError() << "has no ticket of its stream as its last "
                              "operand, though "
                           << getKernelAttr() << " has stages";
  }
  return check("writes", kernel.getYielded().getTypes(), getWrites());
}
