//===- KernelTool.cpp - sinter-inspect kernels FILE NAME ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/KernelTool.h"

#include "compiler/Phases.h"
#include "compiler/base/Text.h"
#include "compiler/emit/Jit.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/inspect/ArtifactImage.h"
#include "compiler/inspect/FileKind.h"
#include "compiler/inspect/InspectOptions.h"
#include "compiler/inspect/InspectedModel.h"
#include "compiler/inspect/KernelCode.h"
#include "compiler/inspect/KernelView.h"
#include "compiler/inspect/Why.h"
#include "ir/exec/Exec.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

constexpr std::pair<const char *, CodeForm> kForms[] = {
    {"--ir", CodeForm::Ir},
    {"--llvm", CodeForm::Llvm},
    {"--asm", CodeForm::Asm},
    {"--ptx", CodeForm::Ptx},
    {"--sass", CodeForm::Sass}};

struct Request {
  std::vector<std::string> rest; // file and options of a compilation
  std::string name;              // "": all kernels
  std::vector<CodeForm> forms;
  std::string sort; // "": by work
  bool json = false;
};

// The program, and what its kernels are made of. Owns what `artifact` needs.
struct Program {
  std::unique_ptr<Compilation> compilation; // of a model; null: a file
  std::unique_ptr<Jit> jit;
  std::unique_ptr<ArtifactImage> image;
  const sinter_artifact *artifact = nullptr;
  std::map<std::string, std::string> ir;
  std::string llvm, ptx; // of all kernels of a model
  KernelCode code;
};

} // namespace

static const char *flagOf(CodeForm form) {
  for (auto [flag, own] : kForms)
    if (own == form)
      return flag;
  return "";
}

static Request splitRequest(llvm::ArrayRef<std::string> args) {
  Request request;
  size_t words = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    StringRef arg = args[i];
    auto form = llvm::find_if(
        kForms, [&](const auto &known) { return arg == known.first; });
    bool isWord = !arg.starts_with("-") || arg == "-";
    if (form != std::end(kForms))
      request.forms.push_back(form->second);
    else if (arg == "--json")
      request.json = true;
    else if (arg.consume_front("--sort="))
      request.sort = arg.str();
    else if (isWord && ++words == 2)
      request.name = arg.str();
    else {
      request.rest.push_back(arg.str());
      bool takesNext = arg == "-o" || arg == "--output" || arg == "-j";
      if (takesNext && i + 1 < args.size())
        request.rest.push_back(args[++i]);
    }
  }
  return request;
}

std::string compiler::checkKernelSort(StringRef order) {
  return order.empty() || order == "time"
             ? ""
             : "--sort=" + shown(order) + ": expected time";
}

bool compiler::asksForKernels(llvm::ArrayRef<std::string> args) {
  Request request = splitRequest(args);
  return !request.name.empty() ||
         llvm::any_of(request.forms,
                      [](CodeForm form) { return form != CodeForm::Llvm; });
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

static int loadFile(const Options &options, Program &program) {
  auto image = ArtifactImage::read(options.model);
  if (!image)
    return inspectError(shown(options.model) + ": " +
                        llvm::toString(image.takeError()));
  program.image = std::move(*image);
  for (const sinter_artifact *artifact : program.image->artifacts())
    if (!program.artifact &&
        (!options.targetGiven ||
         llvm::is_contained(options.targets, artifact->target)))
      program.artifact = artifact;
  if (!program.artifact)
    return inspectError(shown(options.model) + ": was not compiled for " +
                        options.targets.front());
  program.code = KernelCode(*program.artifact, *program.image, options.model);
  return kExitDone;
}

static std::string irOf(exec::KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, mlir::OpPrintingFlags().useLocalScope().enableDebugInfo());
  os << "\n";
  return text;
}

static bool has(llvm::ArrayRef<CodeForm> forms, CodeForm form) {
  return llvm::is_contained(forms, form);
}

