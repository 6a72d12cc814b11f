//===- Contracts.cpp - what --require demands of a program ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/Contracts.h"

#include "compiler/import/onnx/Text.h"
#include "ir/Locations.h"
#include "ir/exec/Exec.h"
#include "passes/OpClasses.h"
#include "passes/precision/PrecisionReport.h"

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

/// How much of something an op of a program stands for.
struct Finding {
  Operation *op;
  double amount;
};

/// What is counted in one entry, with where it is.
struct Count {
  double total = 0;
  SmallVector<Finding> findings;

  void add(Operation *op, double amount = 1) {
    if (amount == 0)
      return;
    total += amount;
    findings.push_back({op, amount});
  }
};

/// How a bound is written, and what is compared with it.
enum class Form {
  None,    // nothing may be counted
  Number,  // at most so many
  Bytes,   // at most so many
  Percent, // at least such a share of all multiplications; counted are others
};

struct Row {
  const char *name, *meaning;
  Form form;
  Count (*count)(exec::ProgramOp program);
};

//===----------------------------------------------------------------------===//
// What can be counted
//===----------------------------------------------------------------------===//

template <class... Ops> Count countOps(exec::ProgramOp program) {
  Count count;
  for (Operation &op : program.getBody().front())
    if (isa<Ops...>(op))
      count.add(&op);
  return count;
}

exec::KernelOp kernelOf(exec::LaunchOp launch) {
  return SymbolTable::lookupNearestSymbolFrom<exec::KernelOp>(
      launch->getParentOp(), launch.getKernelAttr());
}

/// Calls `visit` for every op of every kernel that is launched, as often as it
/// is.
void forEachComputed(
    exec::ProgramOp program,
    llvm::function_ref<void(exec::LaunchOp, Operation *)> visit) {
  for (auto launch : program.getBody().getOps<exec::LaunchOp>())
    if (exec::KernelOp kernel = kernelOf(launch))
      kernel.getBody().walk([&](Operation *op) { visit(launch, op); });
}

Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

Count countCasts(exec::ProgramOp program) {
  Count count;
  forEachComputed(program, [&](exec::LaunchOp launch, Operation *op) {
    auto cast = dyn_cast<ir::CastOp>(op);
    if (cast && isa<FloatType>(elementOf(cast.getX())) &&
        isa<FloatType>(elementOf(cast.getResult())))
      count.add(launch);
  });
  return count;
}

/// Anything that is computed in float64.
Count countF64(exec::ProgramOp program) {
  Count count;
  auto isF64 = [](Value value) { return elementOf(value).isF64(); };
  forEachComputed(program, [&](exec::LaunchOp launch, Operation *op) {
    if (llvm::any_of(op->getResults(), isF64))
      count.add(launch);
  });
  for (Operation &op : program.getBody().front())
    if (isa<exec::MatmulOp, exec::ConvOp>(op) &&
        exec::bufferOp(op.getOperand(0))
            .getTensorType()
            .getElementType()
            .isF64())
      count.add(&op);
  return count;
}

double product(ArrayRef<int64_t> sizes) {
  double result = 1;
  for (int64_t size : sizes)
    result *= static_cast<double>(size);
  return result;
}

/// Multiplications of a library call.
double multiplicationsOfCall(Operation *op) {
  if (auto matmul = dyn_cast<exec::MatmulOp>(op))
    return product(matmul.getBatch()) * static_cast<double>(matmul.getM()) *
           static_cast<double>(matmul.getN()) *
           static_cast<double>(matmul.getK());
  if (auto conv = dyn_cast<exec::ConvOp>(op))
    return static_cast<double>(conv.getBatch()) *
           static_cast<double>(conv.getFilters()) *
           static_cast<double>(conv.getChannels()) /
           static_cast<double>(conv.getGroups()) *
           product(conv.getOutputDims()) * product(conv.getKernel());
  if (auto attention = dyn_cast<exec::AttentionOp>(op)) {
    bool isForward =
        attention.getDirection() == exec::AttentionDirection::forward;
    double size = 1;
    for (int64_t factor : {static_cast<int64_t>(attention.getBatch()),
                           static_cast<int64_t>(attention.getNumHeads()),
                           static_cast<int64_t>(attention.getQueries()),
                           static_cast<int64_t>(attention.getKeys()),
                           static_cast<int64_t>(attention.getDepth())})
      size *= static_cast<double>(factor);
    return (isForward ? 2 : 5) * size;
  }
  return 0;
}

