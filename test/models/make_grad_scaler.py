"""Writes grad-scaler-ref.json: PyTorch's GradScaler over the steps of test/e2e/Inputs/overflows.py.

Part of Sinter, under Apache-2.0 WITH LLVM-exception. Needs PyTorch 2.3 or newer.
"""

import json
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e", "Inputs"))
import overflows


def main():
    torch.set_num_threads(1)
    x, c = overflows.inputs()
    x = torch.tensor(x).reshape(overflows.STEPS, overflows.BATCH, overflows.WIDTH)
    c = torch.tensor(c).reshape(overflows.STEPS, overflows.BATCH, 1)
    w = torch.ones(overflows.WIDTH, 1, requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=1e-3)
    scaler = torch.amp.GradScaler("cpu")
    changes, skipped, last = [], 0, None
    for step in range(overflows.STEPS):
        scale = scaler.scale(torch.ones(()))
        used = scale.item()
        # What fp16 contractions multiply, summed in float32.
        w.grad = x[step].half().float().T @ (c[step] * scale).half().float()
        scaler.step(optimizer)
        scaler.update()
        skipped += scaler.get_scale() < used
        if last != (used, skipped):
            changes.append({"step": step + 1, "scale": used, "skipped": skipped})
        last = (used, skipped)
    state = scaler.state_dict()
    reference = {
        "torch": torch.__version__, "changes": changes,
        "states": {"loss_scale": state["scale"], "growth_tracker": state["_growth_tracker"],
                   "skipped_steps": skipped, "t": int(optimizer.state[w]["step"].item())},
        "w": w.detach().flatten().tolist()}
    with open(os.path.join(HERE, "grad-scaler-ref.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(reference, indent=None, separators=(",", ":")) + "\n")
    print(f"{len(changes)} changes, {skipped} skipped, scales "
          f"{min(c['scale'] for c in changes)} to {max(c['scale'] for c in changes)}")


if __name__ == "__main__":
    main()
