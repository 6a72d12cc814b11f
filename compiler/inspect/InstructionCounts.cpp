//===- InstructionCounts.cpp - the instructions of a kernel ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/InstructionCounts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

std::vector<InstructionCounts::Row> InstructionCounts::rows() const {
  return {{"instructions", "instructions", total},
          {"loads", "loads", loads},
          {"stores", "stores", stores},
          {"stack_accesses", "accesses of the stack", stack},
          {"multiply_adds", "multiply-adds", fma},
          {"float_arithmetic", "other float arithmetic", arithmetic},
          {"special_functions", "special functions", special},
          {"branches", "branches", branches},
          {"barriers", "barriers", barriers},
          {"calls", "calls", calls},
          {"other", "other", other},
          {"vector", "of vectors", vector}};
}

static bool startsWithOneOf(StringRef text, llvm::ArrayRef<StringRef> words) {
  return llvm::any_of(words,
                      [&](StringRef word) { return text.starts_with(word); });
}

//===----------------------------------------------------------------------===//
// x86
//===----------------------------------------------------------------------===//

// Whether `name` ends in one of the suffixes of floating-point arithmetic.
static bool isFloatX86(StringRef name) {
  return llvm::any_of(
      llvm::ArrayRef<StringRef>{"ps", "pd", "ss", "sd", "ph", "sh"},
      [&](StringRef suffix) { return name.ends_with(suffix); });
}

static void noteRegisters(StringRef operands, InstructionCounts &counts) {
  static constexpr std::pair<const char *, unsigned> kinds[] = {
      {"xmm", 128}, {"ymm", 256}, {"zmm", 512}};
  for (auto [prefix, bits] : kinds)
    for (size_t at = operands.find(prefix); at != StringRef::npos;
         at = operands.find(prefix, at + 1)) {
      unsigned number = 0;
      StringRef rest = operands.substr(at + 3);
      if (rest.consumeInteger(10, number))
        continue;
      counts.vectorRegisters.insert(number);
      counts.vectorBits = std::max(counts.vectorBits, bits);
    }
}

// The bytes that the start of a function takes from the stack.
static void noteStack(StringRef name, StringRef operands,
                      InstructionCounts &counts) {
  if (name == "push")
    counts.stackBytes += 8;
  unsigned bytes = 0;
  if (name == "sub" && operands.consume_front("rsp, ") &&
      !operands.getAsInteger(0, bytes))
    counts.stackBytes += bytes;
}

static void countX86(StringRef name, StringRef operands,
                     InstructionCounts &counts) {
  noteRegisters(operands, counts);
  noteStack(name, operands, counts);
  bool isAddress = name == "lea" || name.starts_with("nop");
  size_t bracket = isAddress ? StringRef::npos : operands.find('[');
  bool hasMemory = bracket != StringRef::npos;
  bool isWritten = hasMemory && bracket < operands.find(',') &&
                   !startsWithOneOf(name, {"cmp", "test", "bt", "push", "call",
                                           "jmp", "vcomis", "vucomis"});
  bool isMove = startsWithOneOf(name, {"mov", "vmov", "vmask", "vpmask",
                                       "vextract", "vscatter", "vpscatter",
                                       "set", "vcompress", "kmov"});
  counts.stores += isWritten;
  // An op on memory reads what it writes; moves do not.
  counts.loads += hasMemory && (!isWritten || !isMove);
  counts.stack +=
      hasMemory && (operands.contains("[rsp") || operands.contains("[rbp"));
  counts.vector +=
      isFloatX86(name)
          ? name.ends_with("ps") || name.ends_with("pd") || name.ends_with("ph")
          : name.starts_with("vp") || operands.contains("ymm") ||
                operands.contains("zmm");
  if (startsWithOneOf(
          name, {"vfmadd", "vfmsub", "vfnmadd", "vfnmsub", "tdp", "vdpbf16"}))
    ++counts.fma;
  else if (isFloatX86(name) &&
           startsWithOneOf(name, {"vdiv", "div", "vsqrt", "sqrt", "vrcp",
                                  "vrsqrt", "rcp", "rsqrt"}))
    ++counts.special;
  else if (isFloatX86(name) &&
           startsWithOneOf(name, {"vadd", "vsub", "vmul", "vmax", "vmin", "add",
                                  "sub", "mul", "max", "min", "vhadd", "vround",
                                  "vrndscale", "round", "vscalef", "vrange"}))
    ++counts.arithmetic;
  else if (name.starts_with("j"))
    ++counts.branches;
  else if (name == "call")
    ++counts.calls;
  else if (name == "mfence" || name == "pause" || name.starts_with("lock"))
    ++counts.barriers;
  else if (!hasMemory || !isMove)
    ++counts.other;
}

