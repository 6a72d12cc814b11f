//===- GraphFormats.cpp - programs for other viewers ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/page/GraphFormats.h"

#include "compiler/inspect/JsonText.h"
#include "compiler/inspect/page/OpText.h"
#include "ir/Provenance.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

static std::string joined(const std::vector<std::string> &nodes) {
  return utf8(llvm::join(nodes, ","));
}

// "exec.matmul" of "exec.matmul(%, %) -> % ...".
static StringRef kindOf(const OpText &op) {
  return StringRef(op.text).take_until(
      [](char c) { return c == ' ' || c == '(' || c == '{'; });
}

// What a command does: "all_reduce" of "exec.collective all_reduce over ...",
// "matmul" of "exec.matmul(...".
static StringRef commandOf(const OpText &op) {
  StringRef kind = kindOf(op);
  if (kind == "exec.collective")
    return StringRef(op.text)
        .drop_front(kind.size())
        .ltrim()
        .take_until([](char c) { return c == ' '; });
  kind.consume_front("exec.");
  return kind;
}

// 2 of "exec.await event 2" and of "exec.collective ... event 2(...".
static unsigned eventOf(const OpText &op) {
  StringRef text = StringRef(op.text).split(" event ").second;
  unsigned event = 0;
  text.consumeInteger(10, event);
  return event;
}

static bool isHead(const OpText &op) {
  return StringRef(op.text).starts_with("^");
}

// Whether `text` is of a function or a planned program.
static bool isGraph(StringRef text) {
  return text.starts_with("func.func") || text.starts_with("exec.program");
}

// Where the operands that a command writes begin: those behind "->".
static unsigned numReads(const OpText &op) {
  return StringRef(op.text).split("->").first.count('%');
}

//===----------------------------------------------------------------------===//
// Model Explorer
//===----------------------------------------------------------------------===//

namespace {

/// One graph of Model Explorer.
class ExplorerGraph {
public:
  explicit ExplorerGraph(StringRef text) : ops_(readOps(text)) {}
  void write(json::OStream &out, StringRef id);

private:
  void addEdges(unsigned i);
  void node(json::OStream &out, unsigned i);
  std::string namespaceOf(unsigned i) const;

  std::vector<OpText> ops_;
  std::vector<unsigned> parents_;
  std::vector<std::vector<ValueUse>> edges_; // into each op
};

} // namespace

// An argument of a kernel's block is the operand of the kernel. The writer of a
// buffer is the source for its readers.
void ExplorerGraph::addEdges(unsigned i) {
  const OpText &op = ops_[i];
  bool isCommand = kindOf(op).starts_with("exec.");
  for (auto [k, use] : llvm::enumerate(op.operands)) {
    if (isCommand && k >= numReads(op))
      break;
    ValueUse source = use;
    for (unsigned hops = 0; hops < 8 && source.number < 0; ++hops) {
      unsigned owner =
          isHead(ops_[source.op]) ? parents_[source.op] : source.op;
      size_t place = -1 - source.number;
      if (owner == source.op || place >= ops_[owner].operands.size())
        break;
      source = ops_[owner].operands[place];
    }
    if (source.op != i && source.number >= 0)
      edges_[i].push_back(source);
  }
  if (!isCommand || kindOf(op) == "exec.buffer")
    return;
  // Later reads of the buffer read the result of this command.
  for (unsigned k = numReads(op); k < op.operands.size(); ++k)
    for (unsigned j = i + 1; j < ops_.size(); ++j)
      for (ValueUse &use : ops_[j].operands)
        if (use == op.operands[k] && use.op != i)
          use = {i, static_cast<int>(k)};
}

