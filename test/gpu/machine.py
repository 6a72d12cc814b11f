"""Measures the machine: figures for open questions of the design.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Times are those that sinter-run --profile takes by the device's events, the mean of ten runs;
rates of generated kernels count each input and output once, and are compared with a copy that
is measured in the same process.
"""

import json
import statistics

import device
import programs

GROUP = "machine"
CHAIN = 100


def measured(small):
    yield "product", programs.product(64 if small else 8192)
    for program in programs.kernels(small):
        yield "kernel", program
    for program in programs.gelus(small):
        yield "gelu", program
    for program in programs.attentions(small):
        yield "attention", program
    for count in (1, CHAIN):
        yield "chain", programs.chain(count)


def prepare(bundle):
    def make(entry):
        kind, program = entry
        file = f"machine/{programs.fileName(program.name)}.so"
        bundle.compileText(program, file)
        return {"kind": kind, "name": program.name, "file": file, "bytes": program.sizeBytes,
                "flops": program.flops}
    bundle.write("machine", bundle.inParallel(make, list(measured(bundle.small))))


class Profile:
    """What sinter-run --profile --json says."""

    def __init__(self, text, taken):
        report = json.loads(text)
        self.taken = taken
        self.commands = sorted(report["commands"], key=lambda line: line["index"])
        self.us = sum(line["us"] for line in self.commands)
        self.copy = report.get("copy_gb_per_s", 0.0)
        self.ceilings = {key: report[key] for key in
                         ("copy_gb_per_s", "fp32_tflop_per_s", "bf16_tflop_per_s") if key in report}

    def of(self, kind):
        """Microseconds of each command of a kind, in order."""
        return [line["us"] for line in self.commands if line["kind"] == kind]


def profile(context, entry):
    done = context.attempt(GROUP, entry["name"], context.runner(
        entry["file"], "random:seed=0", "--profile", "--json"), 90)
    return Profile(*done) if done else None


def copy(results, found):
    """The rate of a copy, from any profile."""
    results.add(GROUP, "copy on the device", "measured" if found.copy else "failed", 0,
                f"{found.copy:.4g} GB/s, read and written", gb_per_s=found.copy)


def product(context, results, entry):
    """The ceilings, and a product by the program itself, on random data."""
    device.clocks(context, "before the product")
    found = profile(context, entry)
    if not found:
        return
    copy(results, found)
    rate = entry["flops"] / found.us / 1e6
    results.add(GROUP, entry["name"], "measured", found.taken,
                f"{rate:.4g} TFLOP/s; ceilings: " + ", ".join(
                    f"{key[:4]} {value:.4g}" for key, value in found.ceilings.items()
                    if "tflop" in key), us=found.us, tflop_per_s=rate, **found.ceilings)
    device.clocks(context, "after the product")


def kernel(context, results, entry):
    found = profile(context, entry)
    if not found:
        return
    rate = entry["bytes"] / found.us / 1e3
    share = rate / found.copy if found.copy else 0.0
    results.add(GROUP, entry["name"], "measured", found.taken,
                f"{rate:.4g} GB/s, {100 * share:.0f} % of a copy, {len(found.commands)} kernels",
                us=found.us, bytes=entry["bytes"], gb_per_s=rate, copy_gb_per_s=found.copy,
                share_of_copy=share, commands=[line["us"] for line in found.commands])


def gelu(context, results, entries):
    """Epilogues beside a call and a kernel, forward and back."""
    fused, *separate = [profile(context, entry) for entry in entries]
    for i, name in enumerate(("GELU", "dGELU")):
        if not (fused and separate[i]):
            continue
        together, apart = fused.of("matmul")[i], separate[i].us
        results.add(GROUP, f"{name}, fused against separate", "measured",
                    fused.taken + separate[i].taken,
                    f"{together:.4g} us in the call, {apart:.4g} us apart: {apart / together:.2f}x",
                    fused_us=together, separate_us=apart, ratio=apart / together,
                    product_us=separate[i].of("matmul")[0],
                    fused_tflop_per_s=entries[0]["flops"] / together / 1e6)


def attention(context, results, entry):
    found = profile(context, entry)
    if not found:
        return
    times = found.of("attention")
    if len(times) != 2:
        return results.add(GROUP, entry["name"], "failed", found.taken,
                           f"{len(times)} calls of attention, not 2")
    # Two products forward, five backward.
    rates = [entry["flops"] / times[0] / 1e6, 2.5 * entry["flops"] / times[1] / 1e6]
    return results.add(GROUP, entry["name"], "measured", found.taken,
                       f"forward {times[0]:.4g} us, {rates[0]:.4g} TFLOP/s; "
                       f"backward {times[1]:.4g} us, {rates[1]:.4g}",
                       forward_us=times[0], backward_us=times[1],
                       forward_tflop_per_s=rates[0], backward_tflop_per_s=rates[1])


def chain(context, results, entries):
    """Runs of one kernel and of a hundred, each a graph with its copies in and out: as they are,
    and without launches that begin early."""
    name, begin = f"a graph of {CHAIN} small kernels", results.seconds()

    def median(entry, environment):
        done = context.attempt(GROUP, name, context.runner(
            entry["file"], "random:seed=0", "--bench", "--warmup=200ms",
            f"--duration={'100ms' if context.small else '1s'}", "--json"), 60, env=environment)
        return 1e3 * json.loads(done[0])["median_ms"] if done else None
    medians = []
    for environment in (context.environment,
                        {**context.environment, "SINTER_DEBUG": "serial-launches"}):
        for entry in entries:
            medians.append(median(entry, environment))
            if medians[-1] is None:
                return
    each, serial = ((medians[i + 1] - medians[i]) / (CHAIN - 1) for i in (0, 2))
    streamed = profile(context, entries[1])
    alone = statistics.median(line["us"] for line in streamed.commands) if streamed else None
    results.add(GROUP, name, "measured", results.seconds() - begin,
                f"{each:.3g} us a kernel in a run of {medians[1]:.4g} us; {serial:.3g} us where "
                "each begins after the one before it", us_per_kernel=each, run_us=medians[1],
                run_of_one_us=medians[0], us_per_serial_kernel=serial, us_launched_alone=alone)


def run(context, results):
    def entries(kind):
        return [entry for entry in context.list("machine") if entry["kind"] == kind]

    def guarded(measure, name, given):
        """What one row misses does not cost the others."""
        try:
            measure(context, results, given)
        except (ArithmeticError, LookupError, ValueError) as error:
            results.add(GROUP, name, "failed", 0, f"{type(error).__name__}: {error}")
    for measure in (product, attention):
        for entry in entries(measure.__name__):
            guarded(measure, entry["name"], entry)
    for measure in (gelu, chain):
        guarded(measure, measure.__name__, entries(measure.__name__))
    for entry in entries("kernel"):
        guarded(kernel, entry["name"], entry)
