//===- Tables.cpp - the artifact as an object file ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/Tables.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace {

constexpr llvm::StringLiteral kTriple = "x86_64-unknown-linux-gnu";

std::unique_ptr<llvm::TargetMachine> createTargetMachine(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(kTriple.str(), error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      kTriple, "x86-64", "", {}, llvm::Reloc::PIC_));
}

FailureOr<std::string> toObject(ModuleOp module, llvm::Module &tables) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(error);
  if (!machine)
    return module.emitError() << "cannot write object files: " << error;
  tables.setTargetTriple(kTriple);
  tables.setDataLayout(machine->createDataLayout());
  SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return module.emitError() << "cannot write object files for " << kTriple;
  passes.run(tables);
  return std::string(object);
}

/// 128 bits over the program's text, which has neither locations nor weights,
/// and what else decides what the artifact does.
std::string buildId(ModuleOp module, const passes::Target &target,
                    const passes::CodeGenOptions &options,
                    const ArtifactInfo &info) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().useLocalScope());
  stream << '\n'
         << target.name() << '\n'
         << options.optLevel << '\n'
         << info.manifest;
  llvm::BLAKE3 hash;
  hash.update(text);
  return llvm::toHex(hash.final<16>(), /*LowerCase=*/true);
}

FailureOr<std::vector<Row<sinter_kernel_desc>>>
kernelRows(TableData &data, ModuleOp module, const passes::TargetCode &code,
           KernelEntries &entries) {
  std::vector<Row<sinter_kernel_desc>> rows;
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    bool isCuda = kernel.getGrid().has_value();
    if (!kernel.getTiles() && !isCuda)
      return kernel.emitError()
             << "kernel @" << kernel.getSymName()
             << " has no number of tiles: no code was generated for it";
    entries[kernel.getSymName()] = {
        static_cast<uint32_t>(rows.size()),
        static_cast<int64_t>(kernel.getTiles().value_or(1))};
    auto &row = rows.emplace_back();
    sinter_kernel_desc &desc = row.value;
    desc.numBuffers =
        kernel.getBody().front().getNumArguments() + kernel.getYielded().size();
    if (isCuda) {
      llvm::copy(*kernel.getGrid(), desc.grid);
      llvm::copy(*kernel.getBlock(), desc.block);
      desc.sharedBytes = kernel.getShared().value_or(0);
    }
    // What has images has no function in an object.
    llvm::Constant *function = code.images.empty()
                                   ? data.externalFunction(kernel.getSymName())
                                   : nullptr;
    row.pointers = {data.string(kernel.getSymName()),
                    isCuda ? nullptr : function, isCuda ? function : nullptr};
  }
  return rows;
}

std::vector<Row<sinter_image>> imageRows(TableData &data,
                                         const passes::TargetCode &code) {
  std::vector<Row<sinter_image>> rows;
  for (const passes::KernelImage &image : code.images) {
    auto &row = rows.emplace_back();
    row.value.kind = image.isBinary ? SINTER_IMAGE_CUBIN : SINTER_IMAGE_PTX;
    row.value.arch = image.arch;
    // c_str: text ends with its NUL.
    row.value.sizeBytes = image.bytes.size() + (image.isBinary ? 0 : 1);
    row.pointers[0] =
        data.bytes(StringRef(image.bytes.c_str(), row.value.sizeBytes), 16);
  }
  return rows;
}

FailureOr<std::vector<Row<sinter_export_piece>>>
exportRows(TableData &data, ModuleOp module, const StateTable &states,
           ArrayRef<ExportPiece> pieces) {
  std::vector<Row<sinter_export_piece>> rows;
  for (const ExportPiece &piece : pieces) {
    auto &row = rows.emplace_back();
    row.value.state = SINTER_NONE;
    if (piece.state.empty()) {
      row.value.sizeBytes = piece.bytes.size();
      row.pointers[0] = data.bytes(piece.bytes);
      continue;
    }
    auto it = states.numbers.find(piece.state);
    if (it == states.numbers.end())
      return module.emitError()
             << "the exported model names the state '" << piece.state
             << "', which the program does not have";
    row.value.state = it->second;
    row.value.sizeBytes = states.rows[it->second].value.tensor.sizeBytes;
  }
  return rows;
}

} // namespace

FailureOr<CompiledProgram>
compiler::emitProgram(ModuleOp module, const passes::Target &target,
                      const passes::CodeGenOptions &options,
                      const ArtifactInfo &info) {
  std::string id = buildId(module, target, options, info);
  FailureOr<passes::TargetCode> code = target.generateKernels(module, options);
  if (failed(code))
    return failure();

  llvm::LLVMContext context;
  llvm::Module tables("tables", context);
  TableData data(tables);
  KernelEntries kernelEntries;
  FailureOr<std::vector<Row<sinter_kernel_desc>>> kernels =
      kernelRows(data, module, *code, kernelEntries);
  FailureOr<StateTable> states = stateTable(data, module);
  FailureOr<std::vector<Row<sinter_training>>> training =
      trainingRow(data, module);
  if (failed(kernels) || failed(states) || failed(training))
    return failure();
  std::vector<Row<sinter_entry>> entries =
      entryRows(data, module, kernelEntries);
  FailureOr<std::vector<Row<sinter_export_piece>>> pieces =
      exportRows(data, module, *states, info.exportPieces);
  FailureOr<std::vector<ConstantPiece>> constants = constantPieces(module);
  if (failed(pieces) || failed(constants))
    return failure();

  std::vector<Row<sinter_image>> images = imageRows(data, *code);

  CompiledProgram program;
  program.symbol = info.symbol;
  program.constants = std::move(*constants);
  for (const ConstantPiece &piece : program.constants)
    program.constantsBytes =
        std::max(program.constantsBytes, piece.offset + piece.bytes.size());

  Row<sinter_artifact> artifact;
  sinter_artifact &a = artifact.value;
  a.magic = SINTER_ABI_MAGIC;
  a.major = SINTER_ABI_MAJOR;
  a.minor = SINTER_ABI_MINOR;
  a.sizeofArtifact = sizeof(sinter_artifact);
  a.sizeofCommand = sizeof(sinter_command);
  a.sizeofState = sizeof(sinter_state_desc);
  a.constantsBytes = program.constantsBytes;
  a.stateBytes = states->bytes;
  a.numStates = states->rows.size();
  a.numEntries = entries.size();
  a.numKernels = kernels->size();
  a.numExportPieces = pieces->size();
  a.numImages = images.size();
  artifact.pointers = {
      data.string(info.modelName), data.string(id), data.string(target.name()),
      data.string(info.manifest), data.string(code->features),
      data.table<sinter_state_desc>(states->rows),
      data.table<sinter_entry>(entries),
      data.table<sinter_kernel_desc>(*kernels),
      data.table<sinter_image>(images),
      data.table<sinter_export_piece>(*pieces),
      data.table<sinter_training>(*training),
      // The driver defines the symbol whether or not there are constants.
      program.constantsBytes
          ? data.externalData("sinter_constants_" + info.symbol)
          : nullptr};
  data.table<sinter_artifact>(artifact, "sinter_artifact_" + info.symbol);

  FailureOr<std::string> object = toObject(module, tables);
  if (failed(object))
    return failure();
  program.objects = std::move(code->objects);
  program.objects.push_back(std::move(*object));
  return program;
}
