//===- BufferReasons.cpp - why a buffer takes memory ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/BufferReasons.h"
#include "ir/Provenance.h"
#include "ir/Remarks.h"
#include "passes/plan/Events.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

class ProgramReasons {
public:
  /// `prefix`: "15." of the body of command 15; `base`: where its arena is in
  /// that of `entry`.
  ProgramReasons(const WrittenProgram &written, StringRef entry,
                 std::string prefix, int64_t base)
      : program(written.program), graph(written.graph), plan(written.plan),
        layout(written.layout), entry(entry), prefix(std::move(prefix)),
        base(base), numbers(commandNumbers(program)) {}

  void explainCommands() const {
    size_t position = 0;
    exec::ProgramOp own = program;
    for (auto [number, command] :
         llvm::enumerate(own.getBody().getOps<exec::CommandOpInterface>())) {
      if (position == numbers.size() || number != numbers[position])
        continue;
      auto launch = dyn_cast<exec::LaunchOp>(*command);
      ir::explain("plan-memory", "command", command.getLoc(),
                  "command " + numberAt(position) + " of @" + entry + ": " +
                      command->getName().stripDialect() + (launch ? " " : "") +
                      (launch ? launch.getKernel() : StringRef()));
      ++position;
    }
  }

  void explainBuffers() const {
    if (graph.buffers.empty())
      return;
    std::vector<Peak> peaks;
    for (unsigned device = 0; device < numDevices(); ++device)
      peaks.push_back(peakOf(device));
    std::vector<size_t> positionOf(graph.commands.size());
    for (auto [position, command] : llvm::enumerate(plan.order))
      positionOf[command] = position;
    for (auto [number, buffer] : llvm::enumerate(graph.buffers)) {
      unsigned place = plan.placeOf[number];
      if (place == kNoPlace) {
        StringRef space =
            buffer.slice      ? exec::stringifySpace(buffer.slice.getSpace())
            : buffer.constant ? StringRef("constant")
                              : exec::stringifySpace(exec::Space::chain);
        ir::explain("plan-memory", "buffer", buffer.loc,
                    "@" + entry + ": " + contents(buffer, positionOf) + ", " +
                        (isBody() ? "a value of the scan" : space + " memory") +
                        ", outside of the arena");
        continue;
      }
      const Lifetime &life = plan.places[place];
      std::string text = contents(buffer, positionOf) + ", " + span(place);
      const Peak &peak = peaks[deviceOf(place)];
      bool isAtPeak = life.first <= peak.position && peak.position <= life.last;
      if (isAtPeak)
        text += "; at the peak" + ofDevice(deviceOf(place)) +
                (isBody() ? " in a trip" : "") + ", which is command " +
                numberAt(peak.position) + " with " +
                std::to_string(peak.liveBytes) + " bytes live" +
                reader(life, peak.position);
      ir::explain("plan-memory",
                  isAtPeak && !isBody() ? "peak-buffer" : "buffer", buffer.loc,
                  "@" + entry + ": " + text);
    }
    if (!isBody())
      for (unsigned device = 0; device < numDevices(); ++device)
        if (peaks[device].liveBytes)
          explainPeak(device, peaks[device], positionOf);
  }

  std::string numberAt(size_t position) const {
    return prefix + std::to_string(numbers[position]);
  }

private:
  /// Where the most bytes of the arena of one device are live.
  struct Peak {
    size_t position = 0; // of the command in the order
    int64_t liveBytes = 0;
  };
  Peak peakOf(unsigned device) const {
    std::vector<Lifetime> own;
    for (auto [place, life] : llvm::enumerate(plan.places))
      if (deviceOf(place) == device)
        own.push_back(life);
    std::vector<int64_t> live = liveBytes(own);
    auto most = std::max_element(live.begin(), live.end());
    return most == live.end()
               ? Peak()
               : Peak{static_cast<size_t>(most - live.begin()), *most};
  }

