//===- Executor.h - one entry of a program, ready to run --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// At load, every slice of every command becomes an address in one table. If the
// device shares the host's memory, only the host's inputs and outputs change
// from run to run: a run patches their addresses and walks the commands. On
// other devices no address changes, so the first run records the commands as a
// graph and later runs start it by one call. A program on several devices is
// walked in each run; events of the plan order the streams within a run, and
// every stream starts a run only after all have ended the previous one. What
// must stay true: run() and start() allocate nothing (once recorded), take no
// lock and throw nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_EXECUTOR_H
#define SINTER_RUNTIME_EXEC_EXECUTOR_H

#include "runtime/collective/Communicator.h"
#include "runtime/exec/CommandWatch.h"
#include "runtime/exec/IndexChecks.h"
#include "runtime/exec/Place.h"
#include "runtime/exec/Profile.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace sinter::rt {

/// Scratch of library calls that run one after the other.
struct ScratchNeeds {
  uint64_t sharedBytes = 0;
  uint64_t perWorkerBytes = 0; // whole pages
  void cover(const ScratchNeeds &other) {
    sharedBytes = std::max(sharedBytes, other.sharedBytes);
    perWorkerBytes = std::max(perWorkerBytes, other.perWorkerBytes);
  }
};

/// What the library chose for a command that the one before it computes, too.
inline constexpr const char *kWithCommandBefore = "with the command before it";

class Executor {
public:
  /// Prepares `entry` of `artifact`, both checked, on `places`, which must not
  /// move. Fails, naming the command's label, if a library cannot do a
  /// contraction.
  static Result<Executor> create(const sinter_artifact &artifact,
                                 const sinter_entry &entry,
                                 std::span<Place> places);

  const sinter_entry &entry() const { return *entry_; }

  /// Adds the collectives; their spans are valid as long as the executor.
  void listCollectives(std::vector<Collective> &all) const {
    for (const PreparedCollective &one : collectives_)
      all.push_back({one.op, one.dtype, one.elements});
  }

  /// The scratch that the prepared calls of this entry want on a stream of a
  /// place. Calls of one stream run one after the other and share it.
  ScratchNeeds scratchNeeds(const Stream &stream) const;
  /// Limits the threads of each call on a stream of `place` so that their
  /// scratch and the shared part of all entries' `needs` fit in
  /// `promisedBytes`; returns the bytes of all workers' scratch.
  /// SINTER_OUT_OF_MEMORY, naming the command, if the scratch of one thread
  /// does not fit.
  Result<uint64_t> shareScratch(Place &place, const Stream &stream,
                                const ScratchNeeds &needs,
                                uint64_t promisedBytes);
  /// Must be called once for each stream of each place after shareScratch() and
  /// before the first run. Each call has a stride of its own in the scratch.
  Status bind(const Place &place, const Stream &stream, Scratch scratch);

  /// For use before the first run, when states have their initial values: times
  /// the library calls on `place` that have several ways, on their own buffers,
  /// which hold random numbers, and selects the fastest way. True if there are
  /// such calls: what commands write (the arena, states, outputs) then has
  /// arbitrary content.
  Result<bool> chooseCalls(Place &place);

  /// Runs all commands and waits for them; only if slots have no inputs of
  /// their own. `inputs` and `outputs` are as for sinter_program_run.
  Status run(const void *const *inputs, void *const *outputs,
             ProfileSink *profile);

  /// Queues all commands on the data of slot `slot`, and a copy of the outputs
  /// to its hostOutputs. All of it then comes before what is queued next on the
  /// places' compute streams. The first run on a device with graphs also waits
  /// for each command, so that an error names it; a run with a profile times
  /// each command, so that those of the gradient stream run with the others.
  Status start(uint32_t slot, ProfileSink *profile) {
    return start(slot, 1, profile);
  }
  /// The same for a series of `runs` runs, on the slots from `slot` on, in a
  /// program on one device. The outputs of consecutive slots are the same
  /// number of bytes apart, and so are their hostOutputs. From one slot, `runs`
  /// is always 1 or the same larger number.
  Status start(uint32_t slot, uint32_t runs, ProfileSink *profile);

  /// Call these when the only place has got more slots, or fewer ones.
  void addSlots(const sinter_artifact &artifact);
  void dropSlots();

  /// SINTER_FAILED if an index of a finished run, whose outputs the caller has,
  /// was out of range. `found` is the runtime's own output; null: that of
  /// run().
  Status checkIndices(const int64_t *found = nullptr);
  /// What the last checkIndices() found.
  const std::optional<IndexFault> &indexFault() const { return indexFault_; }

  /// Destroys the recorded graphs; the next run records anew. No run may be in
  /// flight.
  void dropGraphs() {
    for (auto *graphs : {&graphs_, &seriesGraphs_})
      for (std::unique_ptr<Graph> &graph : *graphs)
        graph.reset();
  }

  /// Reports each command to `watch` from now on; null ends that. The caller
  /// keeps ownership.
  void setWatch(CommandWatch *watch) { watch_ = watch; }

