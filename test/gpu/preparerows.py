"""What bench.py needs of each row: programs that were compiled and checked, and facts of them.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Needs sinterc and no GPU; weights are made where the rows run.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import floors
import weights
import workloads

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = ["accuracy.py", "bench.py", "coldstart.py", "failures.py", "floors.py", "learn.py",
           "libraries.py", "memory.py", "networks.py", "networks_jax.py", "peers.py",
           "preparerows.py", "results.py", "sides.py", "weights.py", "workloads.py"]


def capture(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
    return done.stdout


def emptyWeights(listing, path):
    """The file with zeros for weights, which take no place: trainers get theirs where they
    run, and zeros are not in them."""
    end = max(end for _, end in weights.places(listing).values())
    with open(path, "wb") as file:
        file.write(weights.layout(listing)[0])
        file.truncate(end)


def checkCalls(row, text, layers):
    """Attention is one call a layer, forward and backward, where cuDNN has it: in 16 bits."""
    found = len(re.findall(r"^ *\d+  attention\(", text, re.M))
    wanted = layers * (3 if row.kind == "train" else 1)  # a trainer's eval is an entry, too
    if row.precision == "bf16" and found != wanted:
        raise RuntimeError(f"{row.name}: {found} attention calls, expected {wanted}")
    return found


def prepareRow(row, build, folder, scratch, target, small, listing):
    """What `run` wants to know of the row."""
    tool = os.path.join(build, "bin", "sinterc")
    inspect = os.path.join(build, "bin", "sinter-inspect")
    model = os.path.join(scratch, workloads.graph(row, small) + ".onnx")
    isKept = row.kind == "train" or row.name in workloads.AHEAD
    output = os.path.join(folder if isKept else scratch, row.file)
    begin = time.monotonic()
    capture([tool, model, "-o", output, f"--target={target}", "--mcpu=x86-64-v3",
             *workloads.compileOptions(row)])
    seconds = time.monotonic() - begin
    for side, rows in (("sinter-one", workloads.ONE_KERNEL),
                       ("sinter-streams", workloads.TWO_STREAMS)):
        if row.kind == "train" and row.name in rows:
            other = os.path.join(folder, workloads.trainerOf(row, side))
            capture([tool, model, "-o", other, f"--target={target}", "--mcpu=x86-64-v3",
                     *workloads.compileOptions(row, side)])
    if row.name in workloads.AHEAD:
        os.remove(output + ".h")
    layers = workloads.LAYERS.get(row.network, 0)
    calls = checkCalls(row, capture([inspect, "plan", output]), 2 if small and layers else layers)
    plan = json.loads(capture([inspect, "--json", output]))
    entry = plan["entries"][0]  # a trainer's step
    facts = {"attention_calls": calls, "flops": entry["flops"],
             "least_bytes": floors.leastBytes(row, listing, small), "sinterc_s": round(seconds, 3)}
    if isKept:  # the constants of others are all one, zeros
        facts["planned_bytes"] = entry["arena_bytes"] + plan["state_bytes"] + \
            plan["constants_bytes"]
    return facts


def prepare(build, out, target="cuda", small=False, only=""):
    """Puts graphs, trainers and scripts for the rows that `only` chooses into `out`."""
    folder, graphs = os.path.join(out, "bench"), os.path.join(HERE, "Inputs")
    os.makedirs(folder, exist_ok=True)
    for script in SCRIPTS:
        shutil.copy(os.path.join(HERE, script), out)
    shutil.copy(os.path.join(HERE, "..", "..", "tools", "scripts", "npz.py"), out)
    rows = {row: None for wave in workloads.waves(small) for row in wave.rows
            if workloads.isChosen(only, wave.title(row))}
    facts, listings = {}, {}
    with tempfile.TemporaryDirectory() as scratch:
        for network in {row.network: None for row in rows}:
            name = network + ("-small" if small else "")
            shutil.copy(os.path.join(graphs, name + ".onnx"), scratch)
            if any(row.kind == "infer" for row in rows if row.network == network):
                shutil.copy(os.path.join(graphs, name + ".onnx"), folder)
            owner = workloads.weightsOf(network, small)
            listing = os.path.join(graphs, owner.replace(".safetensors", ".json"))
            shutil.copy(listing, folder)
            with open(listing) as file:
                listings[network] = json.load(file)
            # Zeros take no place, and no trainer keeps them; what is compiled ahead has its own.
            isAhead = any(row.name in workloads.AHEAD for row in rows if row.network == network)
            write = weights.write if isAhead else emptyWeights
            write(listings[network], os.path.join(scratch, owner))
        for row in rows:
            facts[row.name] = prepareRow(row, os.path.abspath(build), folder, scratch, target,
                                         small, listings[row.network])
    with open(os.path.join(folder, "rows.json"), "w") as file:
        json.dump(facts, file, indent=1)


def prepareAlone(options):
    out = os.path.abspath(options.out)
    prepare(options.build, out, options.target, options.small, options.only)
    tools = os.path.join(out, "bin")
    os.makedirs(tools, exist_ok=True)
    shutil.copy(os.path.join(options.build, "bin", "sinter-run"), tools)
