//===- LibraryHeader.cpp - the C header of an inference library -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/LibraryHeader.h"

#include "compiler/base/Text.h"
#include "compiler/options/Options.h"
#include "ir/exec/Exec.h"

#include "sinter/program_names.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

std::string compiler::headerPath(StringRef output) {
  output.consume_back(".so");
  return (output + ".h").str();
}

namespace {
// An input, output or state as the header shows it.
struct Tensor {
  std::string name;       // of the graph
  std::string identifier; // unique among the inputs, outputs or states
  mlir::RankedTensorType type;

  int64_t elements() const { return type.getNumElements(); }
};
} // namespace

static const char *cType(mlir::Type element) {
  if (element.isF32())
    return "float";
  if (element.isF64())
    return "double";
  if (element.isF16() || element.isBF16())
    return "uint16_t"; // C has no such type; these are its bits
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  switch (width) {
  case 1:
    return "uint8_t";
  case 8:
    return isUnsigned ? "uint8_t" : "int8_t";
  case 16:
    return isUnsigned ? "uint16_t" : "int16_t";
  case 32:
    return isUnsigned ? "uint32_t" : "int32_t";
  default:
    return isUnsigned ? "uint64_t" : "int64_t";
  }
}

// A remark for types that cType cannot express.
static const char *remark(mlir::Type element) {
  if (element.isF16())
    return " (the bits of IEEE half floats)";
  if (element.isBF16())
    return " (the bits of bfloat16)";
  return element.isInteger(1) ? " (0 or 1)" : "";
}

static std::vector<Tensor>
tensors(llvm::ArrayRef<std::pair<StringRef, mlir::Type>> list) {
  std::vector<Tensor> result;
  llvm::StringSet<> taken; // in upper case, as in macros
  for (auto [name, type] : list) {
    Tensor tensor;
    tensor.name = name.str();
    tensor.type = mlir::cast<mlir::RankedTensorType>(type);
    std::string base = identifier(tensor.name, "tensor");
    tensor.identifier = base;
    for (unsigned n = 2;
         !taken.insert(StringRef(tensor.identifier).upper()).second; ++n)
      tensor.identifier = base + "_" + std::to_string(n);
    result.push_back(std::move(tensor));
  }
  return result;
}

static std::vector<Tensor> tensors(mlir::ArrayAttr names,
                                   mlir::ArrayAttr types) {
  llvm::SmallVector<std::pair<StringRef, mlir::Type>> list;
  for (auto [name, type] : llvm::zip_equal(names, types))
    list.emplace_back(mlir::cast<mlir::StringAttr>(name).getValue(),
                      mlir::cast<mlir::TypeAttr>(type).getValue());
  return tensors(list);
}

static std::vector<Tensor> states(mlir::ModuleOp module) {
  llvm::SmallVector<std::pair<StringRef, mlir::Type>> list;
  for (auto state : module.getOps<ir::StateOp>())
    if (state.getRole() != ir::StateRole::rounded) // the program's own
      list.emplace_back(state.getOnnx().value_or(state.getSymName()),
                        state.getWholeType());
  return tensors(list);
}

// Text from a model for use in a comment, which it must not end.
static std::string inComment(StringRef text) {
  std::string result = shown(text);
  for (size_t at; (at = result.find("*/")) != std::string::npos;)
    result.insert(at + 1, " ");
  return result;
}

namespace {
class HeaderPrinter {
public:
  HeaderPrinter(exec::ProgramOp program, std::vector<Tensor> states,
                StringRef symbol, StringRef modelName, StringRef libraryPath,
                llvm::raw_ostream &os)
      : symbol_(symbol), prefix_("sinter_" + symbol.str()),
        macro_(StringRef(prefix_).upper()), modelName_(modelName),
        library_(llvm::sys::path::filename(libraryPath)),
        inputs_(tensors(program.getInputNames(), program.getInputTypes())),
        outputs_(tensors(program.getOutputNames(), program.getOutputTypes())),
        states_(std::move(states)), os_(os) {
    // The last output is internal: the runtime reads it.
    if (exec::indexChecks(program))
      outputs_.pop_back();
  }

