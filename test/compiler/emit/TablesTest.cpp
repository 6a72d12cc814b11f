//===- TablesTest.cpp - a planned program as an artifact ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Emits small plans without generated kernels, loads the object with the JIT,
// and reads the C structs.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/Jit.h"
#include "ir/exec/Exec.h"
#include "passes/plan/ScanBody.h"
#include "runtime/exec/ArtifactChecks.h"
#include "runtime/exec/ExpandScans.h"

#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace sinter;
using namespace sinter::compiler;

namespace {

/// Generates no code; for programs without launches.
class NoKernels : public passes::Target {
public:
  explicit NoKernels(std::string name = "none") : name_(std::move(name)) {}
  llvm::StringRef name() const override { return name_; }
  passes::DeviceTraits traits() const override { return {}; }
  passes::Implementation implementationOf(mlir::Operation *,
                                          std::string &) const override {
    return passes::Implementation::Library;
  }
  bool keepsComposite(mlir::Operation *, mlir::FloatType) const override {
    return true;
  }
  bool canFuseEpilogue(mlir::Operation *, llvm::ArrayRef<passes::PostOp>,
                       mlir::FloatType) const override {
    return false;
  }
  mlir::FailureOr<passes::TargetCode>
  generateKernels(mlir::ModuleOp,
                  const passes::CodeGenOptions &) const override {
    passes::TargetCode code;
    code.features = "+avx2";
    return code;
  }

private:
  std::string name_;
};

struct Emitted {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<Jit> jit;
  std::string errors;

  explicit Emitted(const char *text, std::vector<ExportPiece> pieces = {}) {
    context.loadDialect<ir::SinterDialect, exec::ExecDialect>();
    context.printOpOnDiagnostic(false);
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            errors += diagnostic.str() + "\n";
                                            return mlir::success();
                                          });
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    INFO(errors);
    REQUIRE(module);
    ArtifactInfo info;
    info.symbol = "test";
    info.modelName = "a model";
    info.manifest = "{}";
    info.exportPieces = std::move(pieces);
    auto program =
        emitProgram(*module, NoKernels(), passes::CodeGenOptions(), info);
    if (failed(program))
      return;
    auto loaded = Jit::create(*program);
    if (!loaded)
      errors += llvm::toString(loaded.takeError());
    REQUIRE(errors.empty());
    jit = std::move(*loaded);
    rt::Status status = rt::checkArtifact(artifact());
    INFO(status.message());
    REQUIRE(status.ok());
  }
  const sinter_artifact &artifact() const { return *jit->artifact(); }
};