std::string ExplorerGraph::namespaceOf(unsigned i) const {
  const OpText &op = ops_[i];
  if (op.depth > 1 && parents_[i] != i) {
    unsigned parent = parents_[i];
    std::string around = namespaceOf(parent);
    return around + (around.empty() ? "" : "/") +
           utf8(kindOf(ops_[parent]).split('.').second) + " " +
           std::to_string(parent);
  }
  if (op.nodes.empty())
    return "";
  StringRef name = ir::nodeOfName(op.nodes.front()).trim('/');
  return utf8(name.contains('/') ? name.rsplit('/').first : StringRef());
}

void ExplorerGraph::node(json::OStream &out, unsigned i) {
  const OpText &op = ops_[i];
  out.attribute("id", std::to_string(i));
  out.attribute("label", kindOf(op) == "exec.collective"
                             ? ("exec." + commandOf(op)).str()
                             : utf8(kindOf(op)));
  out.attribute("namespace", namespaceOf(i));
  out.attributeArray("incomingEdges", [&] {
    for (auto [k, source] : llvm::enumerate(edges_[i]))
      out.object([&] {
        out.attribute("sourceNodeId", std::to_string(source.op));
        out.attribute("sourceNodeOutputId", std::to_string(source.number));
        out.attribute("targetNodeInputId", std::to_string(k));
      });
  });
  out.attributeArray("attrs", [&] {
    for (auto [key, value] :
         {std::pair("nodes", joined(op.nodes)), std::pair("op", utf8(op.text))})
      out.object([&, key = key, value = value] {
        out.attribute("key", key);
        out.attribute("value", value);
      });
  });
}

void ExplorerGraph::write(json::OStream &out, StringRef id) {
  edges_.resize(ops_.size());
  parents_.resize(ops_.size());
  std::vector<unsigned> around; // by depth
  for (auto [i, op] : llvm::enumerate(ops_)) {
    around.resize(op.depth, 0);
    parents_[i] = around.empty() ? i : around.back();
    around.push_back(i);
  }
  for (unsigned i = 0; i < ops_.size(); ++i)
    addEdges(i);
  out.attribute("id", utf8(id));
  out.attributeArray("nodes", [&] {
    for (unsigned i = 0; i < ops_.size(); ++i)
      if (ops_[i].depth && !isHead(ops_[i]))
        out.object([&] { node(out, i); });
  });
}

void compiler::writeModelExplorer(const std::vector<PageProgram> &programs,
                                  llvm::raw_ostream &os) {
  json::OStream out(os);
  auto graphsOf = [&](const Trace &trace, StringRef prefix) {
    std::map<std::string, std::string> changed; // in this phase
    for (size_t i = 0; i < trace.steps.size(); ++i) {
      const TraceStep &step = trace.steps[i];
      for (const TraceChange &change : step.changes)
        changed[change.symbol] = change.text;
      if (i + 1 < trace.steps.size() && trace.steps[i + 1].phase == step.phase)
        continue;
      for (const auto &[symbol, text] : changed)
        if (isGraph(text))
          out.object([&] {
            ExplorerGraph(text).write(
                out, (prefix + step.phase + " @" + symbol).str());
          });
      changed.clear();
    }
  };
  out.object([&] {
    out.attribute("label", utf8(programs.front().title));
    out.attributeArray("graphs", [&] {
      for (const PageProgram &program : programs)
        graphsOf(program.trace,
                 programs.size() > 1 ? program.title + " " : std::string());
    });
  });
}

//===----------------------------------------------------------------------===//
// Trace events
//===----------------------------------------------------------------------===//

namespace {
struct Buffer {
  unsigned place;
  int64_t bytes;
  unsigned first = ~0u, last = 0; // commands
};
} // namespace

// "exec.buffer arena[0] 27648 + 6912 : type"
static std::optional<Buffer> arenaBuffer(const OpText &op) {
  StringRef text = op.text;
  Buffer buffer;
  uint64_t offset = 0;
  if (!text.consume_front("exec.buffer arena[") ||
      text.consumeInteger(10, buffer.place) || !text.consume_front("] ") ||
      text.consumeInteger(10, offset) || !text.consume_front(" + ") ||
      text.consumeInteger(10, buffer.bytes))
    return std::nullopt;
  return buffer;
}

