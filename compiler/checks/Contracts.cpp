//===- Contracts.cpp - what --require demands of a program ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/checks/Contracts.h"
#include "compiler/checks/ContractCounts.h"
#include "compiler/options/OptionValues.h"

#include "compiler/base/Text.h"
#include "ir/Provenance.h"
#include "ir/exec/Exec.h"
#include "passes/OpClasses.h"
#include "passes/precision/PrecisionReport.h"
#include "runtime/base/NumberText.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
namespace json = llvm::json;

namespace {

/// How a bound is written, and what is compared with it.
enum class Form {
  None,    // the count must be zero
  Number,  // an upper bound
  Bytes,   // an upper bound
  Percent, // a lower bound of a share of all multiplications; the others are
           // counted
};

struct Row {
  const char *name, *meaning;
  Form form;
  Count (*count)(exec::ProgramOp program);
};

const Row rows[] = {
    {"no-library-calls",
     "no products, convolutions or attention computed by a library, or by the "
     "runtime's loops on a CPU",
     Form::None, countLibraryCalls},
    {"no-copies", "no copies between buffers", Form::None, countCopies},
    {"no-casts", "no conversions between float types in kernels", Form::None,
     countCasts},
    {"no-f64", "nothing is computed in float64", Form::None, countF64},
    {"no-cpu-fallback",
     "in a program for a GPU, only nodes that --place put there are on the CPU",
     Form::None, countFallbacks},
    {"no-host-sync", "the host never waits for a GPU in a run", Form::None,
     countHostSyncs},
    {"kernels",
     "at most N launches, library calls and messages to other replicas in a "
     "run",
     Form::Number, countKernels},
    {"launches", "at most N launches of generated kernels in a run",
     Form::Number, countLaunches},
    {"library-calls", "at most N library calls in a run", Form::Number,
     countLibraryCalls},
    {"copies", "at most N copies between buffers in a run", Form::Number,
     countCopies},
    {"fills", "at most N buffers are zeroed in a run", Form::Number,
     countFills},
    {"casts", "at most N conversions between float types in kernels",
     Form::Number, countCasts},
    {"peak", "arena, states and constants take at most SIZE", Form::Bytes,
     countPeak},
    {"arena", "intermediate values take at most SIZE", Form::Bytes, countArena},
    {"states", "parameters and other states take at most SIZE", Form::Bytes,
     countStates},
    {"constants", "constants take at most SIZE", Form::Bytes, countConstants},
    {"bf16-flops", "at least P % of the multiplications are in bfloat16",
     Form::Percent,
     [](exec::ProgramOp program) { return countOthers(program, "bf16"); }},
    {"fp16-flops", "at least P % of the multiplications are in float16",
     Form::Percent,
     [](exec::ProgramOp program) { return countOthers(program, "f16"); }},
    {"16bit-flops", "at least P % of the multiplications are in 16-bit floats",
     Form::Percent,
     [](exec::ProgramOp program) { return countOthers(program, "bf16|f16"); }},
    {"fp32-flops", "at least P % of the multiplications are in float32",
     Form::Percent,
     [](exec::ProgramOp program) { return countOthers(program, "f32"); }},
};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

std::string formOf(const Row &row) {
  switch (row.form) {
  case Form::None:
    return row.name;
  case Form::Number:
    return std::string(row.name) + ":N";
  case Form::Bytes:
    return std::string(row.name) + ":SIZE";
  case Form::Percent:
    return std::string(row.name) + ":P%";
  }
  return row.name;
}

bool readBound(const Row &row, StringRef text, double &bound) {
  uint64_t number = 0;
  switch (row.form) {
  case Form::None:
    return text.empty();
  case Form::Number:
    if (text.getAsInteger(10, number))
      return false;
    bound = static_cast<double>(number);
    return true;
  case Form::Bytes: {
    int64_t bytes = 0;
    if (!readBytes(text, bytes, 0).empty())
      return false;
    bound = static_cast<double>(bytes);
    return true;
  }
  case Form::Percent:
    return text.consume_back("%") && !text.getAsDouble(bound) && bound >= 0 &&
           bound <= 100;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string amountText(Form form, double amount) {
  if (form == Form::Bytes) {
    // Also exact, because it can be the next bound.
    auto bytes = static_cast<uint64_t>(amount);
    std::string rounded = rt::bytesText(bytes),
                exact = std::to_string(bytes) + " bytes";
    return rounded == exact ? exact : rounded + " (" + exact + ")";
  }
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(form == Form::Percent ? "%.1f %%" : "%.0f", amount);
  return text;
}

/// The name of an op for users: its nodes, else its own name.
std::string nameOf(Operation *op) {
  if (auto state = dyn_cast<ir::StateOp>(op))
    return "'" + shown(state.getSymName()) + "'";
  std::string nodes = ir::joinedProvenance(op->getLoc());
  if (!nodes.empty())
    return "'" + shown(nodes) + "'";
  if (auto launch = dyn_cast<exec::LaunchOp>(op))
    return "kernel " + launch.getKernel().str();
  return op->getName().stripDialect().str();
}

/// The ops that contribute most to the count, each name once.
std::string offenders(const Row &row, const Count &count) {
  llvm::MapVector<std::string, double, std::map<std::string, unsigned>> byName;
  for (const Finding &finding : count.findings)
    byName[nameOf(finding.op)] += finding.amount;
  auto list = byName.takeVector();
  llvm::stable_sort(
      list, [](const auto &x, const auto &y) { return x.second > y.second; });
  constexpr size_t kMost = 5;
  std::string text;
  for (auto &[name, amount] : ArrayRef(list).take_front(kMost)) {
    text += (text.empty() ? "" : ", ") + name;
    if (row.form == Form::Bytes)
      text += " " + rt::bytesText(static_cast<uint64_t>(amount));
    else if (row.form == Form::Number && amount > 1)
      text += " (" + amountText(row.form, amount) + ")";
  }
  if (list.size() > kMost)
    text += " and " + std::to_string(list.size() - kMost) + " more";
  return text;
}

/// The value that a contract bounds, in one entry: a count, bytes, or a share.
double realised(const Row &row, exec::ProgramOp program, const Count &count) {
  if (row.form != Form::Percent)
    return count.total;
  double total = multiplications(program);
  return total > 0 ? 100 * (total - count.total) / total : 100;
}

} // namespace

std::string compiler::readContracts(StringRef text,
                                    std::vector<Contract> &contracts) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, value] = part.split(':');
    auto row =
        llvm::find_if(rows, [&](const Row &r) { return name == r.name; });
    if (row == std::end(rows)) {
      SmallVector<StringRef> names;
      for (const Row &known : rows)
        names.push_back(known.name);
      StringRef near = nearest(name, names);
      return "there is no contract '" + shown(part) + "'" +
             (near.empty() ? "; the contracts are " + llvm::join(names, ", ")
                           : "; did you mean '" + near.str() + "'?");
    }
    Contract contract{part.str(), static_cast<unsigned>(row - rows), 0};
    if ((row->form == Form::None && part.contains(':')) ||
        !readBound(*row, value, contract.bound))
      return "expected " + formOf(*row) + ", got '" + shown(part) + "'";
    contracts.push_back(std::move(contract));
  }
  return "";
}