const char *const training = R"mlir(
module @m attributes {sinter.training = #exec.training<optimizer = "adam", loss = "cross-entropy",
                      lr = 0.5 : f64, weight_decay = 0.25 : f64, clip_norm = 0.0 : f64, constants = {},
                      batch = 4, num_classes = 3, ignore_index = -1 : i64>} {
  sinter.state @w : tensor<8x3xf32> {role = #sinter<role param>, trainable, onnx = "fc.weight",
                                     init = dense<2.0> : tensor<8x3xf32>}
  sinter.state @zero : tensor<5xi1> {role = #sinter<role buffer>, init = dense<false> : tensor<5xi1>}
  sinter.state @m.w : tensor<8x3xf32> {role = #sinter<role slot>, slot = "m", of = @w}
  exec.constant at 0 = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  exec.constant at 64 = dense<2.0> : tensor<8x3xf32>
  exec.constant at 192 = dense<[true, false, true]> : tensor<3xi1>
  exec.program @step("x" : tensor<4x8xf32>, "labels" : tensor<4xui64>) -> ("loss" : tensor<4x3xf32>, "flags" : tensor<3xi1>)
      arena 128 unshared 128 max_live 64 {
    %x = exec.buffer input[0] 0 + 128 : tensor<4x8xf32>
    %w = exec.buffer state[0] 0 + 96 : tensor<8x3xf32>
    %b = exec.buffer constant[0] 0 + 12 : tensor<3xf32>
    %y = exec.buffer output[0] 0 + 48 : tensor<4x3xf32>
    exec.matmul(%x, %w, %b) -> %y m 4 n 3 k 8 batch [] a [8, 1] b [3, 1] c [3, 1]
      post [#exec.post_op<bias read 2>, #exec.post_op<clip alpha 0.0 : f32 beta 6.0 : f32>] loc(fused["Gemm_1", "Clip_2"])
    %f = exec.buffer constant[0] 192 + 3 : tensor<3xi1>
    %o = exec.buffer output[1] 0 + 3 : tensor<3xi1>
    exec.copy %f -> %o
    %new = exec.buffer state[2] 0 + 96 : tensor<8x3xf32>
    exec.fill -> %new
  }
}
)mlir";

std::vector<int64_t> list(const int64_t *values, size_t count) {
  return {values, values + count};
}

} // namespace

TEST_CASE("the artifact says what it is") {
  Emitted emitted(training);
  const sinter_artifact &a = emitted.artifact();
  CHECK(std::string(a.name) == "a model");
  CHECK(std::string(a.manifest) == "{}");
  CHECK(std::string(a.cpuFeatures) == "+avx2");
  CHECK(std::string(a.buildId).size() == 32);
  CHECK(a.constantsBytes == 195);
  CHECK(reinterpret_cast<uintptr_t>(a.constants) % 4096 == 0);
  CHECK(a.exportPieces == nullptr);
  CHECK(a.numKernels == 0);
  REQUIRE(a.workspaces != nullptr);
  CHECK(a.workspaces[0] == 32u << 20);
}

TEST_CASE("states keep their ONNX names and initial values") {
  Emitted emitted(training);
  const sinter_artifact &a = emitted.artifact();
  REQUIRE(a.numStates == 3);
  const sinter_state_desc &w = a.states[0], &zero = a.states[1],
                          &m = a.states[2];
  CHECK(std::string(w.tensor.name) == "fc.weight");
  CHECK(w.tensor.dtype == SINTER_F32);
  CHECK(list(w.tensor.dims, w.tensor.rank) == std::vector<int64_t>{8, 3});
  CHECK(w.role == SINTER_STATE_PARAM);
  CHECK(w.trainable == 1);
  CHECK(w.slot == nullptr);
  REQUIRE(w.initOffsetBytes == 64);
  std::vector<float> init(24);
  std::memcpy(init.data(), a.constants + 64, 96);
  CHECK(init == std::vector<float>(24, 2.0f));

  CHECK(std::string(zero.tensor.name) == "zero");
  CHECK(zero.tensor.dtype == SINTER_BOOL);
  CHECK(zero.initOffsetBytes == UINT64_MAX);
  CHECK(zero.offsetBytes == 128);

  CHECK(m.role == SINTER_STATE_SLOT);
  CHECK(std::string(m.slot) == "m");
  CHECK(m.of == 0);
  CHECK(m.initOffsetBytes == UINT64_MAX);
  CHECK(m.offsetBytes == 192);
  CHECK(a.stateBytes == 320);
}

TEST_CASE("commands have their slices, parameters and node names") {
  Emitted emitted(training);
  const sinter_artifact &a = emitted.artifact();
  REQUIRE(a.numEntries == 1);
  const sinter_entry &entry = a.entries[0];
  CHECK(std::string(entry.name) == "step");
  REQUIRE(entry.numInputs == 2);
  CHECK(std::string(entry.inputs[1].name) == "labels");
  CHECK(entry.inputs[1].dtype == SINTER_U64);
  CHECK(entry.arenaBytes == 128);
  CHECK(entry.maxLiveBytes == 64);
  REQUIRE(entry.numCommands == 3);

  const sinter_command &matmul = entry.commands[0];
  CHECK(matmul.kind == SINTER_CMD_MATMUL);
  CHECK(std::string(matmul.label) == "Gemm_1,Clip_2");
  REQUIRE(matmul.numSlices == 4);
  CHECK(matmul.numReads == 3);
  CHECK(matmul.slices[1].space == SINTER_SPACE_STATE);
  CHECK(matmul.slices[1].sizeBytes == 96);
  CHECK(matmul.slices[3].space == SINTER_SPACE_OUTPUT);
  const auto &p = *matmul.matmul.params;
  CHECK(p.dtype == SINTER_F32);
  CHECK((p.m == 4 && p.n == 3 && p.k == 8 && p.batchRank == 0));
  CHECK((p.aStrideM == 8 && p.aStrideK == 1 && p.bStrideK == 3 &&
         p.bStrideN == 1));
  REQUIRE(p.numPostOps == 2);
  CHECK(p.postOps[0].kind == SINTER_POST_BIAS);
  CHECK(p.postOps[0].slice == 2);
  CHECK(p.postOps[1].kind == SINTER_POST_CLIP);
  CHECK(p.postOps[1].beta == 6.0f);

  const sinter_command &copy = entry.commands[1];
  CHECK(copy.kind == SINTER_CMD_COPY);
  CHECK(std::string(copy.label).empty());
  CHECK(copy.slices[0].offsetBytes == 192);
  const uint8_t flags[] = {1, 0, 1};
  CHECK(std::memcmp(a.constants + 192, flags, 3) == 0);
  CHECK(entry.commands[2].kind == SINTER_CMD_FILL);
  CHECK(entry.commands[2].numReads == 0);
}

TEST_CASE("training defaults come from the module") {
  Emitted emitted(training);
  const sinter_training *t = emitted.artifact().training;
  REQUIRE(t);
  CHECK(std::string(t->optimizer) == "adam");
  CHECK(std::string(t->loss) == "cross-entropy");
  CHECK(t->lr == 0.5f);
  CHECK(t->weightDecay == 0.25f);
  CHECK(t->batch == 4);
  CHECK(t->numClasses == 3);
  CHECK(t->hasIgnoreIndex == 1);
  CHECK(t->ignoreIndex == -1);
}

TEST_CASE("pieces of the exported model are bytes or states") {
  Emitted emitted(training, {{"head", ""}, {"", "fc.weight"}, {"tail", ""}});
  const sinter_artifact &a = emitted.artifact();
  REQUIRE(a.numExportPieces == 3);
  CHECK(std::memcmp(a.exportPieces[0].bytes, "head", 4) == 0);
  CHECK(a.exportPieces[1].bytes == nullptr);
  CHECK(a.exportPieces[1].state == 0);
  CHECK(a.exportPieces[1].sizeBytes == 96);
  CHECK(a.exportPieces[2].sizeBytes == 4);
}

TEST_CASE("equal programs have equal build ids, others do not") {
  auto idOf = [](const std::string &text) {
    return std::string(Emitted(text.c_str()).artifact().buildId);
  };
  std::string text = training, moved = text, changed = text;
  moved.replace(moved.find("Gemm_1"), 6, "Gemm_9");
  changed.replace(changed.find("beta 6.0"), 8, "beta 5.0");
  CHECK(idOf(text) == idOf(moved)); // locations only
  CHECK(idOf(text) != idOf(changed));
}

TEST_CASE("what cannot be emitted is one line") {
  Emitted noState(training, {{"", "no.such"}});
  CHECK(noState.errors == "the exported model names the state 'no.such', which "
                          "the program does not have\n");
  Emitted noTiles(
      "exec.kernel @k0 loop over <[] views []> {\n^bb0:\n  sinter.yield\n}\n");
  CHECK(noTiles.errors ==
        "kernel @k0 has no number of tiles: no code was generated for it\n");
  Emitted noInit("sinter.state @w : tensor<2xf32> {role = #sinter<role param>, "
                 "init = dense<1.0> : tensor<2xf32>}");
  CHECK(noInit.errors ==
        "the initial value of state @w is not a constant of the plan\n");
  Emitted badTraining("module attributes {sinter.training = {}} {}");
  CHECK(badTraining.errors ==
        "attribute 'sinter.training' must be an #exec.training\n");
}

namespace {

/// Plans of one model for several targets, as one program.
struct SeveralTargets {
  mlir::MLIRContext context;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  CompiledProgram program;
  std::string errors;

  explicit SeveralTargets(std::vector<std::string> texts) {
    context.loadDialect<ir::SinterDialect, exec::ExecDialect>();
    context.printOpOnDiagnostic(false);
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            errors += diagnostic.str() + "\n";
                                            return mlir::success();
                                          });
    std::vector<std::string> names = {"cpu", "cuda", "sim"};
    names.resize(texts.size());
    for (size_t i = 0; i < texts.size() && errors.empty(); ++i) {
      modules.push_back(
          mlir::parseSourceString<mlir::ModuleOp>(texts[i], &context));
      INFO(errors);
      REQUIRE(modules.back());
      ArtifactInfo info;
      info.symbol = "test";
      info.manifest = names[i];
      info.otherTargets.assign(names.begin() + static_cast<long>(i) + 1,
                               names.end());
      if (i == 0)
        info.exportPieces = {{"ONNX", ""}, {"", "fc.weight"}};
      NoKernels target(names[i]);
      if (i > 0) {
        (void)addTarget(program, *modules.back(), target, {}, info);
      } else if (auto first = emitProgram(*modules.back(), target, {}, info);
                 succeeded(first)) {
        program = std::move(*first);
      }
    }
  }
};

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("targets of one program share constants and export pieces") {
  // The second plan has its constants elsewhere, and one that is new.
  std::string second = training;
  second = replaced(second, "exec.constant at 0 = dense<[1.0, 2.0, 3.0]>",
                    "exec.constant at 0 = dense<[7.0, 8.0, 9.0]>");
  second = replaced(second, "exec.constant at 64 = dense<2.0>",
                    "exec.constant at 128 = dense<2.0>");
  second = replaced(second, "exec.constant at 192 =", "exec.constant at 256 =");
  second = replaced(second, "constant[0] 192 + 3", "constant[0] 256 + 3");
  SeveralTargets several({training, second, training});
  INFO(several.errors);
  REQUIRE(several.errors.empty());
  auto jit = Jit::create(several.program);
  REQUIRE(static_cast<bool>(jit));
  const sinter_artifact &cpu = *(*jit)->artifact();
  rt::Status status = rt::checkArtifacts(cpu);
  INFO(status.message());
  // A target without images is not accepted as CUDA; the rest of the table is
  // correct.
  const sinter_artifact &cuda = *cpu.next, &sim = *cuda.next;
  CHECK(status.ok());
  CHECK(sim.next == nullptr);
  CHECK(std::string(cuda.target) == "cuda");
  CHECK(std::string(sim.manifest) == "sim");
  CHECK(cuda.constants == cpu.constants);
  CHECK(sim.exportPieces == cpu.exportPieces);
  CHECK(sim.numExportPieces == 2);
  // 195 bytes of the first, and 12 more from 256 on.
  CHECK(cpu.constantsBytes == 195);
  CHECK(cuda.constantsBytes == 268);
  CHECK(sim.constantsBytes == 268);
  CHECK(cuda.states[0].initOffsetBytes == cpu.states[0].initOffsetBytes);
  auto constantOf = [](const sinter_artifact &a, int command, int slice) {
    const sinter_slice &s = a.entries[0].commands[command].slices[slice];
    REQUIRE(s.space == SINTER_SPACE_CONSTANT);
    return a.constants + s.offsetBytes;
  };
  float bias[3];
  std::memcpy(bias, constantOf(cuda, 0, 2), sizeof(bias));
  CHECK(bias[2] == 9);
  CHECK(constantOf(sim, 0, 2) == constantOf(cpu, 0, 2));
  CHECK(constantOf(cuda, 1, 0) == constantOf(cpu, 1, 0));
  for (const char *target : {"cpu", "cuda", "sim"})
    CHECK(std::string((*rt::artifactFor(cpu, target, "x"))->target) == target);
  CHECK(rt::artifactFor(cuda, "cpu", "cpu").status().message() ==
        "the program was compiled for cuda and sim; it cannot run on cpu");
}

