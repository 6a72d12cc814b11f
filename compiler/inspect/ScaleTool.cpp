//===- ScaleTool.cpp - sinter-inspect scale -------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/Scale.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/ArtifactFacts.h"
#include "compiler/inspect/ArtifactImage.h"
#include "compiler/inspect/InspectOptions.h"
#include "runtime/base/NumberText.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

struct Request {
  std::string trainer, fabric, profile, target;
  std::vector<int64_t> worlds;
  bool json = false;
};

} // namespace

static std::string parse(llvm::ArrayRef<std::string> args, Request &request) {
  for (StringRef text : args) {
    if (text.consume_front("--fabric=")) {
      request.fabric = text.str();
    } else if (text.consume_front("--profile=")) {
      request.profile = text.str();
    } else if (text.consume_front("--target=")) {
      request.target = text.str();
    } else if (text == "--json") {
      request.json = true;
    } else if (text.consume_front("--world=")) {
      llvm::SmallVector<StringRef> numbers;
      text.split(numbers, ',');
      for (StringRef number : numbers)
        if (int64_t world = 0;
            number.getAsInteger(10, world) || world < 1 || world > 1 << 20)
          return "--world=" + shown(text.str()) +
                 ": expected numbers of processes, 1 to 1048576, separated by "
                 "commas";
        else
          request.worlds.push_back(world);
    } else if (text.starts_with("-")) {
      return "scale: unknown option " + shown(text.str()) +
             "; it takes --world, --fabric, --profile, --target and --json";
    } else if (!request.trainer.empty()) {
      return "scale: one trainer at a time";
    } else {
      request.trainer = text.str();
    }
  }
  if (request.trainer.empty() || request.worlds.empty() ||
      request.fabric.empty() || request.profile.empty())
    return "scale: expected TRAINER --world=N,N,.. --fabric=FILE "
           "--profile=FILE, the profile from 'TRAINER --profile --json'";
  return "";
}

static llvm::Expected<json::Object> readObject(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError(shown(path) + ": " +
                                   file.getError().message());
  auto value = json::parse((*file)->getBuffer());
  if (!value)
    return llvm::createStringError(shown(path) + ": " +
                                   llvm::toString(value.takeError()));
  if (json::Object *object = value->getAsObject())
    return std::move(*object);
  return llvm::createStringError(shown(path) + ": is not a JSON object");
}

/// "8 processes at 4 us + 100 GB/s".
static std::string linkText(const Fabric::Link &link) {
  return (link.processes ? std::to_string(link.processes) + " processes"
                         : std::string("all")) +
         llvm::formatv(" at {0:f1} us + {1:f2} GB/s", link.latencyUs,
                       link.bytesPerUs / 1000)
             .str();
}

static std::string assumptions(const sinter_artifact &artifact,
                               const Fabric &fabric,
                               llvm::ArrayRef<int64_t> worlds) {
  std::string text =
      "assumes: one replica in each process, all as fast as the profiled one, "
      "with the same rows in a step;\n";
  const uint32_t replicas = artifact.training->replicas;
  // The number of replicas decides which states are divided, and the sizes of
  // the parts.
  if (numDivided(artifact) && llvm::any_of(worlds, [&](int64_t world) {
        return world != int64_t(replicas);
      }))
    text +=
        "  states divided by " + std::to_string(replicas) +
        ", as --shard was compiled for --replicas=" + std::to_string(replicas) +
        ": with more, parts and\n  updates are smaller, and other states "
        "may stay whole;\n";
  text += "  messages one after the other, beside the commands, as the plan "
          "sends and awaits them;\n";
  text += fabric.isRing
              ? "  a ring: the latencies of its hops, but for the fastest one, "
                "twice, and 2 (N - 1) / N of the bytes at\n  the rate of the "
                "slowest link; "
              : "  each process sends to all others at once: 2 latencies and 2 "
                "(N - 1) / N of the bytes;\n  ";
  return text + "half of both for reduce_scatter and all_gather;\n"
                "  no evaluation, no checkpoints, no waiting for data\n";
}