  /// Whether a command on `place` calls its library.
  bool callsLibrary(const Place &place) const;
  /// What the library chose for command `index`; empty for other commands.
  std::string describe(uint32_t index) const;
  /// For an error of a place that shows only after a whole run was queued or
  /// started as a graph: adds "entry 'step' on sim:1 (9 kernels and calls: a;
  /// b; c; ...)", which lists those of that place. An error of a device that
  /// waits for each command is more precise and stays as it is.
  Status named(const Place &place, const Status &status) const;

private:
  struct Step {
    uint32_t kind;
    uint32_t firstBuffer; // in a slot's buffers
    Place *place;
    Stream *stream;
    union {
      uint32_t kernel;     // LAUNCH
      LibraryCall *call;   // MATMUL, CONV
      uint32_t collective; // COLLECTIVE, AWAIT: in `collectives_`
      uint64_t sizeBytes;  // COPY, FILL
      uint32_t event;      // RECORD, WAIT
    };
    int64_t tiles;
    Place *from, *to;   // COPY
    LibraryCall *alone; // in a run with a watch, instead of the call of a chain
  };
  /// An event of the plan. Null if the host's order is enough: a command of the
  /// CPU is done when the call returns.
  struct Mark {
    std::unique_ptr<Event> event;
    const Place *place = nullptr; // that records it
  };
  struct Patch {
    uint32_t buffer; // in the only slot's buffers
    uint32_t index;  // of the input or output
    uint64_t offsetBytes;
  };

  /// One COLLECTIVE. It starts after `ready` on the commands' stream and ends
  /// at `done` on a stream of its own.
  struct PreparedCollective {
    uint32_t op, dtype;
    std::vector<uint64_t> elements; // of whole arrays
    std::unique_ptr<Event> ready, done;
    uint64_t number = 0; // of its last run, for Communicator::await
  };

  Status prepareCollective(const sinter_command &command, Place &place,
                           Step &step);
  Status beginCollective(const Step &step, Stream &stream,
                         void *const *buffers);
  Status prepareCall(const sinter_artifact &artifact, uint32_t index,
                     Step &step);
  Status prepareChain(const sinter_artifact &artifact, uint32_t index,
                      const Step &step);
  Status provideLinks();
  Status prepareEvent(const sinter_command &command, Step &step);
  void addSlot(const sinter_artifact &artifact, uint32_t slot);
  Status fillOperands(uint32_t index);
  void *address(const sinter_artifact &artifact, const Place &place,
                const sinter_slice &slice, uint32_t slot);
  bool spans() const { return places_.size() > 1; }
  Status runCopy(const Step &step, void *to, const void *from);
  Status awaitMark(const Step &step, Stream &stream);
  Status beginRun();
  Status forkGradients();
  Status joinGradients();
  Status endRun(uint32_t slot);
  Status runWaiting(uint32_t slot, ProfileSink &profile);
  /// The stream of a step in a run that waits for each command or times it: all
  /// commands of a place but transfers run in the order of the program.
  static Stream &onlyStream(const Step &step) {
    return step.stream == step.place->gradients.get() ? *step.place->stream
                                                      : *step.stream;
  }
  Status runStep(const Step &step, Stream &stream, uint32_t slot);
  Status runNamed(uint32_t step, Stream &stream, uint32_t slot);
  Status gather(uint32_t slot);
  Status runSteps(uint32_t slot, bool waits);
  Status runTimed(uint32_t slot, ProfileSink &profile);
  Status runWatched(uint32_t slot);
  Status tellWatch(uint32_t step, uint32_t slot);
  Status downloadOutputs(uint32_t slot, uint32_t runs);
  Status downloadOutputs(uint32_t slot, Place &place);
  Status record(uint32_t slot, uint32_t runs, std::unique_ptr<Graph> &graph);
  std::string describe(const Place &place) const;
  Status named(uint32_t step, const Status &status) const;
  Status namedQueued(uint32_t step, const Status &status) const;

  const sinter_entry *entry_ = nullptr;
  Place *main_ = nullptr;               // where runs begin and end
  std::vector<Place *> gradientPlaces_; // with commands on gradient streams
  std::span<Place> places_;
  std::vector<Mark> marksOfPlan_;     // by event
  std::vector<Place *> outputPlaces_; // by output: that writes it
  std::vector<Step> steps_;
  std::vector<std::vector<void *>> buffers_; // by slot
  std::vector<Patch> inputPatches_, outputPatches_;
  uint64_t outputBytes_ = 0; // of the block
  std::span<const sinter_index_check> indexChecks_;
  std::vector<int64_t> indexesFound_; // if slots have no outputs
  std::optional<IndexFault> indexFault_;
  bool hasRun_ = false;
  CommandWatch *watch_ = nullptr;
  std::vector<PreparedCollective> collectives_;
  std::vector<uint32_t> collectiveOf_;               // by the event's number
  std::vector<std::unique_ptr<Graph>> graphs_;       // by slot
  std::vector<std::unique_ptr<Graph>> seriesGraphs_; // by first slot
  std::vector<std::unique_ptr<Event>> marks_;        // of a profile
  /// Null if no library call, or an equal one of an earlier trip of a scan.
  std::vector<std::unique_ptr<LibraryCall>> calls_;
  std::vector<uint32_t> callOf_; // by command: where its call is in `calls_`
  /// While commands are prepared: those with a call of their own, by the
  /// parameters.
  std::unordered_map<const void *, std::vector<uint32_t>> callsOf_;
  /// Memory of SINTER_SPACE_CHAIN, by index; null as long as calls of chains
  /// need none.
  std::vector<std::unique_ptr<void, std::function<void(void *)>>> links_;
  /// While commands are prepared: the last chain, of commands [begin, end).
  struct {
    LibraryChain *call = nullptr; // null: each has its own
    uint32_t begin = 0, end = 0;
  } chain_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_EXECUTOR_H
