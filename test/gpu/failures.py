"""Why something failed, as one line: of a framework's exception, or of what a process said.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Python's standard library only; bench.py's and peers.py's processes use it.
"""

import re

NO_MEMORY = re.compile(r"out of memory|RESOURCE_EXHAUSTED|ALLOC_FAILED|OUT_OF_MEMORY", re.I)
# After these no figure of the process can be trusted: its CUDA context is lost, or about to be.
BROKEN = re.compile(r"AcceleratorError|illegal memory access|ILLEGAL_ADDRESS|"
                    r"unspecified launch failure|device-side assert|misaligned.address|"
                    r"illegal instruction|LAUNCH_FAILED|LAUNCH_TIMEOUT", re.I)
# What frameworks add to every message.
ADVICE = re.compile(r"Set TORCHDYNAMO_VERBOSE|TORCHDYNAMO|TORCH_LOGS|You can suppress|"
                    r"CUDA kernel errors might|For debugging consider|Compile with `TORCH|"
                    r"Search for `cuda|Device-side assertion tracking|torch\._dynamo\.config")
LENGTH = 200


def named(text):
    """`text`, which begins with "out of memory" if that is the reason."""
    isPlain = text.lower().startswith("out of memory")
    return f"out of memory: {text}" if NO_MEMORY.search(text) and not isPlain else text


def chain(error):
    """The exception and its causes, the innermost last."""
    found = []
    while error is not None and error not in found:
        found.append(error)
        error = getattr(error, "inner_exception", None) or error.__cause__ or error.__context__
    return found


def textOf(error):
    """The kind and the first line that tells something. A line that ends with a colon, such as
    "backend='inductor' raised:", announces the next one."""
    lines = [line.strip() for line in str(error).splitlines()
             if line.strip() and not ADVICE.search(line)]
    words = [type(error).__name__ + ":"]
    for line in lines:
        words.append(line)
        if not line.endswith(":"):
            break
    return " ".join(words)


def reason(error):
    """One line. Where an exception announces a reason and gives none, its causes do."""
    texts = []
    for each in chain(error):
        text = textOf(each)
        if not texts or not texts[-1].endswith(text):
            texts.append(text)
        if not text.endswith(":"):
            break
    whole = " ".join(texts).rstrip(":")
    # What lies deeper counts, too: a compiler that has no memory says that it has no choice.
    isFull = any(NO_MEMORY.search(f"{type(each).__name__} {each}") for each in chain(error))
    text = f"out of memory: {whole}" if isFull else whole
    return text[:LENGTH]


def isBroken(error):
    """Whether the process must not go on."""
    return any(BROKEN.search(f"{type(each).__name__} {each}") for each in chain(error))


def whyNot(error):
    """As peers.py answers: {"skip": why}, with "broken" if the process must not go on."""
    if isinstance(error, ImportError):
        return {"skip": f"not installed ({error})"}
    return {"skip": reason(error), **({"broken": True} if isBroken(error) else {})}


def brokenBy(answer):
    """The reason why a process must not go on, of its answer or of one side in it; or None."""
    for part in (answer, *answer.values()):
        if isinstance(part, dict) and part.get("broken"):
            return part["skip"]
    return None
