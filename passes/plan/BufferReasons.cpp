//===- BufferReasons.cpp - why a buffer takes memory ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/BufferReasons.h"
#include "ir/Provenance.h"
#include "ir/Remarks.h"
#include "passes/plan/Events.h"

using namespace mlir;

namespace sinter::passes::plan {

void explainCommands(exec::ProgramOp program) {
  std::vector<size_t> numbers = commandNumbers(program);
  size_t position = 0;
  for (auto [number, command] :
       llvm::enumerate(program.getBody().getOps<exec::CommandOpInterface>())) {
    if (position == numbers.size() || number != numbers[position])
      continue;
    ++position;
    auto launch = dyn_cast<exec::LaunchOp>(*command);
    ir::explain("plan-memory", "command", command.getLoc(),
                "command " + Twine(number) + " of @" + program.getSymName() +
                    ": " + command->getName().stripDialect() +
                    (launch ? " " : "") +
                    (launch ? launch.getKernel() : StringRef()));
  }
}

void explainBuffers(const CommandGraph &graph, const Plan &plan,
                    const ProgramLayout &layout, exec::ProgramOp program) {
  if (graph.buffers.empty() ||
      !ir::RemarkSink::takesDetails(graph.buffers.front().loc.getContext()))
    return;
  std::vector<int64_t> live = liveBytes(plan.places);
  std::vector<size_t> positionOf(graph.commands.size());
  for (auto [position, command] : llvm::enumerate(plan.order))
    positionOf[command] = position;
  // The number of the command at a position in the order.
  std::vector<size_t> numbers = commandNumbers(program);
  bool hasDevices = graph.devices.size() > 1;
  size_t peak = std::max_element(live.begin(), live.end()) - live.begin();
  for (auto [number, buffer] : llvm::enumerate(graph.buffers)) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "@" << program.getSymName() << ": " << buffer.bytes() << " bytes of "
        << buffer.type << ", ";
    if (buffer.writer != kNoCommand)
      text += "written by command " +
              std::to_string(numbers[positionOf[buffer.writer]]) + ", ";
    unsigned place = plan.placeOf[number];
    if (place == kNoPlace) {
      StringRef space = buffer.slice
                            ? exec::stringifySpace(buffer.slice.getSpace())
                            : StringRef("constant");
      ir::explain("plan-memory", "buffer", buffer.loc,
                  text + space + " memory, outside of the arena");
      continue;
    }
    const Lifetime &life = plan.places[place];
    text +=
        "at " + std::to_string(layout.offsets[place]) + " of the arena" +
        (hasDevices ? " of " + graph.devices[plan.deviceOf[place]].str() : "") +
        ", from command " + std::to_string(numbers[life.first]) + " to " +
        (life.last < numbers.size() ? std::to_string(numbers[life.last])
                                    : "the end");
    bool isAtPeak = life.first <= peak && peak <= life.last;
    if (isAtPeak)
      text += "; at the peak, which is command " +
              std::to_string(numbers[peak]) + " with " +
              std::to_string(live[peak]) + " bytes live" +
              (hasDevices ? " on all devices" : "");
    if (isAtPeak && life.last > peak && life.last < plan.order.size()) {
      const Command &last = graph.commands[plan.order[life.last]];
      text += "; kept for " + ir::joinedProvenance(last.loc);
    }
    ir::explain("plan-memory", isAtPeak ? "peak-buffer" : "buffer", buffer.loc,
                text);
  }
}

} // namespace sinter::passes::plan
