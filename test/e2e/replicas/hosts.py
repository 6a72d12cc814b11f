"""Trains in two network namespaces, which play two hosts with one link between them.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

hosts.py TRAINER FOLDER -- OPTIONS...
hosts.py --check: exits 0 if this machine lets us make namespaces (root, iproute2).
"""

import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from checkpoints import sameState
from jobs import alone, awaitSteps, check, finish

HOSTS = {f"sinter-{os.getpid()}-{i}": f"10.98.77.{i + 1}" for i in range(2)}
LINKS = [f"sin{os.getpid() % 100000}{side}" for side in "ab"]


def ip(*words):
    subprocess.run(["ip", *words], check=True, stderr=subprocess.DEVNULL)


def build():
    for host in HOSTS:
        ip("netns", "add", host)
    ip("link", "add", LINKS[0], "type", "veth", "peer", "name", LINKS[1])
    for (host, address), link in zip(HOSTS.items(), LINKS):
        ip("link", "set", link, "netns", host)
        ip("-n", host, "addr", "add", address + "/24", "dev", link)
        ip("-n", host, "link", "set", "lo", "up")
        ip("-n", host, "link", "set", link, "up")


def remove():
    for host in HOSTS:
        subprocess.run(["ip", "netns", "del", host], stderr=subprocess.DEVNULL)


def start(trainer, options, tokens=None, perHost=1):
    leader = next(iter(HOSTS.values()))
    ranks = [host for host in HOSTS for _ in range(perHost)]
    return [subprocess.Popen(
        ["ip", "netns", "exec", host, trainer, *options, f"--rank={rank}", f"--world={len(ranks)}",
         f"--leader={leader}:29500"],
        env=dict(os.environ, SINTER_TOKEN=tokens[rank] if tokens else ""), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True) for rank, host in enumerate(ranks)]


def expect(results, codes, *texts):
    for (code, text), expected, part in zip(results, codes, texts):
        check(code == expected and part in text,
              f"expected {expected} and '{part}', got {code}: {text}")


def test(trainer, folder, options):
    one, two = os.path.join(folder, "alone"), os.path.join(folder, "hosts")
    alone(trainer, [*options, "--steps=24"], one)
    run = [*options, "--steps=24", "-v", "--out=" + two]
    for perHost, transport in ((1, "TCP"), (2, "shared memory and TCP")):
        shutil.rmtree(two, ignore_errors=True)
        expect(finish(start(trainer, run, perHost=perHost)), [0] * 2 * perHost,
               f" bytes by {transport}, ", *[""] * (2 * perHost - 1))
        check(sameState(one, two), "another checkpoint")
        print(f"two hosts, each with {perHost}: the same bytes")

    leader, other = start(trainer, [*options, "--steps=24"], tokens=("a", "b"))
    expect(finish([other]), (2,), "the token is another one")
    leader.terminate()
    expect(finish([leader]), (75,), "interrupted while rank 0 was waiting")
    print("another token: refused")

    log = two + ".json"
    both = start(trainer, [*options, "--steps=100000000", "--comm-timeout=4s", "--log-json=" + log])
    awaitSteps(log)
    ip("-n", list(HOSTS)[1], "link", "set", LINKS[1], "down")
    expect(finish(both), (75, 75), "rank 1 (10.98.77.2", "rank 0 (10.98.77.1")
    print("the link is cut: both end")


def main():
    if sys.argv[1] == "--check":
        try:
            build()
        finally:
            remove()
        return
    split = sys.argv.index("--")
    trainer, folder = sys.argv[1:split]
    try:
        build()
        test(trainer, folder, sys.argv[split + 1:])
    finally:
        remove()


if __name__ == "__main__":
    main()