/// All multiplications of contractions by the type of their operands.
void forEachContraction(
    exec::ProgramOp program,
    llvm::function_ref<void(Operation *, Type, double)> visit) {
  for (Operation &op : program.getBody().front())
    if (double count = multiplicationsOfCall(&op))
      visit(&op,
            exec::bufferOp(op.getOperand(0)).getTensorType().getElementType(),
            count);
  forEachComputed(program, [&](exec::LaunchOp launch, Operation *op) {
    if (double count = passes::countMultiplyAdds(op))
      visit(launch, elementOf(passes::multiplied(op).first), count);
  });
}

/// Those that are not in one of `types`, which are separated by '|'.
Count countOthers(exec::ProgramOp program, StringRef types) {
  SmallVector<StringRef> names;
  types.split(names, '|');
  Count count;
  forEachContraction(program, [&](Operation *op, Type type, double amount) {
    std::string name;
    llvm::raw_string_ostream(name) << type;
    if (!llvm::is_contained(names, StringRef(name)))
      count.add(op, amount);
  });
  return count;
}

double multiplications(exec::ProgramOp program) {
  double total = 0;
  forEachContraction(
      program, [&](Operation *, Type, double amount) { total += amount; });
  return total;
}

/// The buffers of the arena, the largest first, as what takes the room.
Count countArena(exec::ProgramOp program) {
  Count count;
  for (auto buffer : program.getBody().getOps<exec::BufferOp>())
    if (buffer.getSlice().getSpace() == exec::Space::arena)
      count.findings.push_back(
          {buffer, static_cast<double>(buffer.getSlice().getSize())});
  count.total = static_cast<double>(program.getArenaBytes());
  return count;
}

Count countStates(exec::ProgramOp program) {
  Count count;
  auto module = program->getParentOfType<ModuleOp>();
  for (auto state : module.getOps<ir::StateOp>())
    count.add(state, static_cast<double>(exec::sizeBytes(state.getType())));
  return count;
}

Count countConstants(exec::ProgramOp program) {
  Count count;
  auto module = program->getParentOfType<ModuleOp>();
  for (auto constant : module.getOps<exec::ConstantOp>())
    count.add(constant, static_cast<double>(constant.getSizeBytes()));
  return count;
}

/// What the plan puts on the device: arena, states, constants.
Count countPeak(exec::ProgramOp program) {
  Count count = countArena(program);
  for (const Count &other : {countStates(program), countConstants(program)}) {
    count.total += other.total;
    count.findings.append(other.findings);
  }
  return count;
}

