#!/usr/bin/env python3
"""Compares fine-tuning of default exports, by names, with PyTorch on the same parameters.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Called by hand, after `tools/dev exports` has made the environment of run.py:

    BUILD/exports/venv/bin/python3 test/exports/finetune.py --build=BUILD [--only=TEXT]

Each case is a network of networks.py and an expression. sinterc gets the default export and
--trainable=EXPRESSION, alone and with --parameters; PyTorch gets requires_grad=False for what
does not match. 24 steps of SGD must agree in every loss and weight to 1e-5, frozen weights to
the bit. What the trainer saved is loaded into a fresh module (strictly, unless the file alone
lacks weights: then over the exported ones), which must compute what PyTorch's does. One line
for each; exits 1 if one differs. Files are in BUILD/exports/finetune.
"""

import argparse
import copy
import json
import os
import re
import shutil
import sys
import warnings

import numpy as np
import torch

import compare
import reference
from compare import LIMIT
from export_pytorch import loadWeights, readSafetensors, writeSafetensors  # compare finds it
from network import BATCH
from networks import NETWORKS

STEPS = 24
CASES = {
    # The last block and the head.
    "timm-vit-tiny": r"^(blocks\.1|norm|head)\.",
    "hf-vit": r"^model\.(vit\.layers\.1|vit\.layernorm|classifier)\.",
    # The head of a classifier, and what is before it.
    "hf-bert": r"^model\.(bert\.pooler|classifier)\.",
    # The projections of attention.
    "hf-llama": r"self_attn\.[qkvo]_proj\.",
}


class Differs(Exception):
    pass


def trainInPytorch(network, pattern, inputs, labels):
    """The losses, the states, and the names that were trained; all in float64."""
    model = network.build().double()
    trained = set()
    for name, parameter in model.named_parameters(remove_duplicate=False):
        parameter.requires_grad_(bool(re.search(pattern, name)))
        if parameter.requires_grad:
            trained.add(name)
    with reference.KeepDouble():
        losses, states, _ = reference.train(network, model, inputs, labels, STEPS)
    return losses, states, trained


def trainHere(network, pattern, folder, way, given, data, bin_):
    """The losses, and the path of what the trainer saved."""
    trainer, run, log, weights = (os.path.join(folder, f"{way}-{part}") for part in (
        "trainer", "run", "losses.json", "trained.safetensors"))
    shutil.rmtree(run, ignore_errors=True)
    with open(os.path.join(folder, f"{way}.log"), "w") as output:
        compare.call("sinterc", [
            os.path.join(bin_, "sinterc"), os.path.join(folder, "default.onnx"), "-o", trainer,
            "--train", "-v", "-j1", f"--loss={network.lossOption}", "--optimizer=sgd",
            f"--batch={BATCH}", f"--momentum={network.momentum:g}", f"--trainable={pattern}",
            *given], output)
        compare.call("training", [
            trainer, f"--data=npz:{data}", f"--steps={STEPS}", "--shuffle=false",
            f"--lr={network.rate:g}", f"--out={run}", f"--log-json={log}", "--threads=1",
            "--quiet"], output)
        compare.call("export", [trainer, "export", f"--checkpoint={run}", "-o", weights], output)
    shutil.rmtree(run)
    os.remove(trainer)
    with open(log) as file:
        return [line["loss"] for line in map(json.loads, file) if "step" in line], weights


