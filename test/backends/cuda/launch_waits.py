"""Checks how the kernels of a PTX file wait for the launches before them.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    launch_waits.py FILE.ptx

For sm_90 and newer, each kernel waits before it uses memory other than its parameters, then lets
the next launch begin, and reads nothing as constant. For older architectures none waits.
"""

import re
import sys

MEMORY = re.compile(r"\b(ld(?!\.param)|st|atom|red|cp\.async|membar|fence|bar|ldmatrix)\b")


def problem(body, architecture):
    """What is wrong with a kernel; "" if nothing."""
    begin = body.find("griddepcontrol.wait;")
    if architecture < 90:
        return "waits" if "griddepcontrol" in body else ""
    if begin < 0:
        return "does not wait"
    if found := MEMORY.search(body[:begin]):
        return f"has {found.group(0)} before the wait"
    if re.search(r"^\$L\w+:", body[:begin], re.M) or re.search(r"\bbra\b", body[:begin]):
        return "does not wait in every thread"
    if "griddepcontrol.launch_dependents;" not in body[begin:]:
        return "does not let the next launch begin"
    return "has ld.global.nc" if "ld.global.nc" in body else ""


def main():
    (path,) = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    architecture = int(re.search(r"\.target sm_(\d+)", text).group(1))
    kernels = re.findall(r"\.entry (\w+)\(.*?\n\{(.*?)\n\}", text, re.S)
    wrong = [f"{name} {why}" for name, body in kernels if (why := problem(body, architecture))]
    print("\n".join(wrong + [f"sm_{architecture}: {len(kernels)} kernels, {len(wrong)} problems"]))
    sys.exit(1 if wrong or not kernels else 0)


if __name__ == "__main__":
    main()