const Row rows[] = {
    {"no-library-calls", "no products, convolutions or attention by a library",
     Form::None,
     countOps<exec::MatmulOp, exec::ConvOp, exec::AttentionOp,
              exec::AllReduceOp>},
    {"no-copies", "no copies between buffers", Form::None,
     countOps<exec::CopyOp>},
    {"no-casts", "no conversions between float types in kernels", Form::None,
     countCasts},
    {"no-f64", "nothing is computed in float64", Form::None, countF64},
    {"kernels", "at most N launches and library calls in a run", Form::Number,
     countOps<exec::LaunchOp, exec::MatmulOp, exec::ConvOp, exec::AttentionOp,
              exec::AllReduceOp>},
    {"launches", "at most N launches of generated kernels in a run",
     Form::Number, countOps<exec::LaunchOp>},
    {"library-calls", "at most N library calls in a run", Form::Number,
     countOps<exec::MatmulOp, exec::ConvOp, exec::AttentionOp,
              exec::AllReduceOp>},
    {"copies", "at most N copies between buffers in a run", Form::Number,
     countOps<exec::CopyOp>},
    {"fills", "at most N buffers that are zeroed in a run", Form::Number,
     countOps<exec::FillOp>},
    {"casts", "at most N conversions between float types in kernels",
     Form::Number, countCasts},
    {"peak", "arena, states and constants take at most SIZE", Form::Bytes,
     countPeak},
    {"arena", "intermediate values take at most SIZE", Form::Bytes, countArena},
    {"states", "parameters and other states take at most SIZE", Form::Bytes,
     countStates},
    {"constants", "constants take at most SIZE", Form::Bytes, countConstants},
    {"bf16-flops", "at least P % of the multiplications are of bfloat16",
     Form::Percent,
     [](exec::ProgramOp program) { return countOthers(program, "bf16"); }},
    {"fp16-flops", "at least P % of the multiplications are of float16",
     Form::Percent,
     [](exec::ProgramOp program) { return countOthers(program, "f16"); }},
    {"16bit-flops", "at least P % of the multiplications are of 16-bit floats",
     Form::Percent,
     [](exec::ProgramOp program) { return countOthers(program, "bf16|f16"); }},
    {"fp32-flops", "at least P % of the multiplications are of float32",
     Form::Percent,
     [](exec::ProgramOp program) { return countOthers(program, "f32"); }},
};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// "8GiB", "512KiB", "100" (bytes).
bool readBytes(StringRef text, double &bytes) {
  double unit = 1;
  for (auto [suffix, factor] : {std::pair("KiB", 1024.0),
                                {"MiB", 1048576.0},
                                {"GiB", 1073741824.0},
                                {"B", 1.0}})
    if (text.consume_back(suffix)) {
      unit = factor;
      break;
    }
  uint64_t whole = 0;
  double number = 0;
  if (!text.getAsInteger(10, whole))
    number = static_cast<double>(whole);
  else if (text.getAsDouble(number) || !std::isfinite(number) || number < 0)
    return false;
  bytes = number * unit;
  return true;
}

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
  case Form::Bytes:
    return readBytes(text, bound);
  case Form::Percent:
    return text.consume_back("%") && !text.getAsDouble(bound) && bound >= 0 &&
           bound <= 100;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Saying
//===----------------------------------------------------------------------===//

std::string bytesText(double bytes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (bytes >= 1073741824.0)
    os << llvm::format("%.2f GiB", bytes / 1073741824.0);
  else if (bytes >= 1048576.0)
    os << llvm::format("%.2f MiB", bytes / 1048576.0);
  else
    os << llvm::format("%.0f bytes", bytes);
  return text;
}

std::string amountText(Form form, double amount) {
  if (form == Form::Bytes)
    return bytesText(amount);
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(form == Form::Percent ? "%.1f %%" : "%.0f", amount);
  return text;
}

/// How people know an op: its ONNX nodes, else its own name.
std::string nameOf(Operation *op) {
  if (auto state = dyn_cast<ir::StateOp>(op))
    return "'" + shown(state.getSymName()) + "'";
  std::string nodes = ir::joinedNodeNames(op->getLoc());
  if (!nodes.empty())
    return "'" + shown(nodes) + "'";
  if (auto launch = dyn_cast<exec::LaunchOp>(op))
    return "kernel " + launch.getKernel().str();
  return op->getName().stripDialect().str();
}

/// The ops that count most, each name once.
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
      text += " " + bytesText(amount);
    else if (row.form == Form::Number && amount > 1)
      text += " (" + amountText(row.form, amount) + ")";
  }
  if (list.size() > kMost)
    text += " and " + std::to_string(list.size() - kMost) + " more";
  return text;
}

/// What a contract is about in one entry: a count, bytes, or a share.
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
             (near.empty() ? "; there are " + llvm::join(names, ", ")
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

json::Object compiler::realisedContracts(ModuleOp module) {
  json::Object object;
  for (const Row &row : rows) {
    // "no-copies" says the same as "copies".
    if (row.form == Form::None && StringRef(row.name) != "no-f64")
      continue;
    std::optional<double> worst;
    for (auto program : module.getOps<exec::ProgramOp>()) {
      double value = realised(row, program, row.count(program));
      worst = !worst                      ? value
              : row.form == Form::Percent ? std::min(*worst, value)
                                          : std::max(*worst, value);
    }
    if (worst)
      object[row.form == Form::None ? "f64-ops" : row.name] = *worst;
  }
  return object;
}
