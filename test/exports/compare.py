"""Compiles an export, trains and runs it, and compares that with PyTorch's reference.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Called by run.py. A result is a dictionary with `result` (agrees, differs, names differ,
refused, crash, export failed) and what belongs to it.
"""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import torch
from onnx import numpy_helper

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "..", "..", "docs", "examples"))

from export_pytorch import readSafetensors, writeSafetensors
from fates import describe, describeStranger, fatesOf, strangers
from network import BATCH
from reference import distance

LIMIT = 1e-5
SECONDS = 600
SLOTS = re.compile(r"^momentum/")


def fileOf(way):
    """The export that a way compiles: with-weights has the default's, and --parameters."""
    return "default" if way == "with-weights" else way


class Stopped(Exception):
    """A command ended with something else than 0; `result` says what."""

    def __init__(self, result):
        super().__init__(result["what"])
        self.result = result


def call(stage, command, log):
    """Runs it; its output goes to `log` too. Raises Stopped."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=SECONDS)
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        code, output = -9, f"error: took more than {SECONDS} s\n"
    log.write(f"+ {' '.join(command)}\n{output}exit {code}\n")
    log.flush()
    if code == 0:
        return
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line] or lines[-1:] or ["no message"]
    crashed = code < 0 or code >= 128
    line = re.sub(r"\S*/", "", errors[0])  # without folders
    raise Stopped({"result": "crash" if crashed else "refused", "code": code,
                   "what": f"{stage}: exit {code}: {line[:240]}"})


def compareStates(states, reference, facts, model):
    """The result of the exported states; all that is bad by name, for who reads the lines."""
    expected = facts["parameters"] + facts["statistics"]
    missing, shapes, errors = [], [], {}
    unused = 0
    for name in expected:
        theirs = reference["state/" + name]
        if name not in states:
            if name in facts["withoutGradient"]:
                unused += 1
            else:
                missing.append(name)
        elif states[name].shape != theirs.shape:
            shapes.append(f"{name} is {list(states[name].shape)}, not {list(theirs.shape)}")
        else:
            errors[name] = distance(states[name], theirs)
    strange = sorted(n for n in set(states) - set(expected) if not SLOTS.match(n))
    graph = onnx.load(model).graph
    initializers = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    learned = [name for name in strange if name in initializers
               and not np.array_equal(states[name], initializers[name])]
    fates = fatesOf(missing, facts["tied"], {name: reference["initial/" + name]
                                             for name in expected}, initializers, states)
    buffers = [name for name in learned if name in facts["buffers"]]
    others = strangers([name for name in learned if name not in buffers], fates)
    bad = sorted((n for n in errors if errors[n] > LIMIT), key=errors.get, reverse=True)
    what = []
    if bad:
        what.append(f"{len(bad)} of {len(expected)} states, {bad[0]} by {errors[bad[0]]:.1e}")
    if buffers:
        what.append(f"trains the buffer {', '.join(buffers[:3])}")
    if shapes:
        what.append("; ".join(shapes[:2]))
    if missing:
        what.append(f"{len(missing)} of {len(expected)} missing: {describe(fates)}")
    if others:
        what.append(f"trains {len(others)} that no parameter is in: "
                    + ", ".join(describeStranger(n, initializers, graph.node) for n in others[:3]))
    lost = any(kind in ("not trained", "merged") for kind, _ in fates.values())
    wrong = bad or buffers or shapes or lost or (others and not missing)
    return {"result": "differs" if wrong else "names differ" if missing else "agrees",
            "what": "; ".join(what), "state": max(errors.values(), default=0.0),
            "bad": {name: errors[name] for name in bad}, "unused": unused,
            "missing": fates, "trained": others, "trainedBuffers": buffers}


def compareTraining(network, folder, way, export, facts, bin_, steps):
    model = os.path.join(folder, fileOf(way) + ".onnx")
    trainer, run, data, losses, weights, initial = (
        os.path.join(folder, f"{way}-{part}")
        for part in ("trainer", "run", "data.npz", "losses.json", "weights.safetensors",
                     "initial.safetensors"))
    given = []
    if way == "with-weights":
        with np.load(os.path.join(folder, "reference.npz")) as reference:
            state = {name.split("/", 1)[1]: torch.from_numpy(reference[name])
                     for name in reference if name.startswith("initial/")}
        for name, group in facts["tied"].items():  # one tensor, as in a state_dict
            if group[0] in state:
                state[name] = state[group[0]]
        writeSafetensors(initial, state)
        given = [f"--parameters={initial}"]
    with np.load(os.path.join(folder, "data.npz")) as arrays:
        np.savez(data, **{name: arrays[name] for name in [*export["inputs"], "labels"]})
    shutil.rmtree(run, ignore_errors=True)
    with open(os.path.join(folder, f"{way}-training.log"), "w") as log:
        try:
            call("sinterc", [
                os.path.join(bin_, "sinterc"), model, "-o", trainer, "--train", "-v", "-j1",
                f"--loss={network.lossOption}", "--optimizer=sgd", f"--batch={BATCH}",
                f"--momentum={network.momentum:g}", *given,
                *(["--bn-running-var=unbiased"] if facts["batchNorm"] else [])], log)
            call("training", [trainer, f"--data=npz:{data}", f"--steps={steps}",
                              "--shuffle=false", f"--lr={network.rate:g}", f"--out={run}",
                              f"--log-json={losses}", "--threads=1", "--quiet"], log)
            call("export", [trainer, "export", f"--checkpoint={run}", "-o", weights], log)
            with open(losses) as file:
                ours = [line["loss"] for line in map(json.loads, file) if "step" in line]
            with np.load(os.path.join(folder, "reference.npz")) as reference:
                theirs = reference["losses"]
                result = compareStates({name: value.numpy() for name, value in
                                        readSafetensors(weights).items()}, reference, facts, model)
        except Stopped as stopped:
            return stopped.result
        finally:
            shutil.rmtree(run, ignore_errors=True)
            for path in (trainer, weights):
                if os.path.exists(path):
                    os.remove(path)
    if len(ours) != len(theirs):
        return {"result": "differs", "what": f"{len(ours)} losses, not {len(theirs)}"}
    errors = np.abs(np.array(ours, np.float64) - theirs) / np.abs(theirs)
    errors[~np.isfinite(errors)] = np.inf
    result["loss"] = float(errors.max())
    if result["loss"] > LIMIT:
        step = int(np.argmax(errors > LIMIT)) + 1
        result["result"] = "differs"
        result["what"] = f"loss by {errors.max():.1e}, from step {step}; " + result["what"]
    return result


def compareInference(folder, way, export, bin_):
    inputs, outputs = (os.path.join(folder, f"{way}-{part}.npz") for part in ("in", "out"))
    with np.load(os.path.join(folder, "in.npz")) as arrays:
        np.savez(inputs, **{name: arrays[name] for name in export["inputs"]})
    with np.load(os.path.join(folder, "reference.npz")) as reference:
        np.savez(outputs, **{export["output"]: reference["output"].astype(np.float32)})
    with open(os.path.join(folder, f"{way}-inference.log"), "w") as log:
        try:
            call("sinter-run", [
                os.path.join(bin_, "sinter-run"),
                os.path.join(folder, fileOf(way) + ".onnx"),
                f"--inputs={inputs}", f"--reference={outputs}", f"--rtol={LIMIT}",
                f"--atol={LIMIT}", "--threads=1", "-j1"], log)
        except Stopped as stopped:
            if stopped.result["code"] == 5:
                stopped.result["result"] = "differs"
            return stopped.result
    return {"result": "agrees", "what": ""}
