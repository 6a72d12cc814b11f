//===- Scale.cpp - the step of a trainer on many processes ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/Scale.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/ArtifactFacts.h"

#include "sinter/program_names.h"

#include <map>
#include <set>
#include <tuple>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

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

namespace {

/// The times of a profile by entry ("" if it names none), number of the command
/// and, in a scan, of that of its body; -1 elsewhere.
class Times {
public:
  llvm::Error read(const json::Object &profile);
  /// Adds the commands of a run of `entry` to `step`.
  llvm::Error addEntry(const sinter_entry &entry,
                       std::vector<TimedCommand> &step) const;

private:
  using Key = std::tuple<std::string, int64_t, int64_t>;
  std::map<Key, double> times_;
};

} // namespace

llvm::Error Times::read(const json::Object &profile) {
  const json::Array *commands = profile.getArray("commands");
  if (!commands || commands->empty())
    return llvm::createStringError(
        "has no 'commands': it is not what 'trainer --profile --json' "
        "prints");
  constexpr double kMostUs = 1e12; // a year has 3e13
  for (const json::Value &value : *commands) {
    const json::Object *command = value.getAsObject();
    if (!command)
      return llvm::createStringError("a command is not an object");
    std::optional<int64_t> index = command->getInteger("index");
    std::optional<double> us = command->getNumber("us");
    if (!index || !us || !(*us >= 0) || *us > kMostUs)
      return llvm::createStringError(
          "a command has no 'index' or no 'us' from 0 to 1e12");
    const std::string entry = command->getString("entry").value_or("").str();
    const int64_t inBody = command->getInteger("in_body").value_or(-1);
    times_[{entry, *index, inBody}] = *us;
    // What ran together with others is in the time of the first.
    if (const json::Array *with = command->getArray("with"))
      for (const json::Value &each : *with)
        if (std::optional<int64_t> number = each.getAsInteger())
          times_[inBody < 0 ? Key(entry, *number, -1)
                            : Key(entry, *index, *number)] = 0;
  }
  return llvm::Error::success();
}

/// Of a collective.
static TimedCommand sendOf(const sinter_command &command) {
  TimedCommand send;
  send.kind = TimedCommand::Send;
  send.op = command.collective.op;
  send.event = command.collective.event;
  send.bytes = rt::wholeBytes(command);
  return send;
}

llvm::Error Times::addEntry(const sinter_entry &entry,
                            std::vector<TimedCommand> &step) const {
  // Only a profile of several entries names them.
  auto named = times_.lower_bound({entry.name, INT64_MIN, INT64_MIN});
  const bool isNamed =
      named != times_.end() && std::get<0>(named->first) == entry.name;
  const std::string name = isNamed ? entry.name : "";
  std::set<Key> known;
  for (const ShownCommand &command : commands(entry)) {
    const Key key(name, command.index, command.inBody);
    known.insert(key);
    TimedCommand timed;
    if (command.kind == SINTER_CMD_COLLECTIVE) {
      timed = sendOf(command);
    } else if (command.kind == SINTER_CMD_AWAIT) {
      timed.kind = TimedCommand::Await;
      timed.event = command.event;
    } else if (command.kind != SINTER_CMD_SCAN) { // its body has the time
      auto found = times_.find(key);
      if (found == times_.end())
        return llvm::createStringError(
            "has no time of command " + command.number() + " of the entry " +
            entry.name + " (" + shown(command.label) + "): it is not complete");
      timed.us = found->second;
    }
    step.push_back(timed);
  }
  for (const auto &[key, us] : times_)
    if (std::get<0>(key) == name && !known.count(key))
      return llvm::createStringError("has a time of command " +
                                     llvm::Twine(std::get<1>(key)) +
                                     ", which the entry " + entry.name +
                                     " of this program does "
                                     "not have");
  return llvm::Error::success();
}

llvm::Expected<std::string>
compiler::profiledBuild(const json::Object &profile) {
  const json::Object *program = profile.getObject("program");
  std::optional<StringRef> build =
      program ? program->getString("build_id") : std::nullopt;
  if (build)
    return build->str();
  return llvm::createStringError(
      profile.getArray("commands")
          ? "does not say which program it is of; profile the trainer "
            "again with --profile --json"
          : "has no 'commands': it is not what 'trainer --profile "
            "--json' prints");
}

static const sinter_entry *find(const sinter_artifact &artifact,
                                StringRef name) {
  for (const sinter_entry &entry : entries(artifact))
    if (name == entry.name)
      return &entry;
  return nullptr;
}

llvm::Expected<std::vector<TimedCommand>>
compiler::timedStep(const sinter_artifact &artifact,
                    const json::Object &profile) {
  Times times;
  if (llvm::Error error = times.read(profile))
    return std::move(error);
  const uint32_t parts = std::max(1u, artifact.training->accumulate);
  // A time is that of one run of its entry.
  std::vector<StringRef> runs(parts, parts > 1 ? SINTER_ENTRY_GRAD
                                               : SINTER_ENTRY_STEP);
  if (parts > 1)
    runs.push_back(SINTER_ENTRY_APPLY);
  std::vector<TimedCommand> step;
  for (StringRef name : runs) {
    const sinter_entry *entry = find(artifact, name);
    if (!entry)
      return llvm::createStringError("is of a program without the entry " +
                                     name);
    if (llvm::Error error = times.addEntry(*entry, step))
      return std::move(error);
  }
  return step;
}