//===----------------------------------------------------------------------===//
// GPUs
//===----------------------------------------------------------------------===//

static void countPtx(StringRef name, InstructionCounts &counts) {
  counts.vector +=
      name.contains(".v2") || name.contains(".v4") || name.contains("x2");
  if (startsWithOneOf(name, {"ld.", "ldu.", "ldmatrix", "atom.", "tex."})) {
    ++counts.loads;
    counts.stack += name.contains(".local");
    counts.stores += name.starts_with("atom.");
  } else if (startsWithOneOf(name, {"st.", "stmatrix", "red."})) {
    ++counts.stores;
    counts.stack += name.contains(".local");
  } else if (name.starts_with("cp.async")) {
    ++counts.loads;
  } else if (startsWithOneOf(name, {"fma.", "mma.", "wgmma."})) {
    ++counts.fma;
  } else if (startsWithOneOf(name, {"ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin",
                                    "cos", "tanh"}) ||
             (name.starts_with("div.") && name.contains(".f"))) {
    ++counts.special;
  } else if (startsWithOneOf(name, {"bar.", "barrier", "membar", "fence",
                                    "griddepcontrol"})) {
    ++counts.barriers;
  } else if (startsWithOneOf(name, {"bra", "ret", "exit", "brx"})) {
    ++counts.branches;
  } else if (name.starts_with("call")) {
    ++counts.calls;
  } else if (startsWithOneOf(name, {"add.", "sub.", "mul.", "max.", "min.",
                                    "abs.", "neg."}) &&
             (name.contains(".f32") || name.contains(".f64") ||
              name.contains(".f16") || name.contains(".bf16"))) {
    ++counts.arithmetic;
  } else {
    ++counts.other;
  }
}

static void countSass(StringRef name, InstructionCounts &counts) {
  counts.vector += name.contains(".64") || name.contains(".128") ||
                   startsWithOneOf(name, {"HFMA2", "HADD2", "HMUL2"});
  counts.stack += startsWithOneOf(name, {"LDL", "STL"});
  if (startsWithOneOf(
          name, {"BAR", "MEMBAR", "ERRBAR", "ACQBULK", "DEPBAR", "LDGDEPBAR"}))
    ++counts.barriers;
  else if (startsWithOneOf(name, {"LD", "ATOM"}))
    ++counts.loads;
  else if (startsWithOneOf(name, {"ST", "RED."}))
    ++counts.stores;
  else if (startsWithOneOf(name,
                           {"FFMA", "DFMA", "HFMA", "HMMA", "HGMMA", "IMMA"}))
    ++counts.fma;
  else if (name.starts_with("MUFU"))
    ++counts.special;
  else if (startsWithOneOf(name, {"FADD", "FMUL", "FMNMX", "DADD", "DMUL",
                                  "HADD", "HMUL", "HMNMX"}))
    ++counts.arithmetic;
  else if (startsWithOneOf(name, {"BRA", "EXIT", "RET", "BRX"}))
    ++counts.branches;
  else if (name.starts_with("CALL"))
    ++counts.calls;
  else
    ++counts.other;
}

// The instruction on a line, without labels, comments and predicates; empty if
// there is none.
static StringRef instructionOn(StringRef line, CodeForm form) {
  if (form == CodeForm::Sass) {
    // "/*0050*/ @!P0 IMAD.MOV.U32 R1, ... ;"
    if (!line.contains("*/"))
      return "";
    line = line.split("*/").second;
    line = line.split("/*").first;
  }
  StringRef comment = form == CodeForm::Asm ? "#" : "//";
  StringRef text = line.split(comment).first.trim();
  if (text.ends_with(":") || text.starts_with(".") || text.starts_with("{") ||
      text.starts_with("}") || text.starts_with("(") || text.starts_with(")"))
    return "";
  if (text.starts_with("@"))
    text = text.split(' ').second.trim();
  return text;
}

InstructionCounts compiler::countInstructions(StringRef code, CodeForm form) {
  InstructionCounts counts;
  llvm::SmallVector<StringRef> lines;
  code.split(lines, '\n');
  for (StringRef line : lines) {
    if (form == CodeForm::Ptx && !line.contains(';'))
      continue;
    StringRef text = instructionOn(line, form);
    if (text.empty())
      continue;
    StringRef name =
        text.take_until([](char c) { return llvm::isSpace(c) || c == ';'; });
    StringRef operands = text.drop_front(name.size()).trim();
    ++counts.total;
    if (form == CodeForm::Asm)
      countX86(name, operands, counts);
    else if (form == CodeForm::Ptx)
      countPtx(name, counts);
    else
      countSass(name, counts);
  }
  return counts;
}
