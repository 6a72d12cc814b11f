"""Checks parts of test/gpu's scripts that a simulated device does not reach.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    check_scripts.py FOLDER-OF-SCRIPTS
"""

import json
import os
import sys
import tempfile
import textwrap
import unittest
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, sys.argv.pop(1))

import architectures
import device
import failures
import floors
import load
import memory
import peers
import sides
import training
import workloads
from context import Context
from results import Results

GIB = 2**30
# The stand-in answers one query as nvidia-smi does: a line of the figures that were asked for.
FIGURES = {"name": "NVIDIA H100 80GB HBM3", "driver_version": "580.1", "memory.total": "81559 MiB",
           "clocks.sm": "1980 MHz", "clocks.max.sm": "1980 MHz", "clocks.mem": "2619 MHz",
           "power.draw": "111.83 W", "power.limit": "700.00 W", "temperature.gpu": "38"}
NVIDIA_SMI = f"""#!{sys.executable}
import sys
figures = {FIGURES!r}
names = next(word for word in sys.argv if word.startswith("--query-gpu=")).split("=")[1]
words = [figures[name] for name in names.split(",")]
if any(word.endswith("nounits") for word in sys.argv) and "name" not in names:
    words = [word.split(" ")[0] for word in words]
print(", ".join(words))
"""