  /// Reports what is live at the peak of one device, each place once.
  void explainPeak(unsigned device, const Peak &top,
                   ArrayRef<size_t> positionOf) const {
    const size_t peak = top.position;
    ir::explain("plan-memory", "peak",
                UnknownLoc::get(graph.buffers.front().loc.getContext()),
                "@" + entry + ": the peak" + ofDevice(device) + " is command " +
                    numberAt(peak) + " with " + Twine(top.liveBytes) +
                    " bytes live");
    // A place has the bytes of the last buffer that is written until then.
    llvm::MapVector<unsigned, std::pair<int64_t, unsigned>> holders;
    for (auto [number, buffer] : llvm::enumerate(graph.buffers)) {
      unsigned place = plan.placeOf[number];
      if (place == kNoPlace || deviceOf(place) != device ||
          plan.places[place].first > peak || plan.places[place].last < peak)
        continue;
      int64_t written = buffer.writer == kNoCommand
                            ? -1
                            : static_cast<int64_t>(positionOf[buffer.writer]);
      if (written > static_cast<int64_t>(peak))
        continue;
      auto [holder, isFirst] = holders.insert({place, {written, number}});
      if (!isFirst && written > holder->second.first)
        holder->second = {written, number};
    }
    for (auto &[place, holder] : holders) {
      const Buffer &buffer = graph.buffers[holder.second];
      const Lifetime &life = plan.places[place];
      ir::explain("plan-memory", "live-at-peak", buffer.loc,
                  "@" + entry + ": " + Twine(life.bytes) +
                      " bytes: " + contents(buffer, positionOf) + ", " +
                      span(place) + reader(life, peak));
    }
  }

  bool isBody() const { return !prefix.empty(); }
  bool hasDevices() const { return graph.devices.size() > 1; }
  unsigned numDevices() const {
    return std::max<size_t>(graph.devices.size(), 1);
  }
  unsigned deviceOf(size_t place) const {
    return hasDevices() ? plan.deviceOf[place] : 0;
  }
  /// " of sim:0"; "" in programs on one device.
  std::string ofDevice(unsigned device) const {
    return hasDevices() ? " of " + graph.devices[device].str() : "";
  }

  /// "360 bytes of tensor<5x18xf32>, written by command 5".
  std::string contents(const Buffer &buffer,
                       ArrayRef<size_t> positionOf) const {
    std::string text;
    llvm::raw_string_ostream(text)
        << buffer.bytes() << " bytes of " << buffer.type;
    if (buffer.writer != kNoCommand)
      text += ", written by command " + numberAt(positionOf[buffer.writer]);
    return text;
  }

  /// "at 64 of the arena, from command 5 to 7".
  std::string span(unsigned place) const {
    const Lifetime &life = plan.places[place];
    std::string text =
        "at " + std::to_string(base + layout.offsets[place]) + " of the arena";
    if (hasDevices())
      text += " of " + graph.devices[deviceOf(place)].str();
    return text + ", from command " + numberAt(life.first) + " to " +
           (life.last < numbers.size() ? numberAt(life.last)
            : isBody()                 ? "the end of the trip"
                                       : "the end");
  }

  /// What the bytes are kept for, if that is after the peak.
  std::string reader(const Lifetime &life, size_t peak) const {
    if (life.last <= peak || life.last >= plan.order.size())
      return "";
    const Command &last = graph.commands[plan.order[life.last]];
    std::vector<std::string> names;
    ir::collectProvenance(last.loc, names);
    std::string text = "; kept for command " + numberAt(life.last);
    if (!names.empty())
      text += ": " + names.front();
    if (names.size() > 1)
      text += " and " + std::to_string(names.size() - 1) + " more";
    return text;
  }

  exec::ProgramOp program;
  const CommandGraph &graph;
  const Plan &plan;
  const ProgramLayout &layout;
  StringRef entry;
  std::string prefix;
  int64_t base;
  std::vector<size_t> numbers; // of the command at a position in the order
};

} // namespace

void explainProgram(
    const WrittenProgram &written,
    const llvm::DenseMap<const PlannedBody *, exec::ProgramOp> &bodies) {
  exec::ProgramOp program = written.program;
  if (!ir::RemarkSink::takesDetails(program.getContext()))
    return;
  StringRef entry = program.getSymName();
  ProgramReasons reasons(written, entry, "", 0);
  reasons.explainCommands();
  reasons.explainBuffers();
  for (auto [position, number] : llvm::enumerate(written.plan.order)) {
    const Command &command = written.graph.commands[number];
    if (!command.scan)
      continue;
    const PlannedBody &body = *command.body;
    unsigned scratch = written.plan.placeOf[command.writes.back()];
    ProgramReasons inner({bodies.lookup(&body), body.graph, body.program.plan,
                          body.program.layout},
                         entry, reasons.numberAt(position) + ".",
                         scratch == kNoPlace ? 0
                                             : written.layout.offsets[scratch]);
    inner.explainCommands();
    inner.explainBuffers();
  }
}

} // namespace sinter::passes::plan
