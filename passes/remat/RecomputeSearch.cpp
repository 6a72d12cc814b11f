//===- RecomputeSearch.cpp - choosing values to compute again -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/remat/RecomputeSearch.h"

#include "passes/remat/Cost.h"
#include "passes/remat/Segments.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

/// The most plans that are tried to find values that need not be dropped.
constexpr unsigned kMaxTrials = 20;

bool isContraction(ir::FusionOpInterface fusion) {
  auto kernel = dyn_cast<ir::KernelOp>(*fusion);
  return !kernel || kernel.getKind() == ir::KernelKind::matmul ||
         kernel.getKind() == ir::KernelKind::conv ||
         kernel.getKind() == ir::KernelKind::rows;
}

class Search {
public:
  Search(Recompute &recompute)
      : graph(recompute.commandGraph()), recompute(recompute),
        candidates(recompute.candidates()), segments(graph, recompute),
        bytesOf(graph.commands.size()) {
    for (const Recompute::Candidate &candidate : candidates)
      bytesOf[candidate.command] += candidate.bytes;
    cheap = cheapRanking();
  }

  /// Searches until the arena takes at most `limitBytes`.
  RecomputeChoice fit(int64_t limitBytes);
  /// Searches for the smallest arena that costs this share of time more.
  RecomputeChoice spend(double share);

private:
  /// Candidates that are dropped, and values that are kept for recomputation.
  struct Choice {
    llvm::BitVector dropped, kept;
  };
  /// Candidates or segments, those with the most bytes per operation first.
  using Ranking = std::vector<unsigned>;

  /// Gives the choice that drops this many entries of a ranking.
  using Series = llvm::function_ref<Choice(size_t)>;

  Choice nothing() const {
    return {llvm::BitVector(candidates.size()),
            llvm::BitVector(graph.buffers.size())};
  }
  bool fits(const Choice &choice);
  bool isInTime(const Choice &choice);
  std::optional<size_t> fewestThatFit(size_t most, Series first);
  bool tryMostInTime(size_t most, Series first);
  Choice withoutCheap(size_t count) const;
  Choice withoutSegments(const Segments::Division &division,
                         ArrayRef<unsigned> whole) const;
  bool searchCheap();
  bool searchSegments(unsigned width);
  void keepWhatFits(Choice choice, ArrayRef<unsigned> order);

  int64_t bytesSaved(unsigned command) const;
  double workPerByte(unsigned candidate) const;
  Ranking rankingByWork() const;
  Ranking cheapRanking() const;
  Ranking rankSegments(const Segments::Division &division) const;
  static Ranking sorted(std::vector<std::pair<double, unsigned>> ranked);
  RecomputeChoice chosen();

  const CommandGraph &graph;
  Recompute &recompute;
  ArrayRef<Recompute::Candidate> candidates;
  int64_t limit = 0;
  double mostTime = std::numeric_limits<double>::infinity(); // of clones
  Segments segments;
  InPlaceAnswers inPlaceAnswers;
  std::vector<int64_t> bytesOf; // of candidates, by command
  Ranking cheap;
  Choice best; // the last that fits, else the smallest
  int64_t bestBytes = std::numeric_limits<int64_t>::max();
};

} // namespace

bool Search::fits(const Choice &choice) {
  Recompute::Outcome outcome = recompute.without(choice.dropped, choice.kept);
  if (outcome.cpuTime > mostTime)
    return false;
  Plan plan = planInOrder(outcome.graph, outcome.order, inPlaceAnswers);
  int64_t bytes = plan.maxLiveBytes;
  if (bytes <= limit || bytes < bestBytes)
    bytes = layOut(plan, graph.devices.size()).bytes.front();
  bool isFit = bytes <= limit;
  if (isFit || (bytes < bestBytes && bestBytes > limit)) {
    best = choice;
    bestBytes = bytes;
  }
  return isFit;
}

