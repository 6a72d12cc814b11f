"""What tools/dev bench prints, and the page that it writes.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import math
import statistics

import peers
import rows
from measure import Reference

METHOD = """\
`tools/dev bench --write` measured these rows and wrote this page. A ratio is the time of a peer
divided by the time of Sinter: above 1, Sinter is faster. All sides of a row have the same weights
and inputs. In inference their outputs agree within {fp32:.0e} in fp32, relative to the largest value.
In bf16 our output is within {bf16:.0e} of that of the network in fp32, root mean square, relative. In
int8 it is not farther from that than a peer's by more than {more:.0%} of its distance. In training
their losses of the first {steps} steps agree with those of PyTorch in float64
within {lossFp32:.0e} in fp32 and {lossBf16:.0e} in bf16, or within {factor} times the distance of
PyTorch in float32, where the network amplifies rounding more. Each side is a process of its own.
Rounds alternate between the sides; a ratio is the median of the ratios of the rounds. The 10th and
90th percentiles are in brackets.

The floor is the least time of the row: the larger of the time of its operations and the time of
reading its weights and activations once. Rates are those of one core, as
`sinter-run --list-devices -v` measures them, times the number of threads. A training step also
writes its states. Tables of which a run reads only some rows are not counted. The first result is
the time from the start of the process and includes what a framework compiles. Sinter's program is
compiled ahead, in the time under "compile".
"""
GROUPS = [("Inference, fp32", lambda row: row.kind == "infer" and row.precision == "fp32"),
          ("Inference, fp32 with --fast-convolutions",
           lambda row: row.kind == "infer" and row.precision == rows.FAST),
          ("Inference, bf16", lambda row: row.kind == "infer" and row.precision == "bf16"),
          ("Inference, 8 and 4 bits",
           lambda row: row.kind == "infer" and row.precision in rows.QUANTIZED),
          ("Training, fp32", lambda row: row.kind == "train" and row.precision == "fp32"),
          ("Training, bf16", lambda row: row.kind == "train" and row.precision == "bf16")]


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def quantile(values, share):
    return values[round(share * (len(values) - 1))]


class Report:
    """Prints rows as they are measured, and counts what the summary says."""

    def __init__(self, say=lambda text: print(text, flush=True)):
        self.say, self.results, self.machine = say, [], []
        self.kept = []  # results of earlier calls, for the page
        self.checks, self.missed, self.failed, self.leftOut = 0, [], {}, []

    def about(self, line):
        """A line about the machine or the run, for the page, too."""
        self.machine.append(line)
        self.say(line)

    def goal(self, name, reached):
        self.checks += 1
        if not reached:
            self.missed.append(name)
        return "" if reached else "  below the goal"

    def fail(self, name, error):
        self.failed[name] = error
        self.say(f"{name:<34} failed: {error}")

    def leave(self, what):
        self.leftOut.append(what)
        self.say(f"left out: {what}")

    # --- rows ---

    def head(self):
        columns = "".join(f" {name:>13}" for name in peers.PEERS.values())
        self.say(f"\n{'peer / sinter':<34} {'sinter, ms':>10} {'x floor':>8}{columns} {'goal':>6}")

    def add(self, result):
        self.results.append(result)
        name = result.row.name
        if result.problems:
            self.fail(name, "; ".join(result.problems))
        else:
            best, goal = result.best(), rows.goalOf(result.row)
            verdict = ""
            if best is not None and goal is not None:
                verdict = self.goal(f"{name}: {best:.2f}x of {goal}x", best >= goal)
            cells = "".join(f" {self.cell(result, peer):>13}" for peer in peers.PEERS)
            self.say(f"{name:<34} {result.medianMs('sinter'):10.3f} {self.overFloor(result):>8}"
                     f"{cells} {goal or '-':>6}{verdict}")
        for peer, why in result.leftOut.items():
            self.leave(f"{name}: {peers.PEERS[peer]}: {why}")

    def cell(self, result, peer):
        if peer not in result.times:
            return "-"
        return f"{statistics.median(result.ratios(peer)):.2f}x"

    def spread(self, result, peer):
        if peer not in result.times:
            return "-"
        ratios = result.ratios(peer)
        return (f"{statistics.median(ratios):.2f} ({quantile(ratios, 0.1):.2f} to"
                f" {quantile(ratios, 0.9):.2f})")

    def overFloor(self, result):
        floor = result.numbers.get("floorMs")
        return f"{result.medianMs('sinter') / floor:.2f}" if floor else "-"

    def measured(self):
        return [result for result in self.results if not result.problems]

    def costs(self):
        """The second table: what comes before and beside the runs."""
        if not self.measured():
            return
        columns = "".join(f" {name:>13}" for name in ["sinter", *peers.PEERS.values()])
        for title, attribute, scale, digits in (("first result, s", "firstS", 1, 2),
                                                ("memory at most, MiB", "bytes", 2**-20, 0)):
            self.say(f"\n{title:<34}{columns}")
            for result in self.measured():
                values = getattr(result, attribute)
                cells = "".join(f" {self.figure(values.get(side), scale, digits):>13}"
                                for side in ["sinter", *peers.PEERS])
                self.say(f"{result.row.name:<34}{cells}")
        columns = "".join(f" {name:>13}" for name in peers.PEERS.values())
        self.say(f"\n{'compile, s':<34} {'sinter':>13}{columns} {'file, MiB':>13}")
        for result in self.measured():
            cells = "".join(f" {self.figure(result.peerCompileS.get(peer), 1, 2):>13}"
                            for peer in peers.PEERS)
            numbers = result.numbers
            self.say(f"{result.row.name:<34} {self.figure(numbers.get('compileS'), 1, 2):>13}"
                     f"{cells} {self.figure(numbers.get('binaryBytes'), 2**-20, 1):>13}")

    @staticmethod
    def figure(value, scale, digits):
        return "-" if value is None else f"{value * scale:.{digits}f}"

    # --- summary ---

    @staticmethod
    def means(results):
        """Lines: of each group, the ratio to the best peer of a row."""
        lines = []
        for title, isIn in GROUPS:
            best = [result.best() for result in results
                    if isIn(result.row) and result.best() is not None]
            if best:
                lines.append(f"{title}, to the best peer: {len(best)} rows, geometric mean"
                             f" {mean(best):.2f}x, lowest {min(best):.2f}x")
        return lines

    def summary(self):
        """Prints it; the exit code."""
        self.say("\nsummary")
        for line in self.means(self.measured()):
            self.say(f"  {line}")
        self.say(f"  goals      {self.checks - len(self.missed)} of {self.checks} reached"
                 + "".join(f"\n    missed: {name}" for name in self.missed))
        self.say(f"  left out   {len(self.leftOut)}")
        self.say(f"  failed     {', '.join(self.failed) or 'nothing'}")
        return 1 if self.failed else 0

    # --- the page ---

    def page(self):
        """The text of docs/benchmarks.md, with all rows in the order of the table."""
        order = {row: place for place, row in enumerate(rows.allRows())}
        results = sorted(self.kept + self.results,
                         key=lambda result: order.get(result.row, len(order)))
        versions, dates = {}, sorted({result.date for result in results})
        for result in results:
            versions.update(result.versions)
        measured = [result for result in results if not result.problems]
        lines = ["# Benchmarks on the CPU", "",
                 "Measured on " + " and ".join(dict.fromkeys([dates[0], dates[-1]])) + ".", "",
                 *(f"- {line}" for line in self.machine),
                 *(f"- {peers.PEERS[peer]} {text}" for peer, text in sorted(versions.items())),
                 "", METHOD.format(
                     steps=rows.FIRST_STEPS, factor=Reference.FACTOR, more=rows.MORE_ERROR, **rows.TOLERANCE,
                     lossFp32=rows.LOSS_TOLERANCE["fp32"], lossBf16=rows.LOSS_TOLERANCE["bf16"])]
        lines += [f"- {line}" for line in self.means(measured)]
        for title, isIn in GROUPS:
            found = [result for result in measured if isIn(result.row)]
            if found:
                lines += ["", f"## {title}", "", *self.speeds(found), "", *self.costRows(found)]
        failed = {result.row.name: "; ".join(result.problems) for result in results
                  if result.problems} | self.failed
        if failed:
            lines += ["", "## Failed", ""]
            lines += [f"- {name}: {why}" for name, why in failed.items()]
        leftOut = [f"{result.row.name}: {peers.PEERS[peer]}: {why}" for result in self.kept
                   for peer, why in result.leftOut.items()] + self.leftOut
        if leftOut:
            lines += ["", "## Left out", "", *(f"- {what}" for what in leftOut)]
        return "\n".join(lines) + "\n"

    def speeds(self, results):
        yield "| row | Sinter, ms | of the floor | " + " | ".join(peers.PEERS.values()) + " |"
        yield "|---" * (3 + len(peers.PEERS)) + "|"
        for result in results:
            cells = [result.row.name, f"{result.medianMs('sinter'):.3f}", self.overFloor(result),
                     *(self.spread(result, peer) for peer in peers.PEERS)]
            yield "| " + " | ".join(cells) + " |"

    def costRows(self, results):
        """First results and memory: Sinter's, then those of the peers in their order."""
        yield ("| row | compile, s | file, MiB | first result, s: Sinter; "
               + ", ".join(peers.PEERS.values()) + " | memory, MiB, the same |")
        yield "|---" * 5 + "|"
        for result in results:
            def each(values, scale, digits):
                cells = [self.figure(values.get(side), scale, digits)
                         for side in ["sinter", *peers.PEERS]]
                return cells[0] + "; " + ", ".join(cells[1:])
            numbers = result.numbers
            yield (f"| {result.row.name} | {self.figure(numbers.get('compileS'), 1, 2)}"
                   f" | {self.figure(numbers.get('binaryBytes'), 2**-20, 1)}"
                   f" | {each(result.firstS, 1, 2)} | {each(result.bytes, 2**-20, 0)} |")
