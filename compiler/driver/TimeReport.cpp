//===- TimeReport.cpp - where compile time goes ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/TimeReport.h"

#include "compiler/base/Text.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <chrono>
#include <thread>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

class TimeReport::Instrumentation : public mlir::PassInstrumentation {
public:
  Instrumentation(TimeReport &report, StringRef phase)
      : report_(report), phase_(phase.str()) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *) override {
    if (pass->getArgument().empty()) // an adaptor, which runs other passes
      return;
    std::lock_guard<std::mutex> lock(report_.mutex_);
    begun_[std::this_thread::get_id()].push_back(Clock::now());
  }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *) override {
    Clock::time_point now = Clock::now();
    if (pass->getArgument().empty())
      return;
    std::lock_guard<std::mutex> lock(report_.mutex_);
    std::vector<Clock::time_point> &begun = begun_[std::this_thread::get_id()];
    Spent &spent = report_.passes_[phase_][pass->getArgument().str()];
    spent.milliseconds +=
        std::chrono::duration<double, std::milli>(now - begun.back()).count();
    ++spent.runs;
    begun.pop_back();
  }
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override {
    runAfterPass(pass, op);
  }

private:
  using Clock = std::chrono::steady_clock;
  TimeReport &report_;
  std::string phase_;
  /// A thread that waits for others may begin the pass of another function.
  std::map<std::thread::id, std::vector<Clock::time_point>> begun_;
};

void TimeReport::attach(mlir::PassManager &pm, StringRef phase) {
  pm.addInstrumentation(std::make_unique<Instrumentation>(*this, phase));
}

void TimeReport::addKernel(StringRef kernel, double milliseconds) {
  std::lock_guard<std::mutex> lock(mutex_);
  Spent &spent = kernels_[kernel.str()];
  spent.milliseconds += milliseconds;
  ++spent.runs;
}

bool TimeReport::hasPhase(StringRef phase) const {
  return llvm::any_of(phases_,
                      [&](const auto &done) { return done.first == phase; });
}

void TimeReport::clear() {
  phases_.clear();
  passes_.clear();
  kernels_.clear();
}

void TimeReport::print(llvm::raw_ostream &os) const {
  double sum = 0;
  for (auto &[phase, milliseconds] : phases_)
    sum += milliseconds;
  auto printParts = [&](const auto &parts) {
    for (auto &[name, spent] : parts) {
      os << "  " << llvm::left_justify(shown(name, 60), 40)
         << llvm::format("%10.1f ms", spent.milliseconds);
      if (spent.runs > 1)
        os << "  " << spent.runs << " runs";
      os << "\n";
    }
  };
  for (auto &[phase, milliseconds] : phases_) {
    os << llvm::left_justify(phase, 12)
       << llvm::format("%10.1f ms %5.1f %%\n", milliseconds,
                       sum > 0 ? 100 * milliseconds / sum : 0);
    if (auto passes = passes_.find(phase); passes != passes_.end())
      printParts(passes->second);
    if (phase == "kernels") {
      // They are compiled in any order.
      std::vector<std::pair<std::string, Spent>> kernels(kernels_.begin(),
                                                         kernels_.end());
      llvm::stable_sort(kernels, [](const auto &a, const auto &b) {
        return a.second.milliseconds > b.second.milliseconds;
      });
      printParts(kernels);
    }
  }
  os << llvm::left_justify("total", 12) << llvm::format("%10.1f ms\n", sum);
}
