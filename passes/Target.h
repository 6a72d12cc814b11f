//===- Target.h - what passes may ask about a device ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A Target is a kind of device that programs are compiled for. Backends
// implement it, and tools register it with the driver. Passes see only this
// class.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_TARGET_H
#define SINTER_PASSES_TARGET_H

#include "passes/DeviceTraits.h"
#include "passes/PostOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Operation.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <string>
#include <vector>

namespace sinter::passes {

/// What an op becomes on a target.
enum class Implementation {
  Generated,   // part of a kernel: the code generator emits it
  Library,     // one library call
  Alias,       // no code: the result is the bytes of the operand (reshape)
  Unsupported, // an error unless another device takes it
};

/// The form of generated code: machine code, or text for people in
/// TargetCode::text.
enum class CodeForm { Machine, Llvm, Ptx };

struct CodeGenOptions {
  unsigned threads =
      1; // kernels are compiled in parallel; the bytes do not depend on it
  unsigned optLevel = 2;
  CodeForm form = CodeForm::Machine;
  /// Called, if set, for each kernel that was compiled, with its time in
  /// milliseconds, from any thread.
  std::function<void(llvm::StringRef kernel, double milliseconds)> compiled;
  /// Kernels count in 64 bits as if their tensors were large; for tests.
  bool hasWideCounts = false;
};

/// All kernels of a program for one GPU architecture.
struct KernelImage {
  bool isBinary = false; // a cubin; else PTX text
  unsigned arch = 0;     // 80: compute capability 8.0
  std::string bytes;
};

/// A unit attribute that targets set on an `exec.kernel` whose code waits for
/// the launches before it: SINTER_KERNEL_WAITS of abi.h.
inline constexpr llvm::StringLiteral kWaitsAttr = "exec.waits_for_launches";

/// The code that a target generates for the kernels of one program. The target
/// also sets `tiles`, or `grid`, `block` and `shared`, of every `exec.kernel`.
struct TargetCode {
  std::vector<std::string>
      objects; // relocatable ELF files that define every kernel symbol
  std::vector<KernelImage> images; // GPU code that defines every kernel symbol
  std::string text;     // in a readable form: all kernels, one after another
  std::string features; // "+avx2,+fma,..." that running the code requires
};

/// A program that makes machine code of the text that a target generates.
struct Assembler {
  std::string name;   // with version and architectures; "" if none is used
  std::string reason; // why none is used; "" if none was asked for
};

class Target {
public:
  virtual ~Target() = default;

  /// The name of the kind of device.
  virtual llvm::StringRef name() const = 0;
  virtual DeviceTraits traits() const = 0;
  /// The name of the first device of the kind.
  std::string firstDevice() const {
    return DeviceKind{name().str(), traits()}.firstDevice();
  }

  /// The machine that code is generated for; "" if it is for all machines with
  /// such a device.
  virtual llvm::StringRef machine() const { return ""; }

  /// What `op` becomes; composites for which `keepsComposite` is false are not
  /// asked about. For Unsupported, `reason` says in a few words what is
  /// missing; for Library, it may say what computes it instead of a library.
  virtual Implementation implementationOf(mlir::Operation *op,
                                          std::string &reason) const = 0;

  /// True when kernels can compute `contraction`, though it may be a library
  /// call.
  virtual bool canGenerate(mlir::Operation *contraction) const { return false; }

  /// True when the target implements this composite better than its
  /// decomposition. `narrow` is the type of 16-bit floats that the precision
  /// policy will give it, or null.
  virtual bool keepsComposite(mlir::Operation *op,
                              mlir::FloatType narrow) const = 0;

  /// True when `contraction` is as fast in float32 as in 16-bit floats: it
  /// reads its larger operand once, where the caller of the program has stored
  /// it in float32, so rounding would be one more pass over memory. False for
  /// programs that are trained.
  virtual bool multipliesInPlace(mlir::Operation *contraction) const {
    return false;
  }

  /// True when the library call `contraction` can apply all of `postOps`, in
  /// order, to its float32 result before storing it. Without post-ops: whether
  /// it can store a float32 result of 16-bit operands. `narrow` is the type to
  /// which operands of float32 will be rounded, or null.
  virtual bool canFuseEpilogue(mlir::Operation *contraction,
                               llvm::ArrayRef<PostOp> postOps,
                               mlir::FloatType narrow) const = 0;

  /// What makes machine code besides the compiler itself.
  virtual Assembler assembler() const { return {}; }

  /// Machine code for every `exec.kernel` of `module`.
  virtual mlir::FailureOr<TargetCode>
  generateKernels(mlir::ModuleOp module,
                  const CodeGenOptions &options) const = 0;
};

/// A device that a program may be placed on, with the target of its kind.
struct ProgramDevice {
  std::string name; // "cpu", "sim:1"
  const Target *target;
};

/// The target of device `number` of the program in `module`, one of `devices`;
/// `otherwise` for a program that names no devices.
const Target *targetOf(mlir::ModuleOp module, int64_t number,
                       llvm::ArrayRef<ProgramDevice> devices,
                       const Target *otherwise);
/// The same for the device of `function`. `otherwise` if it is in no module.
const Target *targetOf(mlir::Operation *function,
                       llvm::ArrayRef<ProgramDevice> devices,
                       const Target *otherwise);

} // namespace sinter::passes

#endif // SINTER_PASSES_TARGET_H
