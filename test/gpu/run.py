#!/usr/bin/env python3
"""Checks Sinter on a device: see run.sh.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Groups of checks, in this order, each with a share of the time: the device and its
libraries; the op list; training against PyTorch in float64; the same bytes again;
bandwidths of kernels; times beside PyTorch and JAX. What the time does not suffice for is
counted as skipped and named, never as passed. The exit code is 1 if anything failed.
"""

import argparse
import filecmp
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))

# Name, ROWS and COLS on a GPU and small, body; in and out are ROWSxCOLS.
KERNELS = [
    ("add + gelu", (8192, 8192), (64, 256), "%y", """
    %0 = sinter.add %x, %y : T
    %1 = sinter.gelu tanh %0 : T
    return %1 : T"""),
    ("softmax", (16384, 4096), (16, 512), "", """
    %1 = sinter.softmax %x {axis = 1 : i64} : T
    return %1 : T"""),
    ("softmax, long rows", (1024, 65536), (4, 4096), "", """
    %1 = sinter.softmax %x {axis = 1 : i64} : T
    return %1 : T"""),
    ("transpose", (8192, 8192), (64, 128), "", """
    %1 = sinter.transpose %x perm [1, 0] : (T) -> U
    %2 = sinter.reshape %1 : U -> T
    return %2 : T"""),
]


class Results:
    def __init__(self, deadline):
        self.deadline, self.rows = deadline, []

    def left(self):
        return self.deadline - time.monotonic()

    def add(self, group, name, outcome, seconds, detail="", **numbers):
        """outcome: passed, failed, skipped or measured."""
        self.rows.append({"group": group, "name": name, "outcome": outcome,
                          "seconds": round(seconds, 3), "detail": detail, **numbers})
        print(f"{group:<12} {name:<34} {outcome:<9} {seconds:7.1f} s  {detail}", flush=True)

    def run(self, group, name, command, most, check=None, **options):
        """Runs `command` for `most` seconds at most, fewer when time runs out. `check`
        turns its standard output into a detail, or raises ValueError."""
        limit = min(most, self.left())
        if limit < 1:
            self.add(group, name, "skipped", 0, "no time left")
            return None
        begin = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit,
                                  **options)
            taken = time.monotonic() - begin
            if done.returncode:
                text = (done.stderr.strip() or done.stdout.strip()).splitlines()
                raise ValueError(f"exit {done.returncode}: {text[-1] if text else ''}")
            detail = check(done.stdout) if check else ""
        except subprocess.TimeoutExpired:
            self.add(group, name, "failed", limit, f"took more than {limit:.0f} s")
        except (ValueError, KeyError, IndexError, OSError) as error:
            self.add(group, name, "failed", time.monotonic() - begin, str(error)[-200:])
        else:
            self.add(group, name, "passed", taken, detail)
            return done.stdout
        return None

    def count(self, outcome):
        return sum(row["outcome"] == outcome for row in self.rows)