  void print() {
    printComment();
    os_ << "#ifndef " << macro_ << "_H\n#define " << macro_ << "_H\n\n"
        << "#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" "
           "{\n#endif\n\n";
    printConstants("INPUT", inputs_);
    printConstants("OUTPUT", outputs_);
    if (!states_.empty())
      printConstants("STATE", states_);
    printFunctions();
    if (!states_.empty())
      printStateFunctions();
    printTypedRun();
    os_ << "\n#ifdef __cplusplus\n}\n#endif\n#endif /* " << macro_ << "_H */\n";
  }

private:
  void printList(const char *title, const std::vector<Tensor> &list) {
    os_ << " *\n * " << title << ", in order (dense, row-major):\n";
    for (auto [i, tensor] : llvm::enumerate(list))
      os_ << " *   " << i << ": " << inComment(tensor.name) << ", "
          << cType(tensor.type.getElementType()) << " "
          << shownShape(tensor.type.getShape())
          << remark(tensor.type.getElementType()) << "\n";
  }

  void printExampleBuffers(const char *kind, const std::vector<Tensor> &list) {
    for (auto [i, tensor] : llvm::enumerate(list))
      os_ << " *     static " << cType(tensor.type.getElementType()) << " "
          << kind << i << "[" << std::max<int64_t>(tensor.elements(), 1)
          << "];\n";
  }

  void printComment() {
    os_ << "/* The model '" << inComment(modelName_)
        << "' as a C library, made by sinterc " << versionText() << ".\n";
    printList("Inputs", inputs_);
    printList("Outputs", outputs_);
    if (!states_.empty())
      printList("States, kept between runs", states_);
    os_ << " *\n * Example, built by: cc example.c ./" << inComment(library_)
        << " -o example\n"
        << " *\n *   #include \"" << inComment(headerPath(library_)) << "\"\n"
        << " *   #include <stdio.h>\n *\n *   int main(void) {\n";
    printExampleBuffers("in", inputs_);
    printExampleBuffers("out", outputs_);
    os_ << " *     " << prefix_ << " *program;\n"
        << " *     if (" << prefix_ << "_create(0, &program) != 0 ||\n"
        << " *         " << prefix_ << "_infer(program";
    for (size_t i = 0; i < inputs_.size(); ++i)
      os_ << ", in" << i;
    for (size_t i = 0; i < outputs_.size(); ++i)
      os_ << ", out" << i;
    os_ << ") != 0) {\n *       fprintf(stderr, \"%s\\n\", " << prefix_
        << "_last_error());\n *       return 1;\n *     }\n *     " << prefix_
        << "_destroy(program);\n *     return 0;\n *   }\n *\n"
        << " * Only one thread at a time may use a program: a second one gets "
           "status 8, and\n"
        << " * its call does nothing. Several programs of one process may run "
           "at the same time.\n"
        << " * After dlclose the library stays loaded, so a new version needs "
           "another file name.\n */\n";
  }

  void printConstants(const char *kind, const std::vector<Tensor> &list) {
    os_ << "#define " << macro_ << "_NUM_" << kind << "S " << list.size()
        << "\n";
    for (auto [i, tensor] : llvm::enumerate(list)) {
      std::string name =
          macro_ + "_" + kind + "_" + StringRef(tensor.identifier).upper();
      int64_t bytes = exec::sizeBytes(tensor.type);
      os_ << "#define " << name << " " << i << " /* index */\n"
          << "#define " << name << "_RANK " << tensor.type.getRank() << "\n";
      for (auto [d, size] : llvm::enumerate(tensor.type.getShape()))
        os_ << "#define " << name << "_DIM" << d << " " << size << "\n";
      os_ << "#define " << name << "_ELEMENTS " << tensor.elements() << "\n"
          << "#define " << name << "_BYTES " << bytes << "\n";
    }
    os_ << "\n";
  }

