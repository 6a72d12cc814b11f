//===- OwnFaultTest.cpp - defects of the compiler are reported as such ----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Compiles with targets that break the module or fail: the one line that the
// user sees must say whether the compiler or the model is at fault.
//
//===----------------------------------------------------------------------===//
#include "compiler/Phases.h"
#include "compiler/driver/Driver.h"
#include "ir/Dialect.h"

#include "test/runtime/TestFiles.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::compiler;

namespace {

enum class Fault { Breaks, FailsInKernels, Unsupported };

class FaultyTarget : public passes::Target {
public:
  explicit FaultyTarget(Fault fault) : fault_(fault) {}
  llvm::StringRef name() const override { return "cpu"; }
  passes::DeviceTraits traits() const override {
    passes::DeviceTraits traits;
    traits.isHost = true;
    return traits;
  }
  passes::Implementation implementationOf(mlir::Operation *op,
                                          std::string &reason) const override {
    if (fault_ == Fault::Breaks && mlir::isa<ir::ReduceOp>(op))
      op->setAttr("dims", mlir::DenseI64ArrayAttr::get(op->getContext(), {7}));
    if (fault_ == Fault::Unsupported) {
      reason = "nothing is";
      return passes::Implementation::Unsupported;
    }
    return passes::Implementation::Generated;
  }
  bool keepsComposite(mlir::Operation *, mlir::FloatType) const override {
    return false;
  }
  bool canFuseEpilogue(mlir::Operation *, llvm::ArrayRef<passes::PostOp>,
                       mlir::FloatType) const override {
    return false;
  }
  mlir::FailureOr<passes::TargetCode>
  generateKernels(mlir::ModuleOp module,
                  const passes::CodeGenOptions &) const override {
    mlir::emitError(module.getLoc(), "operand #1 does not dominate this use");
    return mlir::failure();
  }

private:
  Fault fault_;
};

/// Captures stderr during its lifetime.
class Stderr {
public:
  Stderr() : saved_(::dup(2)) {
    int file = ::open((folder_ / "stderr").c_str(), O_CREAT | O_RDWR, 0600);
    ::dup2(file, 2);
    ::close(file);
  }
  ~Stderr() { restore(); }
  std::string text() {
    restore();
    return testfiles::read(folder_ / "stderr");
  }

private:
  void restore() {
    if (saved_ < 0)
      return;
    ::dup2(saved_, 2);
    ::close(saved_);
    saved_ = -1;
  }

  testfiles::TempFolder folder_;
  int saved_;
};

struct Ended {
  ExitCode code;
  std::string text;
};

/// The exit code of compiling a small program for such a target.
Ended compileFor(Fault fault) {
  testfiles::TempFolder folder;
  std::string path = folder / "model.mlir";
  testfiles::write(path, R"(
    func.func @main(%x: tensor<4x8xf32> {sinter.input = "x"})
        -> (tensor<4xf32> {sinter.output = "y"}) {
      %y = sinter.reduce sum %x dims [1] : (tensor<4x8xf32>) -> tensor<4xf32> loc("node")
      return %y : tensor<4xf32>
    })");
  std::optional<const Options> options =
      parseOptions("sinterc", kSinterc, {passes::DeviceKind{"cpu", {}}},
                   {path, "-o", folder / "out.so"});
  REQUIRE(options);
  Compilation compilation(*options, CompileState(*options),
                          TargetSet(std::make_unique<FaultyTarget>(fault)));
  Stderr output;
  ExitCode code = compilation.run(*findPhase("plan"));
  if (code == kExitDone) {
    CompiledProgram program;
    code = compilation.emit(program);
  }
  return {code, output.text()};
}

} // namespace

TEST_CASE("a module that a pass breaks is a defect of the compiler") {
  auto [code, text] = compileFor(Fault::Breaks);
  INFO(text);
  CHECK(code == kExitFailed);
  CHECK(text.find("node 'node': a defect of Sinter, not of the model, in phase "
                  "'place': ") != std::string::npos);
  CHECK(text.find("please report it with the model, the command line and the "
                  "version (") != std::string::npos);
  CHECK(llvm::StringRef(text).count('\n') == 1);
}

TEST_CASE("kernels that cannot be made are a defect of the compiler") {
  auto [code, text] = compileFor(Fault::FailsInKernels);
  INFO(text);
  CHECK(code == kExitFailed);
  CHECK(text.find("a defect of Sinter, not of the model, in phase 'kernels': "
                  "operand #1 does not dominate this use; please report") !=
        std::string::npos);
  CHECK(llvm::StringRef(text).count('\n') == 1);
}

TEST_CASE("what a target does not have is no defect") {
  auto [code, text] = compileFor(Fault::Unsupported);
  INFO(text);
  CHECK(code == kExitUnsupported);
  CHECK(text.find("nothing is") != std::string::npos);
  CHECK(text.find("defect") == std::string::npos);
}