static void print(const Request &request, const sinter_artifact &artifact,
                  const Fabric &fabric, llvm::ArrayRef<TimedCommand> commands,
                  llvm::ArrayRef<PredictedStep> steps, llvm::raw_ostream &os) {
  uint64_t bytes = 0, messages = 0;
  for (const TimedCommand &command : commands)
    if (command.kind == TimedCommand::Send) {
      bytes += command.bytes;
      ++messages;
    }
  os << shown(request.trainer) << ": " << messages
     << (messages == 1 ? " message of " : " messages of ")
     << rt::bytesText(bytes) << " in all\n"
     << shown(fabric.name) << ":";
  for (const Fabric::Link &link : fabric.links)
    os << (&link == fabric.links.data() ? " " : "; ") << linkText(link);
  os << (fabric.isRing ? "; ring" : "; direct") << "\n\n";
  os << "   world    step ms    compute     messages      waits  efficiency\n";
  for (const PredictedStep &step : steps)
    os << llvm::format("%8lld %10.3f %10.3f %12.3f %10.3f %11.2f\n",
                       static_cast<long long>(step.world), step.us / 1000,
                       step.computeUs / 1000, step.messagesUs / 1000,
                       step.waitUs / 1000,
                       step.us > 0 ? step.computeUs / step.us : 1.0);
  os << "\n" << assumptions(artifact, fabric, request.worlds);
}

static json::Value toJson(const sinter_artifact &artifact, const Fabric &fabric,
                          llvm::ArrayRef<PredictedStep> steps) {
  json::Array list;
  for (const PredictedStep &step : steps)
    list.push_back(json::Object{{"world", step.world},
                                {"step_ms", step.us / 1000},
                                {"compute_ms", step.computeUs / 1000},
                                {"messages_ms", step.messagesUs / 1000},
                                {"wait_ms", step.waitUs / 1000}});
  return json::Object{{"fabric", jsonText(fabric.name)},
                      {"replicas", artifact.training->replicas},
                      {"divided_states", numDivided(artifact)},
                      {"steps", std::move(list)}};
}

/// The program of `image` that `profile` is of.
static llvm::Expected<const sinter_artifact *>
profiledProgram(const ArtifactImage &image, const Request &request,
                const json::Object &profile) {
  auto fail = [](const std::string &file, const llvm::Twine &text) {
    return llvm::createStringError(shown(file) + ": " + text);
  };
  llvm::Expected<std::string> build = profiledBuild(profile);
  if (!build)
    return fail(request.profile, llvm::toString(build.takeError()));
  const sinter_artifact *artifact = nullptr;
  for (const sinter_artifact *each : image.artifacts()) {
    if (!request.target.empty() && request.target != each->target)
      continue;
    if (!artifact || *build == each->buildId)
      artifact = each;
  }
  if (!artifact)
    return fail(request.trainer,
                "was not compiled for " + shown(request.target));
  if (!artifact->training)
    return fail(request.trainer, "is not a trainer");
  if (artifact->training->replicas < 2)
    return fail(request.trainer,
                "has one replica, so its plan sends nothing; compile it with "
                "--replicas=2 or more");
  if (*build != artifact->buildId)
    return fail(request.profile,
                "is of another program, build " + shown(*build) + ", not " +
                    shown(artifact->buildId) + " of " + shown(request.trainer));
  return artifact;
}

int compiler::scaleTrainer(llvm::ArrayRef<std::string> args) {
  Request request;
  if (std::string text = parse(args, request); !text.empty())
    return inspectError(text);
  auto fabricObject = readObject(request.fabric);
  if (!fabricObject)
    return inspectError(llvm::toString(fabricObject.takeError()));
  auto fabric = Fabric::read(*fabricObject);
  if (!fabric)
    return inspectError(shown(request.fabric) + ": " +
                        llvm::toString(fabric.takeError()));
  auto profile = readObject(request.profile);
  if (!profile)
    return inspectError(llvm::toString(profile.takeError()));
  auto image = ArtifactImage::read(request.trainer);
  if (!image)
    return inspectError(shown(request.trainer) + ": " +
                        llvm::toString(image.takeError()));
  auto program = profiledProgram(**image, request, *profile);
  if (!program)
    return inspectError(llvm::toString(program.takeError()));
  const sinter_artifact &artifact = **program;
  auto commands = timedStep(artifact, *profile);
  if (!commands)
    return inspectError(shown(request.profile) + ": " +
                        llvm::toString(commands.takeError()));
  std::vector<PredictedStep> steps;
  for (int64_t world : request.worlds)
    steps.push_back(predictStep(*commands, *fabric, world));
  if (request.json)
    llvm::outs() << toJson(artifact, *fabric, steps) << "\n";
  else
    print(request, artifact, *fabric, *commands, steps, llvm::outs());
  return kExitDone;
}