TEST_CASE("targets of one program must have the same states") {
  SeveralTargets several({training, replaced(training, "onnx = \"fc.weight\"",
                                             "onnx = \"fc.w\"")});
  CHECK(several.errors ==
        "the program for cuda has different states from the first one\n");
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

/// A scan of `trips` trips over %x, whose body has the two outputs
/// last (the copy of x) and a slice (the value that is carried).
static std::string scanText(int64_t trips, bool isReverse) {
  const std::string n = std::to_string(trips),
                    bytes = std::to_string(16 * trips);
  return R"mlir(
module {
  exec.constant at 0 = dense<1.0> : tensor<4xf32>
  exec.program @main.scan0("x" : tensor<4xf32>, "h" : tensor<4xf32>, "k" : tensor<4xf32>, "w" : tensor<4xf32>)
      -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
    %x = exec.buffer input[0] 0 + 16 : tensor<4xf32>
    %h = exec.buffer input[1] 0 + 16 : tensor<4xf32>
    %k = exec.buffer input[2] 0 + 16 : tensor<4xf32>
    %w = exec.buffer input[3] 0 + 16 : tensor<4xf32>
    %a = exec.buffer arena[0] 0 + 16 : tensor<4xf32>
    %n = exec.buffer output[0] 0 + 16 : tensor<4xf32>
    %y = exec.buffer output[1] 0 + 16 : tensor<4xf32>
    exec.copy %w -> %a
    exec.copy %x -> %n
    exec.copy %h -> %y
  }
  exec.program @main("x" : tensor<)mlir" +
         n +
         R"mlir(x4xf32>, "h" : tensor<4xf32>) -> ("last" : tensor<4xf32>, "y" : tensor<)mlir" +
         n + R"mlir(x4xf32>) arena 256 unshared 256 max_live 256 {
    %z = exec.buffer arena[0] 0 + 0 : tensor<0xf32>
    %x = exec.buffer input[0] 0 + )mlir" +
         bytes + " : tensor<" + n + R"mlir(x4xf32>
    %h = exec.buffer input[1] 0 + 16 : tensor<4xf32>
    %w = exec.buffer constant[0] 0 + 16 : tensor<4xf32>
    %last = exec.buffer output[0] 0 + 16 : tensor<4xf32>
    %y = exec.buffer output[1] 0 + )mlir" +
         bytes + " : tensor<" + n + R"mlir(x4xf32>
    %s = exec.buffer arena[0] 64 + 192 : tensor<192xi8>
    exec.scan @main.scan0 trips )mlir" +
         n + (isReverse ? " reverse" : "") +
         R"mlir( (%x, %h, %w) -> (%last, %y) scratch %s
        inputs [#exec.scan_input<slice 0>, #exec.scan_input<carried 1 output 0>, #exec.scan_input<carried 1 output 1>, #exec.scan_input<whole 2>]
        outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
    exec.fill -> %z
  }
}
)mlir";
}

