//===- Scale.cpp - the step of a trainer on many processes ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/Scale.h"

#include "compiler/inspect/ArtifactFacts.h"

#include "sinter/program_names.h"

#include <map>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

static llvm::Error wrong(const llvm::Twine &text) {
  return llvm::createStringError(text);
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

/// A number of `object` above 0, or `otherwise` if that is not negative.
static llvm::Expected<double> positive(const json::Object &object,
                                       StringRef key, double otherwise = -1) {
  const json::Value *value = object.get(key);
  if (!value && otherwise >= 0)
    return otherwise;
  std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
  if (!number || !(*number > 0))
    return wrong("'" + key + "' must be a number above 0");
  return *number;
}

static llvm::Expected<Fabric::Link> readLink(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return wrong("a link must be an object");
  Fabric::Link link;
  llvm::Expected<double> latency = positive(*object, "latency_us"),
                         rate = positive(*object, "gb_per_s"),
                         processes = positive(*object, "processes", 0);
  for (llvm::Expected<double> *each : {&latency, &rate, &processes})
    if (!*each) {
      llvm::Error error = each->takeError();
      for (llvm::Expected<double> *other : {&latency, &rate, &processes})
        llvm::consumeError(other->takeError());
      return std::move(error);
    }
  link.latencyUs = *latency;
  link.bytesPerUs = *rate * 1000;
  link.processes = static_cast<int64_t>(*processes);
  return link;
}

llvm::Expected<Fabric> Fabric::read(const json::Object &object) {
  constexpr StringRef kKnown[] = {"name", "links", "copy_gb_per_s", "ring"};
  for (const auto &member : object)
    if (!llvm::is_contained(kKnown, StringRef(member.first)))
      return wrong("unknown key '" + StringRef(member.first) + "'");
  Fabric fabric;
  fabric.name = object.getString("name").value_or("a fabric").str();
  fabric.isRing = object.getBoolean("ring").value_or(false);
  llvm::Expected<double> copy = positive(object, "copy_gb_per_s", 0);
  if (!copy)
    return copy.takeError();
  fabric.copyBytesPerUs = *copy * 1000;
  const json::Array *links = object.getArray("links");
  if (!links || links->empty())
    return wrong("'links' must be a list of one link or more");
  for (const json::Value &value : *links) {
    llvm::Expected<Link> link = readLink(value);
    if (!link)
      return link.takeError();
    const bool isLast = &value == &links->back();
    if (isLast != (link->processes == 0))
      return wrong("every link but the last needs 'processes', the number that "
                   "it connects");
    if (!fabric.links.empty() && !isLast &&
        link->processes <= fabric.links.back().processes)
      return wrong("each link must connect more processes than the one before");
    fabric.links.push_back(*link);
  }
  return fabric;
}

llvm::ArrayRef<Fabric::Link> Fabric::linksFor(int64_t world) const {
  size_t count = 1;
  while (links[count - 1].processes && links[count - 1].processes < world)
    ++count;
  return llvm::ArrayRef(links).take_front(count);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Half of an all_reduce: each process sends a part of `bytes` to each other
/// one.
static double phaseUs(const Fabric &fabric, double bytes, int64_t world) {
  const auto count = static_cast<double>(world);
  llvm::ArrayRef<Fabric::Link> links = fabric.linksFor(world);
  double latency = 0, transfer = 0, inner = 1;
  for (const Fabric::Link &link : links) {
    latency = std::max(latency, link.latencyUs);
    const double reached = link.processes
                               ? std::min<double>(double(link.processes), count)
                               : count;
    // Every process of a ring has two neighbours, some of them far away.
    const double parts = fabric.isRing ? count - 1 : reached - inner;
    transfer = std::max(transfer, parts / count * bytes / link.bytesPerUs);
    inner = reached;
  }
  return (fabric.isRing ? count - 1 : 1) * latency + transfer;
}

double compiler::messageUs(const Fabric &fabric, uint32_t op, uint64_t bytes,
                           int64_t world) {
  if (world < 2)
    return 0;
  const auto whole = static_cast<double>(bytes);
  const bool isHalf = op != SINTER_ALL_REDUCE;
  double us = (isHalf ? 1 : 2) * phaseUs(fabric, whole, world);
  // What is sent is staged, parts are summed, and results are copied back.
  if (fabric.copyBytesPerUs > 0)
    us += (isHalf ? 2 : 3) * whole / fabric.copyBytesPerUs;
  return us;
}

PredictedStep compiler::predictStep(llvm::ArrayRef<TimedCommand> commands,
                                    const Fabric &fabric, int64_t world) {
  PredictedStep step;
  step.world = world;
  double isFreeAt = 0; // the link
  std::map<uint32_t, double> arrival;
  for (const TimedCommand &command : commands)
    switch (command.kind) {
    case TimedCommand::Compute:
      step.us += command.us;
      step.computeUs += command.us;
      break;
    case TimedCommand::Send: {
      const double us = messageUs(fabric, command.op, command.bytes, world);
      isFreeAt = std::max(isFreeAt, step.us) + us;
      arrival[command.event] = isFreeAt;
      step.messagesUs += us;
      break;
    }
    case TimedCommand::Await:
      step.us = std::max(step.us, arrival[command.event]);
      break;
    }
  step.waitUs = step.us - step.computeUs;
  return step;
}

//===----------------------------------------------------------------------===//
// The commands of a step
//===----------------------------------------------------------------------===//

/// The times of commands by entry ("" if the profile names none) and number; of
/// a scan with all that its body does.
using Times = std::map<std::pair<std::string, int64_t>, double>;

static llvm::Expected<Times> timesIn(const json::Object &profile) {
  const json::Array *commands = profile.getArray("commands");
  if (!commands || commands->empty())
    return wrong("has no 'commands': it is not what 'trainer --profile --json' "
                 "prints");
  Times times;
  for (const json::Value &value : *commands) {
    const json::Object *command = value.getAsObject();
    std::optional<int64_t> index =
        command ? command->getInteger("index") : std::nullopt;
    std::optional<double> us =
        command ? command->getNumber("us") : std::nullopt;
    if (!index || !us || *us < 0)
      return wrong("a command lacks 'index' or 'us'");
    times[{command->getString("entry").value_or("").str(), *index}] += *us;
  }
  return times;
}

static const sinter_entry *find(const sinter_artifact &artifact,
                                StringRef name) {
  for (const sinter_entry &entry : entries(artifact))
    if (name == entry.name)
      return &entry;
  return nullptr;
}

static llvm::Error addEntry(const sinter_entry &entry, Times &times,
                            std::vector<TimedCommand> &step) {
  for (uint32_t i = 0; i < entry.numCommands; ++i) {
    const sinter_command &command = entry.commands[i];
    TimedCommand timed;
    auto named = times.find({entry.name, i}), unnamed = times.find({"", i});
    auto found = named != times.end() ? named : unnamed;
    if (command.kind == SINTER_CMD_COLLECTIVE) {
      timed.kind = TimedCommand::Send;
      timed.op = command.collective.op;
      timed.event = command.collective.event;
      uint64_t read = 0, written = 0;
      for (uint32_t k = 0; k < command.numSlices; ++k)
        (k < command.numReads ? read : written) += command.slices[k].sizeBytes;
      timed.bytes = std::max(read, written);
    } else if (command.kind == SINTER_CMD_AWAIT) {
      timed.kind = TimedCommand::Await;
      timed.event = command.event;
    } else if (found != times.end()) {
      timed.us = found->second;
    }
    step.push_back(timed);
  }
  for (const auto &[key, us] : times)
    if ((key.first.empty() || key.first == entry.name) &&
        (key.second < 0 || key.second >= int64_t(entry.numCommands)))
      return wrong("has a command " + llvm::Twine(key.second) +
                   ", which this program has not: it is of another program");
  return llvm::Error::success();
}

llvm::Expected<std::vector<TimedCommand>>
compiler::timedStep(const sinter_artifact &artifact,
                    const json::Object &profile) {
  llvm::Expected<Times> times = timesIn(profile);
  if (!times)
    return times.takeError();
  std::vector<TimedCommand> step;
  const bool hasParts = artifact.training->accumulate > 1;
  const sinter_entry *first = find(artifact, hasParts ? SINTER_ENTRY_GRAD
                                                      : SINTER_ENTRY_STEP),
                     *last = hasParts ? find(artifact, SINTER_ENTRY_APPLY)
                                      : nullptr;
  if (!first || (hasParts && !last))
    return wrong("is not a training program");
  // With several entries a profile has a command for each run of its entry.
  for (uint32_t part = 0; part < std::max(1u, artifact.training->accumulate);
       ++part)
    if (llvm::Error error = addEntry(*first, *times, step))
      return std::move(error);
  if (last)
    if (llvm::Error error = addEntry(*last, *times, step))
      return std::move(error);
  return step;
}