StringRef compiler::nameOf(const Contract &contract) {
  return rows[contract.kind].name;
}

std::vector<std::pair<std::string, std::string>> compiler::contractTable() {
  std::vector<std::pair<std::string, std::string>> table;
  for (const Row &row : rows)
    table.emplace_back(formOf(row), row.meaning);
  return table;
}

std::vector<std::string> compiler::brokenContracts(ArrayRef<Contract> contracts,
                                                   ModuleOp module) {
  std::vector<std::string> broken;
  for (const Contract &contract : contracts) {
    const Row &row = rows[contract.kind];
    for (auto program : module.getOps<exec::ProgramOp>()) {
      if (program.isPrivate())
        continue; // counted where it runs
      Count count = row.count(program);
      double value = realised(row, program, count);
      bool holds = row.form == Form::Percent ? value >= contract.bound
                                             : value <= contract.bound;
      if (holds)
        continue;
      broken.push_back("--require=" + shown(contract.text) + ": @" +
                       program.getSymName().str() + " has " +
                       amountText(row.form, value) + ", by " +
                       offenders(row, count));
    }
  }
  return broken;
}

/// The name in the manifest for what `row` counts; "" if another row counts the
/// same.
static std::string countedName(const Row &row) {
  if (row.form != Form::None)
    return row.name;
  StringRef name(row.name);
  return name == "no-f64"            ? "f64-ops"
         : name == "no-cpu-fallback" ? "cpu-fallbacks"
         : name == "no-host-sync"    ? "host-syncs"
                                     : "";
}

json::Object compiler::realisedContracts(ModuleOp module) {
  json::Object object;
  for (const Row &row : rows) {
    // "no-copies" counts the same as "copies".
    std::string name = countedName(row);
    if (name.empty())
      continue;
    std::optional<double> worst;
    for (auto program : module.getOps<exec::ProgramOp>()) {
      if (program.isPrivate())
        continue;
      double value = realised(row, program, row.count(program));
      worst = !worst                      ? value
              : row.form == Form::Percent ? std::min(*worst, value)
                                          : std::max(*worst, value);
    }
    if (worst)
      object[name] = *worst;
  }
  return object;
}
