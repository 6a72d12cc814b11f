"""Five schedules of threads and streams give the same losses and states.

schedules.py TRAINER FOLDER OPTION..: writes FOLDER/seed0.json, the log of schedule 0.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import subprocess
import sys

trainer, folder, options = sys.argv[1], sys.argv[2], sys.argv[3:]


def train(seed):
    run = f"{folder}/seed{seed}"
    environment = dict(os.environ, SINTER_SIM=f"seed={seed}")
    subprocess.run([trainer, *options, "--quiet", f"--out={run}", f"--log-json={run}.json"],
                   env=environment, check=True)
    subprocess.run([trainer, "export", f"--checkpoint={run}", "-o", f"{run}.safetensors"],
                   check=True)
    result = []
    for name in (f"{run}.json", f"{run}.safetensors"):
        with open(name, "rb") as file:
            result.append(file.read())
    return result


first = train(0)
for seed in range(1, 5):
    assert train(seed) == first, f"schedule {seed} gives another result than schedule 0"