def lastLine(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


class Checks:
    def __init__(self, folder, options, results, scratch):
        self.folder, self.options, self.results, self.scratch = \
            folder, options, results, scratch
        self.environment = dict(os.environ)
        library = os.path.join(folder, "lib")
        if os.path.isdir(library):
            self.environment["LD_LIBRARY_PATH"] = os.pathsep.join(
                filter(None, [library, os.environ.get("LD_LIBRARY_PATH")]))
        self.runner = os.path.join(folder, "bin", "sinter-run")
        with open(os.path.join(folder, "trainers.txt")) as file:
            self.trainers = [line.rstrip("\n").split("|") for line in file]

    def run(self, group, name, command, most, check=None, **extra):
        return self.results.run(group, name, command, most, check,
                                env=dict(self.environment, **extra))

    def local(self, words):
        return [word.replace("%models", os.path.join(self.folder, "models"))
                for word in words.split()]

    def train(self, name, words, out, group, label):
        command = [os.path.join(self.folder, "trainers", name), *self.local(words),
                   f"--device={self.options.device}", "--quiet", f"--out={out}",
                   f"--log-json={out}.json"]
        return self.run(group, label, command, 60)

    def export(self, name, out):
        subprocess.run([os.path.join(self.folder, "trainers", name), "export",
                        f"--checkpoint={out}", f"--device={self.options.device}", "-o",
                        out + ".safetensors"], check=True, env=self.environment,
                       stdout=subprocess.DEVNULL)

    # --- the groups ---

    def device(self):
        trainer = os.path.join(self.folder, "trainers", self.trainers[0][0])
        self.run("device", "doctor", [trainer, "doctor"], 60,
                 lambda text: "; ".join(text.strip().splitlines()[:2])[:120])

    def ops(self):
        tests = os.path.join(self.folder, "bin", "sinter-op-tests")
        if not os.path.exists(tests):
            self.results.add("ops", "op list", "skipped", 0, "not in the folder")
            return
        kind = self.options.device.split(":")[0]
        for libraries in ("all", "none"):
            self.run("ops", f"value and gradient, libraries={libraries}",
                     [tests, "[compiled]"], 120, lastLine, SINTER_TEST_TARGET=kind,
                     SINTER_TEST_LIBRARIES=libraries)

    def training(self):
        for name, words, reference, comparison in self.trainers:
            out = os.path.join(self.scratch, name)
            if self.train(name, words, out, "training", name) is None:
                continue
            self.export(name, out)
            self.run("training", name + " against PyTorch",
                     [sys.executable, os.path.join(self.folder, "compare_training.py"),
                      out + ".json", out + ".safetensors", *self.local(reference),
                      *comparison.split()], 60, lastLine)

    def determinism(self):
        for name, words, *_ in self.trainers[:2 if self.options.small else 6]:
            first = os.path.join(self.scratch, name)
            if not os.path.exists(first + ".safetensors"):
                continue
            for again in range(1 if self.options.small else 3):
                out = f"{first}-{again}"
                if self.train(name, words, out, "same bytes", f"{name}, run {again + 2}") is None:
                    break
                self.export(name, out)
                for end in (".json", ".safetensors"):
                    if not filecmp.cmp(first + end, out + end, shallow=False):
                        self.results.add("same bytes", name, "failed", 0,
                                         f"run {again + 2} has another {end[1:]}")

    def profile(self, model, *options):
        return [self.runner, model, "--inputs=random:seed=0",
                f"--device={self.options.device}", "--profile", "--json", *options]

    def kernels(self):
        for name, large, small, more, body in KERNELS:
            rows, cols = small if self.options.small else large
            text = "func.func @main(%x: T {sinter.input = \"x\"}" + \
                (f", {more}: T {{sinter.input = \"{more[1:]}\"}}" if more else "") + \
                ") -> (T {sinter.output = \"out\"}) {" + body + "\n}\n"
            path = os.path.join(self.scratch, "kernel.mlir")
            with open(path, "w") as file:
                file.write(text.replace("T", f"tensor<{rows}x{cols}xf32>")
                           .replace("U", f"tensor<{cols}x{rows}xf32>"))
            bytes_ = rows * cols * 4 * (3 if more else 2)

            def bandwidth(output):
                report = json.loads(output)
                us = sum(line["us"] for line in report["commands"])
                ceiling = report.get("copy_gb_per_s", 0)
                rate = bytes_ / us / 1e3
                self.results.rows.append({"group": "kernels", "name": name,
                                          "outcome": "measured", "us": us, "gb_per_s": rate,
                                          "copy_gb_per_s": ceiling,
                                          "share_of_copy": rate / ceiling if ceiling else None})
                return f"{rate:.4g} GB/s" + \
                    (f", {100 * rate / ceiling:.0f} % of a copy" if ceiling else "")
            self.run("kernels", name, self.profile(path), 60, bandwidth)
        networks = [] if self.options.small else ["fusion-encoder-post", "fusion-resnet50"]
        for network in networks:
            self.run("kernels", network,
                     [self.runner, os.path.join(self.folder, "models", network + ".onnx"),
                      "--inputs=random:seed=0", f"--device={self.options.device}", "--bench",
                      "--duration=2s", "--json"], 60,
                     lambda text: f"{json.loads(text)['median_ms']:.3f} ms a run")

    def bench(self):
        """Milliseconds of a training step: the difference of a long and a short run."""
        steps = (2, 4) if self.options.small else (200, 4000)
        data = os.path.join(self.scratch, "bench.npz")
        self.writeData(data)
        for name in ("mlp",) if self.options.small else ("mlp", "cnn"):
            trainer = os.path.join(self.folder, "trainers", f"bench-{name}-64")
            taken = []
            for count in steps:
                begin = time.monotonic()
                if self.run("bench", f"{name} batch 64, {count} steps",
                            [trainer, f"--data=npz:{data}", f"--steps={count}", "--quiet",
                             f"--device={self.options.device}"], 60) is None:
                    break
                taken.append(time.monotonic() - begin)
            if len(taken) < 2:
                continue
            ours = 1e3 * (taken[1] - taken[0]) / (steps[1] - steps[0])
            row = {"group": "bench", "name": f"{name} training step, batch 64",
                   "outcome": "measured", "ours_ms": ours}
            for peer in ("torch", "torch-compile", "jax"):
                theirs = self.peer(peer, name)
                if theirs is not None:
                    row[peer.replace("-", "_") + "_ms"] = theirs
                    row["times_" + peer.replace("-", "_")] = theirs / ours
            self.results.rows.append(row)
            print(f"{'bench':<12} {row['name']:<34} {ours:8.4f} ms" + "".join(
                f"  {key[6:]} {value:.2f}x" for key, value in row.items()
                if key.startswith("times_")), flush=True)

    def peer(self, peer, name):
        """Their milliseconds; None where they are not installed, or on a simulation."""
        if not self.options.device.startswith("cuda"):
            return None
        limit = min(60, self.results.left())
        if limit < 5:
            return None
        try:
            done = subprocess.run([sys.executable, os.path.join(HERE, "peers.py"), peer, name],
                                  capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            done = None
        if done is not None and done.returncode == 0:
            return float(done.stdout)
        why = "took too long" if done is None else lastLine(done.stderr)
        self.results.add("bench", f"{name}: {peer}", "skipped", 0, why[:120])
        return None

    @staticmethod
    def writeData(path):
        """npz with x and labels, without numpy."""
        rows = 64 * 64
        pixels = bytes((i * 2654435761 >> 13) & 255 for i in range(rows * 784 // 64)) * 64
        labels = b"".join(int(i % 10).to_bytes(8, "little") for i in range(rows))
        with zipfile.ZipFile(path, "w") as archive:
            for name, kind, shape, data in (("x", "|u1", (rows, 1, 28, 28), pixels),
                                            ("labels", "<i8", (rows,), labels)):
                header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
                header = header.ljust(117).encode() + b"\n"
                archive.writestr(name + ".npy", b"\x93NUMPY\x01\x00" +
                                 len(header).to_bytes(2, "little") + header + data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--json", default="gpu-results.json")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--small", action="store_true", help="small sizes, for a simulation")
    options = parser.parse_args()
    begin = time.monotonic()
    results = Results(begin + 60 * options.minutes)
    scratch = tempfile.mkdtemp(prefix="sinter-gpu-")
    try:
        checks = Checks(os.path.abspath(options.folder), options, results, scratch)
        for group in (checks.device, checks.training, checks.determinism, checks.kernels,
                      checks.bench, checks.ops):
            group()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    seconds = time.monotonic() - begin
    summary = {outcome: results.count(outcome)
               for outcome in ("passed", "failed", "skipped", "measured")}
    with open(options.json, "w") as file:
        json.dump({"device": options.device, "host": platform.node(),
                   "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                   "seconds": round(seconds, 1), "small": options.small, **summary,
                   "rows": results.rows}, file, indent=1)
        file.write("\n")
    print(f"{summary['passed']} passed, {summary['failed']} failed, "
          f"{summary['skipped']} skipped in {seconds:.0f} s; {options.json}")
    sys.exit(1 if summary["failed"] or not summary["passed"] else 0)


main()