  void printFunctions() {
    os_ << "/* Element types of " << prefix_ << "_tensor. */\n"
        << "enum {\n";
    static const char *names[] = {"BOOL", "U8",  "I8",  "U16", "I16",
                                  "U32",  "I32", "U64", "I64", "F16",
                                  "BF16", "F32", "F64"};
    for (auto [i, name] : llvm::enumerate(names))
      os_ << "  " << macro_ << "_" << name << " = " << i + 1 << ",\n";
    os_ << "};\n\n/* A named dense row-major tensor; `dims` has `rank` "
           "entries. */\n"
        << "typedef struct " << prefix_ << "_tensor {\n"
        << "  const char *name;\n  const int64_t *dims;\n  uint64_t "
           "size_bytes;\n"
        << "  uint32_t dtype;\n  uint32_t rank;\n} " << prefix_
        << "_tensor;\n\n"
        << "typedef struct " << prefix_ << " " << prefix_ << ";\n\n"
        << "/* Makes the model ready to run on `threads` threads (0: one per "
           "core), and runs\n"
        << " * it once, so that the first run takes no longer than others. All "
           "programs share\n"
        << " * the weights. The threads may use the CPUs that the calling "
           "thread may use now. A\n"
        << " * child of fork computes on one thread. Like _run, returns 0, or: "
           "1 failed, 2 bad\n"
        << " * argument, 6 out of memory, 7 this CPU cannot run it; "
           "_last_error says why.\n"
        << " * Destroy the program with _destroy. */\n"
        << "int32_t " << prefix_ << "_create(int32_t threads, " << prefix_
        << " **program);\nvoid " << prefix_ << "_destroy(" << prefix_
        << " *program);\n\n"
        << "/* Computes the outputs. inputs[i] and outputs[i] are the "
           "addresses of dense\n"
        << " * tensors, in the order above, which must not overlap. An index "
           "out of range is\n"
        << " * a failure (1); the outputs are then undefined. */\n"
        << "int32_t " << prefix_ << "_run(" << prefix_
        << " *program, const void *const *inputs,\n    void *const "
           "*outputs);\n\n"
        << "/* inputs[i] gets the address of memory for input `i`, from which "
           "a "
           "GPU copies: a\n"
        << " * run with these inputs copies nothing on the host. The memory "
           "belongs to the\n"
        << " * program and may change between runs. */\n"
        << "int32_t " << prefix_ << "_input_memory(" << prefix_
        << " *program, void **inputs);\n\n"
        << "/* One line about this thread's latest failure; valid until its "
           "next call. */\n"
        << "const char *" << prefix_ << "_last_error(void);\n\n"
        << "/* The inputs and outputs of the comment above; `count` gets their "
           "number. */\n"
        << "const " << prefix_ << "_tensor *" << prefix_
        << "_inputs(uint32_t *count);\nconst " << prefix_ << "_tensor *"
        << prefix_ << "_outputs(uint32_t *count);\n\n";
  }

  void printStateFunctions() {
    os_ << "/* Copy all of state `index` out of the program and into it, "
           "between runs. A new\n"
        << " * program has the initial values. */\n"
        << "int32_t " << prefix_ << "_read_state(" << prefix_
        << " *program, uint32_t index, void *to);\n"
        << "int32_t " << prefix_ << "_write_state(" << prefix_
        << " *program, uint32_t index,\n    const void *from);\n\n";
  }

  void printTypedRun() {
    os_ << "/* _run with typed arguments. */\n#ifdef __GNUC__\n"
           "__attribute__((__unused__))\n#endif\nstatic inline int32_t "
        << prefix_ << "_infer(" << prefix_ << " *program";
    for (const Tensor &tensor : inputs_)
      os_ << ",\n    const " << cType(tensor.type.getElementType()) << " *in_"
          << tensor.identifier;
    for (const Tensor &tensor : outputs_)
      os_ << ",\n    " << cType(tensor.type.getElementType()) << " *out_"
          << tensor.identifier;
    os_ << ") {\n  const void *inputs[" << std::max<size_t>(inputs_.size(), 1)
        << "];\n  void *outputs[" << std::max<size_t>(outputs_.size(), 1)
        << "];\n";
    if (inputs_.empty())
      os_ << "  inputs[0] = 0;\n";
    for (auto [i, tensor] : llvm::enumerate(inputs_))
      os_ << "  inputs[" << i << "] = in_" << tensor.identifier << ";\n";
    for (auto [i, tensor] : llvm::enumerate(outputs_))
      os_ << "  outputs[" << i << "] = out_" << tensor.identifier << ";\n";
    os_ << "  return " << prefix_ << "_run(program, inputs, outputs);\n}\n";
  }

  StringRef symbol_;
  std::string prefix_, macro_, modelName_, library_;
  std::vector<Tensor> inputs_, outputs_, states_;
  llvm::raw_ostream &os_;
};
} // namespace

std::string compiler::libraryHeader(mlir::ModuleOp module, StringRef symbol,
                                    StringRef libraryPath) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto program = module.lookupSymbol<exec::ProgramOp>(SINTER_ENTRY_MAIN);
  StringRef name = module.getSymName().value_or(symbol);
  if (program)
    HeaderPrinter(program, states(module), symbol, name, libraryPath, os)
        .print();
  return text;
}
