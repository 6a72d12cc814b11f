//===- Targets.cpp - the targets of a compilation -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Targets.h"

#include "compiler/driver/Diagnostics.h"
#include "compiler/options/OptionValues.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

std::vector<passes::DeviceKind>
compiler::kindsOf(llvm::ArrayRef<TargetFactory> targets) {
  std::vector<passes::DeviceKind> kinds;
  for (const TargetFactory &factory : targets)
    kinds.push_back(factory.kind);
  return kinds;
}

std::unique_ptr<passes::Target>
compiler::createTarget(const Options &options, const CompileState &state,
                       llvm::ArrayRef<TargetFactory> targets) {
  StringRef name = state.target;
  for (const TargetFactory &factory : targets) {
    if (factory.kind.name != name)
      continue;
    std::string error;
    std::unique_ptr<passes::Target> target = factory.create(options, error);
    if (!target)
      reportError(options, state, error);
    return target;
  }
  reportError(options, state, "--target=" + name + ": not yet");
  return nullptr;
}

TargetSet::TargetSet(std::unique_ptr<passes::Target> target)
    : main(std::move(target)) {
  if (!main)
    return;
  devices.push_back({main->firstDevice(), main.get()});
}

// Every device that the options name, the default first.
static std::vector<std::string> deviceNames(const Options &options,
                                            const CompileState &state) {
  std::vector<std::string> names = options.devices;
  auto add = [&](StringRef name) {
    std::string device;
    if (readDevice(options, name, device).empty() &&
        !llvm::is_contained(names, device))
      names.push_back(device);
  };
  if (names.empty())
    add(state.target);
  for (const std::string &rule : options.placeRules)
    add(StringRef(rule).rsplit('=').second);
  if (!options.allowCpu.empty())
    add(options.hostKind());
  return names;
}

// If --target lists several devices, --place may name only these GPUs; the CPU
// is always available.
static std::string checkRules(const Options &options) {
  for (const std::string &rule : options.placeRules) {
    std::string device = StringRef(rule).rsplit('=').second.str();
    if (options.devices.size() > 1 && !ir::isHostDevice(device) &&
        !llvm::is_contained(options.devices, device))
      return "--place=" + rule + ": " + device +
             " is not one of --target=" + llvm::join(options.devices, ",");
  }
  return "";
}

TargetSet compiler::createTargets(const Options &options,
                                  const CompileState &state,
                                  llvm::ArrayRef<TargetFactory> factories) {
  TargetSet set;
  if (std::string wrong = checkRules(options); !wrong.empty()) {
    reportError(options, state, wrong);
    return set;
  }
  llvm::StringMap<const passes::Target *> byKind;
  StringRef gpu;
  std::vector<std::string> names = deviceNames(options, state);
  if (names.empty()) // a target without devices
    return TargetSet(createTarget(options, state, factories));
  for (const std::string &name : names) {
    StringRef kind = deviceKind(name);
    if (!ir::isHostDevice(name) && !gpu.empty() && gpu != kind) {
      reportError(options, state,
                  "a program spans the CPU and one kind of GPU, not " + gpu +
                      " and " + kind);
      return {};
    }
    if (!ir::isHostDevice(name))
      gpu = kind;
    const passes::Target *&target = byKind[kind];
    if (!target) {
      std::unique_ptr<passes::Target> made =
          createTarget(options, state.forTarget(kind), factories);
      if (!made)
        return {};
      target = made.get();
      if (!set.main)
        set.main = std::move(made);
      else
        set.others.push_back(std::move(made));
    }
    set.devices.push_back({name, target});
  }
  return set;
}

void compiler::printTargets(llvm::raw_ostream &os,
                            llvm::ArrayRef<TargetFactory> targets) {
  for (const TargetFactory &factory : targets)
    os << llvm::left_justify(factory.kind.name, 8) << factory.description
       << "\n";
}
