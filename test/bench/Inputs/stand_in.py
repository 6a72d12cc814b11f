"""A side of a row that computes nothing: it says the times that it is told to say.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    stand_in.py NAME LOG MS[,MS...] ERROR [skip=WHY] [breaks=COUNT] [losses=X,X,...]

Speaks as peers.py does or, with the name sinter, as `sinter-run --bench --rounds=stdin`; with
losses, which are those of the first steps, as a trainer's `bench`. Writes its name to LOG for each
request to run; the times are those of the rounds, the last one again for the requests before them.
`breaks`: the request that ends it.
"""

import json
import sys

name, log, times, error = sys.argv[1:5]
options = dict(option.split("=", 1) for option in sys.argv[5:])
times = [float(text) for text in times.split(",")]
losses = [float(text) for text in options.get("losses", "").split(",") if text]
# Requests before the first round.
BEFORE = 2 + max(1, len(losses)) if name == "sinter" else 2


def say(answer):
    print(json.dumps(answer), flush=True)


if "skip" in options:
    say({"skip": options["skip"]})
    sys.exit()
if name != "sinter":
    say({"compile_s": 0.25, "version": "1." + str(len(name)), "losses": losses})
requests = 0
for line in sys.stdin:
    if name != "sinter" and "check" in json.loads(line):
        say({"error": float(error), **{key: float(options[key]) for key in ("distance", "farther")
                                       if key in options}})
        continue
    requests += 1
    if requests == int(options.get("breaks", 0)):
        sys.exit(f"{name} broke")
    with open(log, "a") as file:
        file.write(f"{name}\n")
    index = requests - BEFORE - 1
    ms = times[index % len(times)] if index >= 0 else times[-1]
    if name != "sinter":
        say({"ms": ms})
    elif losses:
        say({"steps": 1, "ms_per_step": ms, "loss": losses[min(requests, len(losses)) - 1]})
    else:
        say({"runs": 1, "ms_per_run": ms})