TEST_CASE("the body of a scan is stored once, with the places of its values") {
  for (int64_t trips : {1, 2, 3, 4, 7})
    for (bool isReverse : {false, true}) {
      INFO(trips << (isReverse ? " reverse" : ""));
      Emitted emitted(scanText(trips, isReverse).c_str());
      REQUIRE(emitted.errors.empty());
      const sinter_artifact &a = emitted.artifact();
      REQUIRE(a.numEntries == 1);
      const sinter_entry &entry = a.entries[0];
      REQUIRE(entry.numCommands == 2);
      const sinter_command &command = entry.commands[0];
      REQUIRE(command.kind == SINTER_CMD_SCAN);
      CHECK(command.numReads == 3);
      CHECK(command.numSlices == 6);
      const sinter_scan &scan = *command.scan.params;
      CHECK(scan.trips == trips);
      REQUIRE(scan.numCommands == 3);
      REQUIRE(scan.numValues == 5);
      auto at = [&](int command, int slice, int64_t trip) {
        return sinter_slice_in_trip(&scan, scan.commands[command].slices[slice],
                                    trip);
      };
      auto isAt = [](const sinter_slice &slice, uint32_t space, uint32_t index,
                     int64_t offset) {
        return slice.space == space && slice.index == index &&
               slice.offsetBytes == uint64_t(offset) && slice.sizeBytes == 16;
      };
      for (int64_t trip = 0; trip < trips; ++trip) {
        const int64_t slice = isReverse ? trips - 1 - trip : trip;
        const int64_t before = isReverse ? slice + 1 : slice - 1;
        // The arena of the body is at the head of the scratch.
        CHECK(isAt(at(0, 0, trip), SINTER_SPACE_CONSTANT, 0, 0));
        CHECK(isAt(at(0, 1, trip), SINTER_SPACE_ARENA, 0, 64));
        CHECK(isAt(at(1, 0, trip), SINTER_SPACE_INPUT, 0, 16 * slice));
        if (trip + 1 < trips)
          CHECK(isAt(at(1, 1, trip), SINTER_SPACE_ARENA, 0,
                     128 + 64 * (trip % 2)));
        else
          CHECK(isAt(at(1, 1, trip), SINTER_SPACE_OUTPUT, 0, 0));
        if (trip == 0)
          CHECK(isAt(at(2, 0, trip), SINTER_SPACE_INPUT, 1, 0));
        else
          CHECK(isAt(at(2, 0, trip), SINTER_SPACE_ARENA, 0,
                     128 + 64 * ((trip - 1) % 2)));
        CHECK(isAt(at(2, 1, trip), SINTER_SPACE_OUTPUT, 1, 16 * slice));
        // What is carried from the stack: value 4.
        const sinter_slice whole{SINTER_SPACE_SCAN, 4, 0, 16};
        CHECK(isAt(sinter_slice_in_trip(&scan, whole, trip),
                   trip ? SINTER_SPACE_OUTPUT : SINTER_SPACE_INPUT, 1,
                   trip ? 16 * before : 0));
      }
    }
}