/// Finds the fewest of the first `most` entries of a ranking that fit. More
/// entries do not always take less memory: recomputed values take bytes, too.
std::optional<size_t> Search::fewestThatFit(size_t most, Series first) {
  size_t fitting = 0;
  for (unsigned quarters = 4; quarters >= 1 && fitting == 0; --quarters)
    if (size_t count = most * quarters / 4; count > 0 && fits(first(count)))
      fitting = count;
  if (fitting == 0)
    return std::nullopt;
  size_t tooFew = 0;
  while (fitting - tooFew > 1) {
    size_t middle = tooFew + (fitting - tooFew) / 2;
    (fits(first(middle)) ? fitting : tooFew) = middle;
  }
  return fitting;
}

Search::Ranking
Search::sorted(std::vector<std::pair<double, unsigned>> ranked) {
  llvm::sort(ranked);
  Ranking ranking;
  for (auto [work, number] : ranked)
    ranking.push_back(number);
  return ranking;
}

/// The bytes that dropping the results of `command` saves if everything that
/// they are computed from is kept.
int64_t Search::bytesSaved(unsigned command) const {
  int64_t bytes = bytesOf[command];
  for (unsigned read : graph.commands[command].reads) {
    const Buffer &buffer = graph.buffers[read];
    if (buffer.isInArena() && !recompute.isReadAfterTurn(read))
      bytes -= exec::alignedBytes(buffer.bytes());
  }
  return bytes;
}

/// The work of the whole command, whose results are computed together.
double Search::workPerByte(unsigned candidate) const {
  unsigned command = candidates[candidate].command;
  return flopsOf(graph.commands[command].fusion) /
         static_cast<double>(bytesOf[command]);
}

/// Results of generated kernels whose operands take much less memory.
Search::Ranking Search::cheapRanking() const {
  std::vector<std::pair<double, unsigned>> ranked;
  for (auto [number, candidate] : llvm::enumerate(candidates))
    if (!isContraction(graph.commands[candidate.command].fusion) &&
        4 * bytesSaved(candidate.command) > bytesOf[candidate.command])
      ranked.push_back({workPerByte(number), static_cast<unsigned>(number)});
  return sorted(std::move(ranked));
}

/// Drops the first `count` cheap candidates; their operands are kept.
Search::Choice Search::withoutCheap(size_t count) const {
  Choice choice{llvm::BitVector(candidates.size()),
                llvm::BitVector(graph.buffers.size(), true)};
  for (unsigned number : ArrayRef(cheap).take_front(count))
    choice.dropped.set(number);
  return choice;
}

bool Search::searchCheap() {
  std::optional<size_t> count = fewestThatFit(
      cheap.size(), [&](size_t count) { return withoutCheap(count); });
  if (count)
    keepWhatFits(best, cheap);
  return count.has_value();
}

Search::Ranking Search::rankSegments(const Segments::Division &division) const {
  std::vector<double> work(division.count), bytes(division.count, 1);
  for (const Recompute::Candidate &candidate : candidates)
    bytes[division.segmentOf[candidate.command]] +=
        static_cast<double>(candidate.bytes);
  for (auto [number, command] : llvm::enumerate(graph.commands))
    if (command.fusion && recompute.positionOf(number) < recompute.turn())
      work[division.segmentOf[number]] += flopsOf(command.fusion);
  std::vector<std::pair<double, unsigned>> ranked;
  // Results of the last segment are read again right after the turn.
  for (unsigned segment = 0; segment + 1 < division.count; ++segment)
    ranked.push_back({work[segment] / bytes[segment], segment});
  return sorted(std::move(ranked));
}