class WithGpu(unittest.TestCase):
    """With a stand-in for nvidia-smi on PATH."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("nvidia-smi", NVIDIA_SMI)
        patch = mock.patch.dict(os.environ, PATH=self.folder + os.pathsep + os.environ["PATH"])
        patch.start()
        self.addCleanup(patch.stop)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def context(self):
        results = Results(os.path.join(self.folder, "results.json"), "cuda:0", True, 60)
        results.beginGroup(1)
        options = SimpleNamespace(folder=self.folder, device="cuda:0", small=True, jobs=1,
                                  sanitizer=None, ncu=None, data=None)
        machine = SimpleNamespace(environment=dict(os.environ), launcher=[], libc="", nvidia=[])
        return Context(options, results, machine, self.folder)


class Device(WithGpu):
    def testClocks(self):
        context = self.context()
        device.clocks(context, "at first")
        row, = context.results.rows
        self.assertEqual((row["name"], row["outcome"]), ("clocks, at first", "measured"))
        self.assertEqual(row["gpu"], "NVIDIA H100 80GB HBM3")
        self.assertEqual(row["detail"], "SM 1980 MHz of 1980 MHz, memory 2619 MHz, 111.83 W")

    def testFigures(self):
        self.assertEqual(sides.askGpu("cuda:0", "memory.total", "clocks.sm"),
                         {"memory.total": 81559, "clocks.sm": 1980})
        self.assertEqual(sides.tellGpu("cuda:0", "name"), {"name": "NVIDIA H100 80GB HBM3"})
        self.assertEqual(sides.askGpu("cuda:0", "name"), {})
        self.assertEqual(sides.tellGpu("sim:0", "name"), {})

    def testSecondsOfARow(self):
        """They are those of all its commands: a program that is slow, and a comparison."""
        context = self.context()
        for program in ("trainer", "bin/sinter-run"):
            self.write(program, "#!/bin/sh\nsleep 0.4\n")
        for script in ("compare_training.py", "compare_npz.py"):
            self.write(script, "print('close')\n")
        training.check(context, {"name": "trained", "file": "trainer", "training": [],
                                 "comparison": ["compare_training.py"]})
        self.write("architectures.json", json.dumps([
            {"name": "net", "file": "net.so", "inputs": "x.npz", "reference": "y.npz",
             "tolerance": 1}]))
        architectures.run(context, context.results)
        self.assertEqual([row["outcome"] for row in context.results.rows], ["passed"] * 2)
        for row in context.results.rows:
            self.assertGreaterEqual(row["seconds"], 0.4)


class Floors(WithGpu):
    rates = {"copy_gb_per_s": 1, "fp32_tflop_per_s": 2, "bf16_tflop_per_s": 3}

    def testOrder(self):
        path = os.path.join(self.folder, "machine.json")
        self.write("machine.json", json.dumps({"rows": [{"name": "copy"}, self.rates]}))
        own = dict(self.rates, copy_gb_per_s=9)
        self.assertEqual(floors.ceilings([own], path, "NVIDIA H200"), (own, "measured"))
        self.assertEqual(floors.ceilings([], path, "NVIDIA H200"), (self.rates, "machine.json"))

    def testNames(self):
        h100, of = floors.ceilings([], None, "NVIDIA H100 80GB HBM3")
        self.assertEqual((h100["copy_gb_per_s"], of), (2979, "NVIDIA H100 80GB HBM3"))
        self.assertEqual(floors.ceilings([], None, "NVIDIA H200")[0]["copy_gb_per_s"], 4300)
        for other in ("NVIDIA H100 PCIe", "NVIDIA GH200 480GB", ""):
            rates, why = floors.ceilings([], None, other)
            self.assertEqual(rates, {})
            self.assertIn(f"the rates of '{other}' are not known", why)

    def testFileWithoutRates(self):
        path = os.path.join(self.folder, "machine.json")
        self.write("machine.json", json.dumps({"rows": [{"name": "copy"}]}))
        with self.assertRaisesRegex(ValueError, "no row has copy_gb_per_s"):
            floors.readMachine(path)


class Memory(unittest.TestCase):
    kinds = ["torch", "torch-compile", "jax"]

    def parts(self, needs, limit):
        """Of rows with bytes for ours and for each kind."""
        found = memory.parts(list(needs), self.kinds,
                             lambda row, kind: needs[row][("sinter", *self.kinds).index(kind)],
                             limit)
        for rows, kinds in found:
            used = sum(needs[row][0] + sum(needs[row][1 + self.kinds.index(kind)]
                                           for kind in kinds) for row in rows)
            self.assertTrue(used <= limit or len(rows) == len(kinds) == 1, (rows, kinds))
        for row in needs:
            self.assertEqual([kind for rows, kinds in found if row in rows for kind in kinds],
                             self.kinds)
        return found

    def testParts(self):
        small, large, huge = (1, 1, 1, 1), (10, 20, 10, 10), (10, 60, 10, 5)
        self.assertEqual(self.parts({"a": small, "b": small}, 8), [(["a", "b"], self.kinds)])
        self.assertEqual(self.parts({"a": small, "b": small}, 7),
                         [(["a"], self.kinds), (["b"], self.kinds)])
        self.assertEqual(self.parts({"a": small, "b": large, "c": small}, 40),
                         [(["a", "c"], self.kinds), (["b"], ["torch", "torch-compile"]),
                          (["b"], ["jax"])])
        self.assertEqual(self.parts({"b": huge}, 40),
                         [(["b"], ["torch"]), (["b"], ["torch-compile", "jax"])])
        self.assertEqual(memory.parts(["a"], self.kinds, None, None), [(["a"], self.kinds)])
        self.assertEqual(memory.parts(["a"], [], lambda row, kind: 9, 5), [(["a"], [])])

    def testFirstWaveOnAnH100(self):
        """These rows together filled 80 GB."""
        planned = {"mlp": 4.8e6, "gpt2": 6972e6, "resnet50": 4608e6}
        rows = workloads.WAVES[0].rows
        facts = {row: {"planned_bytes": planned[row.network]} if row.kind == "train" else
                 {"least_bytes": 300e6} for row in rows}
        found = memory.parts(rows, self.kinds,
                             lambda row, kind: memory.needed(kind, facts[row], 2), 48 * GIB)
        gpt2, = [row for row in rows if row.name == "gpt2 train 8 bf16"]
        self.assertEqual([kinds for some, kinds in found if gpt2 in some],
                         [["torch"], ["torch-compile", "jax"]])
        self.assertLessEqual(len(found), 6)

    def testNeeded(self):
        self.assertEqual(memory.needed("sinter", {"planned_bytes": GIB}, 2),
                         2 * (GIB + memory.OWN))
        self.assertEqual(memory.needed("torch", {"planned_bytes": GIB}), 4 * GIB + memory.PEER)
        self.assertGreater(memory.needed("jax", {"least_bytes": GIB}), 3 * GIB)


class AcceleratorError(RuntimeError):
    pass


def caught(error, cause=None):
    try:
        raise error from cause
    except Exception as found:
        return found


class Failures(unittest.TestCase):
    advice = "\n\nSet TORCHDYNAMO_VERBOSE=1 for the internal stack trace\n"

    def testReasonAfterRaised(self):
        error = RuntimeError("backend='inductor' raised:\nValueError: no tiles\n" + self.advice)
        self.assertEqual(failures.reason(error),
                         "RuntimeError: backend='inductor' raised: ValueError: no tiles")

    def testReasonOfTheCause(self):
        cause = RuntimeError("CUDA out of memory. Tried to allocate 2.00 MiB")
        error = caught(RuntimeError("NoValidChoicesError: " + self.advice), cause)
        self.assertEqual(failures.reason(error),
                         "out of memory: RuntimeError: NoValidChoicesError: RuntimeError: CUDA out "
                         "of memory. Tried to allocate 2.00 MiB")

    def testReasonOfOneLine(self):
        self.assertEqual(failures.reason(ValueError("first\nsecond")), "ValueError: first")
        self.assertEqual(failures.reason(ValueError()), "ValueError")

    def testNamed(self):
        self.assertEqual(failures.named("exit 1: out of memory"),
                         "out of memory: exit 1: out of memory")
        self.assertEqual(failures.named("exit 1: other"), "exit 1: other")

    def testBroken(self):
        error = AcceleratorError("CUDA error: an illegal memory access was encountered")
        self.assertTrue(failures.whyNot(error)["broken"])
        self.assertTrue(failures.whyNot(caught(RuntimeError("a graph"), error))["broken"])
        self.assertNotIn("broken", failures.whyNot(RuntimeError("CUDA out of memory")))

    def testOtherWaysAreLeftOut(self):
        """After a way that lost the context, peers.py does not try the next."""
        peer = peers.Torch.__new__(peers.Torch)
        peer.compiled = peer.once = False
        peer.isCuda = True

        def lose(make):
            raise AcceleratorError("CUDA error: out of memory")
        peer.counted = lose
        row = workloads.Row("mlp", "infer", 1, "fp32")
        self.assertEqual(peer.prepare(SimpleNamespace(row=row)), {"torch-eager": {
            "skip": "out of memory: AcceleratorError: CUDA error: out of memory",
            "broken": True}})


# As peers.py: the second row loses the context.
PEER = """
    import json, sys
    for number, line in enumerate(sys.stdin):
        lost = {"skip": "first reason", "broken": True}
        side = {"loss": 1.0, "bytes": 1}
        print(json.dumps({"torch-eager": side, "torch-graph": lost if number == 1 else side}),
              flush=True)