// The commands of a program and its buffers in arenas. Those of a message live
// until its await.
static std::vector<const OpText *>
commandsOf(const std::vector<OpText> &ops,
           std::map<unsigned, Buffer> &buffers) {
  std::vector<const OpText *> commands;
  std::map<unsigned, std::vector<Buffer *>> sent; // by event
  for (auto [i, op] : llvm::enumerate(ops)) {
    if (op.depth != 1)
      continue;
    if (kindOf(op) == "exec.buffer") {
      if (std::optional<Buffer> buffer = arenaBuffer(op))
        buffers[i] = *buffer;
      continue;
    }
    for (ValueUse use : op.operands)
      if (auto found = buffers.find(use.op); found != buffers.end()) {
        Buffer &buffer = found->second;
        buffer.first = std::min<unsigned>(buffer.first, commands.size());
        buffer.last = commands.size();
        if (kindOf(op) == "exec.collective")
          sent[eventOf(op)].push_back(&buffer);
      }
    if (kindOf(op) == "exec.await")
      for (Buffer *buffer : sent[eventOf(op)])
        buffer->last = commands.size();
    commands.push_back(&op);
  }
  return commands;
}

// A number in the attributes of a command, which end its text: 1 of "exec.place
// = 1 : i64"; 0 if it is not there.
static unsigned numberOf(const OpText &op, StringRef attribute) {
  StringRef text = StringRef(op.text).rsplit('{').second;
  unsigned number = 0;
  size_t at = text.find((attribute + " = ").str());
  if (at == StringRef::npos)
    return 0;
  text = text.drop_front(at + attribute.size() + 3);
  return text.consumeInteger(10, number) ? 0 : number;
}

namespace {

/// The events of one program: a process for each device, a thread for each of
/// its streams.
class EventWriter {
public:
  EventWriter(json::OStream &out, const PageProgram &program)
      : out_(out), program_(program) {}
  /// Returns the number of processes, which begin at `pid`.
  unsigned write(StringRef symbol, StringRef text, unsigned pid);

private:
  void name(StringRef what, const std::string &name, unsigned pid,
            std::optional<unsigned> tid = std::nullopt);
  void command(unsigned number, const OpText &op, unsigned pid, double time,
               double duration);
  void live(int64_t bytes, unsigned pid, double time);

  json::OStream &out_;
  const PageProgram &program_;
};

} // namespace

void EventWriter::name(StringRef what, const std::string &name, unsigned pid,
                       std::optional<unsigned> tid) {
  out_.object([&] {
    out_.attribute("name", what);
    out_.attribute("ph", "M");
    out_.attribute("pid", pid);
    if (tid)
      out_.attribute("tid", *tid);
    out_.attributeObject("args", [&] { out_.attribute("name", utf8(name)); });
  });
}

void EventWriter::command(unsigned number, const OpText &op, unsigned pid,
                          double time, double duration) {
  out_.object([&] {
    StringRef kind = commandOf(op);
    out_.attribute("name", op.nodes.empty() ? utf8(kind) : joined(op.nodes));
    out_.attribute("cat", utf8(kind));
    out_.attribute("ph", "X");
    out_.attribute("ts", time);
    out_.attribute("dur", duration);
    out_.attribute("pid", pid);
    out_.attribute("tid", numberOf(op, "exec.stream"));
    out_.attributeObject("args", [&] {
      out_.attribute("command", int64_t(number));
      out_.attribute("op", utf8(op.text));
    });
  });
}

void EventWriter::live(int64_t bytes, unsigned pid, double time) {
  out_.object([&] {
    out_.attribute("name", "arena");
    out_.attribute("ph", "C");
    out_.attribute("ts", time);
    out_.attribute("pid", pid);
    out_.attributeObject("args", [&] { out_.attribute("live bytes", bytes); });
  });
}