/// Computes the segments in `whole` again from the values that pass into them;
/// in the others drops only the cheap results.
Search::Choice Search::withoutSegments(const Segments::Division &division,
                                       ArrayRef<unsigned> whole) const {
  llvm::BitVector isWhole(division.count);
  for (unsigned segment : whole)
    isWhole.set(segment);
  Choice choice{llvm::BitVector(candidates.size()), division.boundary};
  for (unsigned number : cheap)
    choice.dropped.set(number);
  for (auto [number, candidate] : llvm::enumerate(candidates))
    if (isWhole.test(division.segmentOf[candidate.command]))
      choice.dropped[number] = !division.boundary.test(candidate.value);
  for (auto [number, buffer] : llvm::enumerate(graph.buffers))
    if (buffer.writer != kNoCommand &&
        !isWhole.test(division.segmentOf[buffer.writer]))
      choice.kept.set(number);
  return choice;
}

bool Search::searchSegments(unsigned width) {
  Segments::Division division = segments.divide(width);
  Ranking ranking = rankSegments(division);
  if (!fewestThatFit(ranking.size(), [&](size_t count) {
        return withoutSegments(division, ArrayRef(ranking).take_front(count));
      }))
    return false;
  keepWhatFits(best, rankingByWork());
  return true;
}

Search::Ranking Search::rankingByWork() const {
  std::vector<std::pair<double, unsigned>> ranked;
  for (unsigned number = 0; number < candidates.size(); ++number)
    ranked.push_back({workPerByte(number), number});
  return sorted(std::move(ranked));
}

/// Keeps dropped candidates if the program still fits, starting with those with
/// the most work per byte.
void Search::keepWhatFits(Choice choice, ArrayRef<unsigned> order) {
  unsigned trials = 0;
  for (unsigned number : llvm::reverse(order)) {
    if (!choice.dropped.test(number))
      continue;
    if (++trials > kMaxTrials)
      return;
    choice.dropped.reset(number);
    if (!fits(choice))
      choice.dropped.set(number);
  }
}

RecomputeChoice Search::chosen() {
  RecomputeChoice choice{recompute.without(best.dropped, best.kept)};
  choice.bytes = layOut(planInOrder(choice.outcome.graph, choice.outcome.order,
                                    inPlaceAnswers),
                        graph.devices.size())
                     .bytes.front();
  return choice;
}

RecomputeChoice Search::fit(int64_t limitBytes) {
  limit = limitBytes;
  if (!fits(nothing()) && !searchCheap())
    for (unsigned width : segments.widths())
      if (searchSegments(width))
        break;
  return chosen();
}

bool Search::isInTime(const Choice &choice) {
  return recompute.without(choice.dropped, choice.kept).cpuTime <= mostTime;
}

/// Tries the longest prefix of a ranking for which there is time, and shorter
/// ones. False if there is time for none.
bool Search::tryMostInTime(size_t most, Series first) {
  size_t count = 0;
  for (size_t tooMany = most + 1; tooMany - count > 1;) {
    size_t middle = count + (tooMany - count) / 2;
    (isInTime(first(middle)) ? count : tooMany) = middle;
  }
  for (unsigned quarters = 4; quarters >= 1; --quarters)
    if (size_t some = count * quarters / 4; some > 0)
      fits(first(some));
  return count > 0;
}

RecomputeChoice Search::spend(double share) {
  double time = 0;
  for (const Command &command : graph.commands)
    if (command.fusion)
      time += cpuTimeOf(command.fusion);
  mostTime = share * time;
  fits(nothing());
  tryMostInTime(cheap.size(),
                [&](size_t count) { return withoutCheap(count); });
  for (unsigned width : segments.widths()) {
    Segments::Division division = segments.divide(width);
    Ranking ranking = rankSegments(division);
    if (!tryMostInTime(ranking.size(), [&](size_t count) {
          return withoutSegments(division, ArrayRef(ranking).take_front(count));
        }))
      break;
  }
  limit = bestBytes + bestBytes / 100;
  keepWhatFits(best, rankingByWork());
  return chosen();
}

RecomputeChoice searchRecompute(Recompute &recompute, int64_t limitBytes) {
  return Search(recompute).fit(limitBytes);
}

RecomputeChoice searchCheapRecompute(Recompute &recompute, double share) {
  return Search(recompute).spend(share);
}

} // namespace sinter::passes::plan