static int loadModel(const Request &request, const Options &options,
                     llvm::ArrayRef<TargetFactory> targets, Program &program) {
  ExitCode code = kExitDone;
  // The trace says what became of a node that no kernel computes.
  program.compilation = compileToInspect(options, *findPhase("plan"), targets,
                                         code, /*notesSizes=*/true,
                                         /*keepsTrace=*/!request.name.empty());
  if (!program.compilation)
    return code;
  Compilation &compilation = *program.compilation;
  for (auto kernel : compilation.module().getOps<exec::KernelOp>())
    program.ir[kernel.getSymName().str()] = irOf(kernel);
  for (auto [form, own, text] :
       {std::tuple(CodeForm::Llvm, passes::CodeForm::Llvm, &program.llvm),
        std::tuple(CodeForm::Ptx, passes::CodeForm::Ptx, &program.ptx)}) {
    bool isHost = compilation.mainTarget().traits().isHost;
    if (!has(request.forms, form) || (form == CodeForm::Ptx && isHost))
      continue;
    auto generated = compilation.kernelText(own);
    if (failed(generated))
      return kExitFailed;
    *text = std::move(generated->text);
  }
  CompiledProgram compiled;
  if ((code = compilation.emit(compiled)))
    return code;
  auto jit = Jit::create(compiled);
  if (!jit)
    return inspectError(
        StringRef(llvm::toString(jit.takeError())).split('\n').first,
        kExitFailed);
  program.jit = std::move(*jit);
  program.artifact = program.jit->artifact();
  program.code = KernelCode(*program.artifact, compiled.objects);
  return kExitDone;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

// The module of one kernel in the text of all.
static std::string llvmOf(StringRef all, StringRef kernel) {
  llvm::SmallVector<StringRef> modules;
  all.split(modules, "; ModuleID = ");
  for (StringRef module : modules)
    if (module.contains(("@" + kernel + "(").str()))
      return "; ModuleID = " + module.trim().str() + "\n";
  return "";
}

static std::string ptxOf(const Program &program, const KernelView &view) {
  return program.ptx.empty() ? program.code.ptx(view.name)
                             : ptxOfKernel(program.ptx, view.name);
}

// The code of one kernel in `form`; "" and why there is none.
static std::string codeOf(const Program &program, const KernelView &view,
                          CodeForm form, std::string &why) {
  bool isCpu = view.kernel->cpu, isSim = view.kernel->sim;
  switch (form) {
  case CodeForm::Ir:
  case CodeForm::Llvm: {
    if (!program.compilation) {
      why = std::string("a compiled program has no ") + flagOf(form) +
            "; give the model";
      return "";
    }
    auto found = program.ir.find(view.name);
    return form == CodeForm::Llvm      ? llvmOf(program.llvm, view.name)
           : found == program.ir.end() ? ""
                                       : found->second;
  }
  case CodeForm::Asm:
    if (!isCpu && !isSim)
      why = "it runs on " + shown(view.target) +
            " and has no x86 code; --ptx or "
            "--sass shows what it has";
    else if (std::string code = program.code.x86(*view.kernel); !code.empty())
      return code;
    else
      why = "the file has no symbol of its code";
    return "";
  case CodeForm::Ptx:
    if (isCpu)
      why = "it runs on the CPU and has no PTX; --asm shows its code";
    else if (std::string code = ptxOf(program, view); !code.empty())
      return code;
    else
      why = "the program has no PTX of it; give the model";
    return "";
  case CodeForm::Sass:
    StringRef cubin = program.code.image(SINTER_IMAGE_CUBIN);
    if (isCpu)
      why = "it runs on the CPU and has no SASS; --asm shows its code";
    else if (isSim)
      why = "it is simulated and has no SASS; compile for cuda";
    else if (cubin.empty())
      why = "the program has no cubin: ptxas, of the CUDA toolkit's package "
            "cuda-nvcc, makes one when the program is compiled";
    else
      return disassembleCubin(cubin, view.name, why);
    return "";
  }
  return "";
}

// Counts instructions in what is at hand, at best what runs.
static void countCode(const Program &program, KernelView &view,
                      llvm::ArrayRef<CodeForm> forms) {
  std::string why, code;
  CodeForm form = CodeForm::Asm;
  bool isGpu = !view.kernel->cpu && !view.kernel->sim;
  if (isGpu)
    view.resources =
        cubinResources(program.code.image(SINTER_IMAGE_CUBIN), view.name);
  if (has(forms, CodeForm::Sass))
    form = CodeForm::Sass;
  else if (isGpu || has(forms, CodeForm::Ptx))
    form = CodeForm::Ptx;
  view.countedIn = form == CodeForm::Asm    ? "x86 code"
                   : form == CodeForm::Sass ? "SASS"
                                            : "PTX";
  if (code = codeOf(program, view, form, why); !code.empty())
    view.counts = countInstructions(code, form);
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

// The views as they are, or with --sort=time those of the longest least time
// first.
static std::vector<KernelView>
inOrder(const Request &request,
        const std::map<std::string, MachinePeaks> &peaks,
        llvm::ArrayRef<KernelView> views) {
  std::vector<KernelView> sorted = views.vec();
  if (!request.sort.empty())
    llvm::stable_sort(sorted, [&](const KernelView &a, const KernelView &b) {
      auto least = [&](const KernelView &view) {
        const MachinePeaks &own = peaks.at(view.target);
        return view.best(own).best(own);
      };
      return least(a) > least(b);
    });
  return sorted;
}

// Why no kernel is called `name`, or fits it; `calls` do.
static int failToFind(const Program &program, llvm::ArrayRef<KernelView> calls,
                      StringRef name) {
  if (!calls.empty() && calls[0].kind == name)
    return inspectError(quoted(name) + " names library calls, such as " +
                        shown(calls[0].name) +
                        ", which have no code of their own");
  if (!calls.empty())
    return inspectError(quoted(name) + " is computed by " +
                        shown(calls[0].name) + ", a " + calls[0].kind +
                        ", which has no code of its own");
  // A node of the model of which the program computes nothing.
  if (program.compilation && program.compilation->trace()) {
    Answer answer = WhyIndex(*program.compilation->trace())
                        .answer({"--not-library", name.str(), false});
    if (answer.problem.empty() && !answer.reasons.empty())
      return inspectError("no kernel computes " + quoted(name) + ": " +
                          answer.reasons.front().text);
  }
  return inspectError("no kernel and no node is called " + quoted(name) +
                      "; 'kernels' without a name lists them");
}

static int failToChoose(llvm::ArrayRef<KernelView> found, StringRef name) {
  std::string names;
  for (const KernelView &view : found.take_front(8))
    names += (names.empty() ? "" : ", ") + shown(view.name) +
             (view.kernel || view.nodes.empty()
                  ? ""
                  : " (" + shown(view.nodes.front()) + ")");
  if (found.size() > 8)
    names += " and " + std::to_string(found.size() - 8) + " more";
  return inspectError(quoted(name) + " fits " + llvm::Twine(found.size()) +
                      (found[0].kernel ? " kernels: " : " calls: ") + names);
}

static int print(const Request &request, const Options &options,
                 const std::string &cpu, llvm::ArrayRef<KernelView> views) {
  std::map<std::string, MachinePeaks> peaks;
  for (const KernelView &view : views)
    if (!peaks.count(view.target))
      peaks[view.target] = machinePeaks(options.isHost(view.target), cpu);
  return printReport(options, [&](llvm::raw_ostream &os) {
    json::Array list;
    for (auto [i, view] : llvm::enumerate(inOrder(request, peaks, views)))
      if (request.json) {
        list.push_back(kernelJson(view, peaks[view.target]));
      } else {
        os << (i ? "\n" : "");
        printKernel(view, peaks[view.target], os);
      }
    if (request.json)
      os << json::Value(std::move(list)) << "\n";
  });
}

int compiler::inspectKernels(llvm::ArrayRef<std::string> args,
                             llvm::ArrayRef<TargetFactory> targets) {
  Request request = splitRequest(args);
  std::optional<const Options> parsed = parseOptions(
      "sinter-inspect", kSinterInspect, kindsOf(targets), request.rest);
  if (!parsed)
    return kExitUsage;
  Options options = *parsed;
  options.wantsCubins = true; // they say how many registers a kernel uses
  if (std::string wrong = checkKernelSort(request.sort); !wrong.empty())
    return inspectError(wrong);
  if (request.forms.size() > 1)
    return inspectError(std::string(flagOf(request.forms[0])) + " and " +
                        flagOf(request.forms[1]) + ": choose one form of code");
  Program program;
  int code = fileKindOf(options.model) == FileKind::Program
                 ? loadFile(options, program)
                 : loadModel(request, options, targets, program);
  if (code)
    return code;
  std::vector<KernelView> views = kernelViews(*program.artifact);
  std::vector<KernelView> calls = callViews(*program.artifact);
  if (request.name.empty() && !calls.empty())
    llvm::errs() << "sinter-inspect: note: " << calls.size()
                 << " library calls have no code of their own; 'kernels' "
                    "without a form of code lists them, too\n";
  if (!request.name.empty()) {
    if (request.forms.empty()) // calls have no code
      views.insert(views.end(), calls.begin(), calls.end());
    views = findKernels(views, request.name);
    if (views.empty())
      return failToFind(program, findKernels(calls, request.name),
                        request.name);
    bool isNode = request.forms.empty() &&
                  llvm::all_of(views, [&](const KernelView &view) {
                    return view.computes(request.name);
                  });
    // Of a kind of library call, all are meant.
    bool isKind = llvm::any_of(views, [&](const KernelView &view) {
      return !view.kernel && view.kind == request.name;
    });
    if (views.size() > 1 && !isNode && !isKind)
      return failToChoose(views, request.name);
    // What does most of a node's work comes first.
    llvm::stable_sort(views, [](const KernelView &a, const KernelView &b) {
      return a.flops.total() > b.flops.total();
    });
  }
  for (KernelView &view : views) {
    std::string why;
    for (CodeForm form : request.forms)
      if (view.code = codeOf(program, view, form, why); view.code.empty())
        return inspectError(
            shown(view.name) + ": " +
                (why.empty() ? "has no code in this form" : why),
            form == CodeForm::Sass && !view.kernel->cpu && !view.kernel->sim
                ? kExitFailed
                : kExitUsage);
    if (view.kernel)
      countCode(program, view, request.forms);
  }
  return print(request, options, cpuOf(*program.artifact, options.machine()),
               views);
}