def check(network, expected, losses, path, initial):
    """What to say of a run that agrees; raises Differs."""
    theirs, states, trained = expected
    ours = {name: value.numpy() for name, value in readSafetensors(path).items()}
    if len(losses) != len(theirs):
        raise Differs(f"{len(losses)} losses, not {len(theirs)}")
    loss = float(np.max(np.abs(np.array(losses) - theirs) / np.abs(theirs)))
    worst, missing = 0.0, []
    for name, value in states.items():
        if name not in ours:
            missing.append(name)
        elif (name not in trained and "running_" not in name
              and not np.array_equal(ours[name], initial[name].numpy())):
            raise Differs(f"{name} should be frozen, but changed")
        else:
            worst = max(worst, reference.distance(ours[name], value))
    slots = {name.split("/", 1)[1] for name in ours if name.startswith("momentum/")}
    if network.momentum and slots != trained:
        raise Differs(f"momentum of other parameters: {sorted(slots ^ trained)[:4]}")
    if lost := trained & set(missing):
        raise Differs(f"not saved: {sorted(lost)[:4]}")
    if not loss <= LIMIT or not worst <= LIMIT:
        raise Differs(f"loss by {loss:.1e}, weights by {worst:.1e}")
    return f"{len(trained)} of {len(states)} trained, loss {loss:.1e}, weights {worst:.1e}", missing


def checkLoaded(network, expected, path, missing, initial, inputs):
    """A fresh module with what was saved computes what PyTorch's trained module does."""
    module, twin = network.build(), network.build().double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    if missing:
        module.load_state_dict({**initial, **{
            n: v for n, v in readSafetensors(path).items() if n in initial}}, strict=True)
    else:
        loadWeights(module, path)
    twin.load_state_dict({n: torch.from_numpy(expected[1][n]) if n in expected[1] else v
                          for n, v in twin.state_dict().items()}, strict=True)
    with torch.no_grad():
        ours = module.eval()(*inputs)
        with reference.KeepDouble():
            theirs = twin.eval()(*[reference.toDouble(value) for value in inputs])
    error = reference.distance(ours.numpy(), theirs.numpy())
    if not error <= LIMIT:
        raise Differs(f"the loaded module's output by {error:.1e}")
    if missing:
        return f"lacks {', '.join(missing[:3])}, output {error:.1e}"
    return f"loads strictly, output {error:.1e}"


def finetune(network, pattern, folder, bin_):
    """{way: (whether it agrees, what)}."""
    os.makedirs(folder, exist_ok=True)
    model = network.build().eval()
    initial = {name: value.clone() for name, value in model.state_dict().items()}
    inputs, labels = network.data(copy.deepcopy(model))
    rows = [value[:BATCH] for value in inputs.values()]
    torch.onnx.export(model, tuple(rows), os.path.join(folder, "default.onnx"), dynamo=True,
                      input_names=list(inputs), external_data=False, verbose=False)
    weights, data = os.path.join(folder, "initial.safetensors"), os.path.join(folder, "data.npz")
    writeSafetensors(weights, initial)
    np.savez(data, labels=labels.numpy(), **{n: v.numpy() for n, v in inputs.items()})
    expected = trainInPytorch(network, pattern, [reference.toDouble(v) for v in inputs.values()],
                              reference.toDouble(labels))
    results = {}
    for way, given in (("alone", []), ("with weights", [f"--parameters={weights}"])):
        try:
            losses, path = trainHere(network, pattern, folder, way.replace(" ", "-"), given, data,
                                     bin_)
            what, missing = check(network, expected, losses, path, initial)
            loaded = checkLoaded(network, expected, path, missing, initial, rows)
            results[way] = (True, f"{what}; {loaded}")
        except compare.Stopped as stopped:
            results[way] = (False, f"{stopped.result['result']}: {stopped.result['what']}")
        except Differs as differs:
            results[way] = (False, f"differs: {differs}")
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--only", default="", help="networks whose name has this text")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    build, failed = os.path.abspath(options.build), False
    for network in NETWORKS:
        if network.name not in CASES or options.only not in network.name:
            continue
        folder = os.path.join(build, "exports", "finetune", network.name)
        results = finetune(network, CASES[network.name], folder, os.path.join(build, "bin"))
        failed |= not all(agrees for agrees, _ in results.values())
        print(f"{network.name}: " + ". ".join(
            f"{way}: {what}" for way, (_, what) in results.items()), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
