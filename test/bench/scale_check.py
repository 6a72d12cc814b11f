#!/usr/bin/env python3
"""What `sinter-inspect scale` predicts, beside what two processes do over a slow link.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    scale_check.py [--build=FOLDER] [--rounds=N] [NETWORK...]
                              (root; Debian: iproute2, python3-torch, python3-onnx)

Two network namespaces play two hosts; the kernel's token bucket (tc tbf) limits the link between
them. Commands take the times of a profile of two replicas in one process, made anew before each
measurement. Printed are medians; the last column is that of predicted over measured times.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e", "replicas")]
import hosts
import weak_scaling

RATES = [0.4, 0.1, 0.025]  # GB/s
LATENCY_US = 100  # that of a phase: a few packets there and back, and threads that wake up
COPY_GBPS = 4.0   # what one core stages, sums and copies back


def shape(rate):
    # What a bucket that has filled up lets through at once would make short messages faster than
    # the rate: 0.3 ms of it, and a few packets at least.
    burst = max(16, int(rate * 300))
    for host, link in zip(hosts.HOSTS, hosts.LINKS):
        subprocess.run(["ip", "netns", "exec", host, "tc", "qdisc", "replace", "dev", link, "root",
                        "tbf", "rate", f"{rate * 8000:.0f}mbit", "burst", f"{burst}kb", "latency", "2s"],
                       check=True)


def profileOf(trainer, data, folder):
    profile = os.path.join(folder, "profile.json")
    with open(profile, "w") as file:
        subprocess.run([trainer, data, "--shuffle=false", "--threads=1", "--steps=13", "--profile",
                        "--json", "--quiet"], check=True, stdout=file)
    return profile


def predicted(bin_, trainer, profile, folder, rate):
    fabric = os.path.join(folder, "fabric.json")
    with open(fabric, "w") as file:
        json.dump({"links": [{"latency_us": LATENCY_US, "gb_per_s": rate}],
                   "copy_gb_per_s": COPY_GBPS}, file)
    out = subprocess.run([os.path.join(bin_, "sinter-inspect"), "scale", trainer, "--world=2",
                          "--fabric=" + fabric, "--profile=" + profile, "--json"], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)["steps"][0]


def measured(trainer, data, steps):
    command = ["taskset", "-c", "0", trainer, "bench", "--json", "--shuffle=false", "--threads=1",
               data, f"--steps={steps}"]
    leader, running = next(iter(hosts.HOSTS.values())), []
    for rank, host in enumerate(hosts.HOSTS):
        command[2] = str(rank)
        running.append(subprocess.Popen(
            ["ip", "netns", "exec", host, *command, f"--rank={rank}", "--world=2",
             f"--leader={leader}:29500"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    return weak_scaling.meanOf(running)


def checkNetwork(network, options, folder, bin_):
    batch, data = weak_scaling.prepare(network, folder)
    trainer = weak_scaling.compile(bin_, folder, network, batch, 2)
    for rate in RATES:
        shape(rate)
        pairs = []
        for _ in range(options.rounds):
            profile = profileOf(trainer, data, folder)
            step = predicted(bin_, trainer, profile, folder, rate)
            steps = max(8, int(1500 / step["step_ms"]))
            pairs.append((step["compute_ms"], step["step_ms"], measured(trainer, data, steps)))
        compute, ours, found = (statistics.median(column) for column in zip(*pairs))
        ratio = statistics.median(pair[1] / pair[2] for pair in pairs)
        print(f"{network:8} {rate:6} {compute:10.3f} {ours:10.3f} {found:10.3f} {ratio:6.2f}",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build", "release"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("networks", nargs="*", default=weak_scaling.NETWORKS)
    options = parser.parse_args()
    folder, bin_ = os.path.join(options.build, "bench", "scaling"), os.path.join(options.build, "bin")
    os.makedirs(folder, exist_ok=True)
    print(f"{'network':8} {'GB/s':>6} {'compute':>10} {'predicted':>10} {'measured':>10} "
          f"{'ratio':>6}")
    hosts.build()
    try:
        for network in options.networks:
            checkNetwork(network, options, folder, bin_)
    finally:
        hosts.remove()


if __name__ == "__main__":
    main()