"""


class Processes(unittest.TestCase):
    def testBrokenProcess(self):
        rows = [workloads.Row("mlp", "infer", batch, "fp32") for batch in (1, 2, 3)]
        with tempfile.NamedTemporaryFile() as log:
            process = sides.Process([sys.executable, "-c", textwrap.dedent(PEER)], log.name, None)
            found = sides.preparePeers(process, "torch", rows, 30)
            self.assertIsNotNone(process.process.poll())
            first, second, third = (found[row.name] for row in rows)
            self.assertEqual(second, ([], {"torch-eager": "first reason",
                                           "torch-graph": "first reason"}))
            self.assertEqual(third, ([], {"torch": "first reason"}))
            for side in first[0]:
                with self.assertRaisesRegex(sides.SideError, "first reason"):
                    side.measure(1, 10)
            self.assertEqual(len(first[0]), 2)
            process.process.stdout.close()

    def testLastWords(self):
        with tempfile.NamedTemporaryFile() as log:
            process = sides.Process(["sh", "-c", "echo trainer: out of memory >&2; exit 3"],
                                    log.name, None)
            with self.assertRaisesRegex(sides.SideError, "^out of memory: exit 3: trainer"):
                process.ask("1", 10)


class Load(unittest.TestCase):
    ok = "   0.122 s  ok        a.so, byte 1: 1 kernels\n"

    def testTried(self):
        late = "   9.000 s  not run   b.so, byte 2: no time left\n1 of 2 cases ok, 1 not run\n"
        self.assertEqual(load.countOk([self.ok + late, self.ok + self.ok]), (3, True))
        self.assertEqual(load.countOk([self.ok, late]), (1, False))
        self.assertEqual(load.countOk([self.ok, ""]), (1, False))
        self.assertFalse(load.failed(self.ok) or load.failed(late))
        self.assertTrue(load.failed("   1.000 s  failed    c.so, byte 3: no"))


class Only(unittest.TestCase):
    def testTexts(self):
        chosen = workloads.isChosen
        cold, plain = "cold start: mlp infer 1 fp32", "mlp infer 1 fp32"
        self.assertTrue(chosen("", cold) and chosen("", plain))
        self.assertTrue(chosen("mlp", plain) and not chosen("mlp", cold))
        self.assertTrue(chosen("cold start: ", cold) and not chosen("cold start: ", plain))
        self.assertTrue(chosen("gpt2;mlp infer", plain) and not chosen("gpt2;bert", plain))


if __name__ == "__main__":
    unittest.main()