unsigned EventWriter::write(StringRef symbol, StringRef text, unsigned pid) {
  std::vector<OpText> ops = readOps(text);
  std::map<unsigned, Buffer> buffers;
  std::vector<const OpText *> commands = commandsOf(ops, buffers);
  // A profile is of one program; its last command has the last time.
  const std::vector<double> &micros = program_.commandMicros;
  const bool isProfiled =
      micros.size() == commands.size() &&
      (program_.profiledEntry.empty() || symbol == program_.profiledEntry);
  unsigned numPlaces = 1;
  std::set<std::pair<unsigned, unsigned>> streams; // (place, stream)
  for (const OpText *op : commands) {
    const unsigned place = numberOf(*op, "exec.place");
    numPlaces = std::max(numPlaces, place + 1);
    streams.emplace(place, numberOf(*op, "exec.stream"));
  }
  for (unsigned place = 0; place < numPlaces; ++place)
    name("process_name",
         ("@" + symbol).str() +
             (numPlaces > 1 ? " on " + program_.deviceName(place) : "") +
             (isProfiled ? "" : ", 1 us for each command"),
         pid + place);
  constexpr const char *kStreams[] = {"compute", "transfers",
                                      "gradients of weights"};
  for (auto [place, stream] : streams)
    name("thread_name",
         stream < std::size(kStreams) ? kStreams[stream]
                                      : "stream " + std::to_string(stream),
         pid + place, stream);
  double time = 0;
  for (auto [i, op] : llvm::enumerate(commands)) {
    const double duration = isProfiled ? micros[i] : 1;
    command(i, *op, pid + numberOf(*op, "exec.place"), time, duration);
    std::vector<int64_t> bytes(numPlaces);
    for (auto &[id, buffer] : buffers)
      if (buffer.first <= i && i <= buffer.last && buffer.place < numPlaces)
        bytes[buffer.place] += buffer.bytes;
    for (unsigned place = 0; place < numPlaces; ++place)
      live(bytes[place], pid + place, time);
    time += duration;
  }
  return numPlaces;
}

void compiler::writeTraceEvents(const PageProgram &program,
                                llvm::raw_ostream &os) {
  json::OStream out(os);
  EventWriter writer(out, program);
  out.object([&] {
    out.attributeArray("traceEvents", [&] {
      unsigned pid = 0;
      for (const auto &[symbol, text] :
           program.trace.before(program.trace.steps.size()))
        if (StringRef(text).starts_with("exec.program"))
          pid += writer.write(symbol, text, pid);
    });
  });
}

// The sizes in "exec.program @main("x" : tensor<8x3xf32>, ...) -> ...".
static InputSizes inputsOfHead(StringRef text) {
  InputSizes inputs;
  while (!text.empty() && !text.starts_with("->")) {
    if (text.consume_front("\"")) { // a name, which may hold anything
      while (!text.empty() && !text.starts_with("\""))
        text = text.drop_front(text.starts_with("\\") ? 2 : 1);
      text = text.drop_front(text.empty() ? 0 : 1);
      continue;
    }
    if (!text.consume_front("tensor<")) {
      text = text.drop_front();
      continue;
    }
    std::vector<int64_t> &sizes = inputs.emplace_back();
    for (int64_t size = 0; !text.consumeInteger(10, size);) {
      sizes.push_back(size);
      text.consume_front("x");
    }
  }
  return inputs;
}

std::vector<PlannedProgram> compiler::plannedPrograms(const Trace &trace) {
  std::vector<PlannedProgram> programs;
  for (const auto &[symbol, text] : trace.before(trace.steps.size()))
    if (StringRef(text).starts_with("exec.program")) {
      std::vector<OpText> ops = readOps(text);
      std::map<unsigned, Buffer> buffers;
      programs.push_back(
          {symbol, commandsOf(ops, buffers).size(), inputsOfHead(text)});
    }
  return programs;
}
