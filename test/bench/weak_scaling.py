#!/usr/bin/env python3
"""Weak scaling from one process to two, beside PyTorch's DistributedDataParallel with Gloo.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    weak_scaling.py [--build=FOLDER] [--rounds=N] [--seconds=S] [NETWORK...]
                                  (Debian: python3-torch, python3-onnx; PyPI: see tools/dev bench)

Each process has one thread, on a processor of its own, and the batch of the row in rows.py. A
round times, in this order and for both: one process, on each processor in turn; two that know
nothing of each other; two that sum their gradients. Printed are the medians over all rounds:
    alone       ms per step of one process, the mean of the two processors
    apart       of two processes that know nothing of each other: the machine's own losses
    together    of two processes of one job
    efficiency  alone / together of a round, since machines have slow phases
    overhead    together - apart of a round: what a step waits for the sums, in ms
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import rows

NETWORKS = ["mlp", "cnn", "lstm", "unet"]
MODELS_PYTHON = "/usr/bin/python3"


def batchOf(network):
    return next(row.batch for row in rows.allRows() if row.network == network
                and row.kind == "train" and row.precision == "fp32")


def freePort():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def timeOf(commands, world, first=0):
    """Runs the commands at once, each on its processor, from the `first` on; the mean of their
    ms per step. With `world` 2 they are one job."""
    port, running = freePort(), []
    for rank, command in enumerate(commands, first):
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
            environment.pop(name, None)
        if world > 1:
            environment.update(RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank),
                               MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        running.append(subprocess.Popen(["taskset", "-c", str(rank), *command], env=environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    return meanOf(running)


def meanOf(running):
    """Waits for processes, and returns the mean of the ms per step that they print."""
    found = []
    for process in running:
        out, errors = process.communicate(timeout=900)
        if process.returncode:
            sys.exit(f"{process.args}: exit code {process.returncode}\n{errors}")
        found += [json.loads(line)["ms_per_step"] for line in out.splitlines()
                  if line.startswith("{")]
    return statistics.mean(found)


# --- PyTorch's side ---------------------------------------------------------------------------


def torchSteps(folder, network, batch, steps):
    """One process: trains, and prints what trainers print for bench --json."""
    import numpy
    import torch
    import models  # sets the number of threads
    torch.set_num_threads(1)
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    module = models.find(network, "train").make()
    module.load_state_dict(torch.load(os.path.join(folder, f"{network}-train.pt")))
    module.train()
    row = rows.Row(network, "train", 2 * batch, "fp32", 1)
    arrays = numpy.load(os.path.join(folder, row.data))
    mine = slice(rank * batch, (rank + 1) * batch)
    x, labels = (torch.from_numpy(arrays[name][mine]) for name in ("x", "labels"))
    if x.dim() == 4:
        module = module.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    optimizer = models.optimizerOf(network, module)
    if world > 1:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=world)
        module = torch.nn.parallel.DistributedDataParallel(module, gradient_as_bucket_view=True)

    def run(count):
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            models.lossOf(network, module(x), labels).backward()
            optimizer.step()
    run(5)
    if world > 1:
        torch.distributed.barrier()
    begin = time.perf_counter()
    run(steps)
    ms = (time.perf_counter() - begin) * 1000 / steps
    print(json.dumps({"ms_per_step": ms}), flush=True)
    if world > 1:
        torch.distributed.destroy_process_group()


# --- a row ------------------------------------------------------------------------------------


class Side:
    """`command(replicas, steps)` runs one process of a program for so many replicas."""

    def __init__(self, name, command, seconds):
        self.name, self.command = name, command
        self.times = {"alone": [], "apart": [], "together": []}
        probe = 8
        self.steps = max(probe, int(1000 * seconds / timeOf([command(1, probe)], 1)))

    def round(self):
        one, two = self.command(1, self.steps), self.command(2, self.steps)
        self.times["alone"].append(statistics.mean(timeOf([one], 1, cpu) for cpu in (0, 1)))
        self.times["apart"].append(timeOf([one, one], 1))
        self.times["together"].append(timeOf([two, two], 2))

    def report(self, network):
        median = statistics.median
        rounds = list(zip(*(self.times[key] for key in ("alone", "apart", "together"))))
        alone, apart, together = (median(column) for column in zip(*rounds))
        efficiency = median(alone / together for alone, _, together in rounds)
        overhead = median(together - apart for _, apart, together in rounds)
        print(f"{network:8} {self.name:8} {alone:10.3f} {apart:10.3f} {together:10.3f} "
              f"{efficiency:10.2f} {overhead:10.3f}", flush=True)


def compile(bin_, folder, network, batch, replicas):
    training = rows.TRAINING[network]
    trainer = os.path.join(folder, f"{network}-{replicas}.trainer")
    subprocess.run([os.path.join(bin_, "sinterc"), os.path.join(folder, f"{network}-train.onnx"),
                    "-o", trainer, f"--batch={batch}", f"--replicas={replicas}", "--train",
                    f"--loss={training.loss}", f"--optimizer={training.optimizer}",
                    *(f"--{key}={value}" for key, value in training.options.items())], check=True)
    return trainer


def prepare(network, folder):
    """Makes the model, and data for two processes: the batch of one, and the trainer's option."""
    batch = batchOf(network)
    row = rows.Row(network, "train", 2 * batch, "fp32", 1)
    subprocess.run([MODELS_PYTHON, os.path.join(HERE, "models.py"), folder, network, "train",
                    str(row.batch)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return batch, "--data=npz:" + os.path.join(folder, row.data)


def measure(network, folder, bin_, python, roundCount, seconds):
    batch, data = prepare(network, folder)
    trainers = {count: compile(bin_, folder, network, batch, count) for count in (1, 2)}
    sides = [
        Side("Sinter", lambda replicas, steps: [
            trainers[replicas], "bench", "--json", "--shuffle=false", "--threads=1", data,
            f"--steps={steps}"], seconds),
        Side("PyTorch", lambda replicas, steps: [
            python, os.path.abspath(__file__), "--steps-of", folder, network, str(batch),
            str(steps)], seconds)]
    for _ in range(roundCount):
        for side in sides:
            side.round()
    for side in sides:
        side.report(network)


def main():
    if sys.argv[1:2] == ["--steps-of"]:
        folder, network, batch, steps = sys.argv[2:]
        return torchSteps(folder, network, int(batch), int(steps))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build", "release"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    options = parser.parse_args()
    folder = os.path.join(options.build, "bench", "scaling")
    os.makedirs(folder, exist_ok=True)
    python = os.path.join(options.build, "bench", "venv", "bin", "python3")
    if not os.path.exists(python):
        sys.exit(f"{python}: is missing; tools/dev bench makes it")
    print(f"{'network':8} {'':8} {'alone ms':>10} {'apart ms':>10} {'together':>10} "
          f"{'efficiency':>10} {'overhead':>10}")
    for network in options.networks:
        measure(network, folder, os.path.join(options.build, "bin"), python, options.rounds,
                options.seconds)


if __name__ == "__main__":
    main()
