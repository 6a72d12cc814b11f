"""The op list on the device: value and gradient of every op beside the evaluation in float64.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os

from results import lastLine

GROUP = "ops"


def prepare(bundle):
    if not bundle.small:
        bundle.addTools(["sinter-op-tests"])


def run(context, results):
    names = {libraries: f"value and gradient, libraries={libraries}"
             for libraries in ("all", "none")}
    if not os.path.exists(context.path("bin", "sinter-op-tests")):
        return results.skip(GROUP, names.values(), "sinter-op-tests is not in the folder")

    def check(libraries):
        environment = dict(context.environment, SINTER_TEST_TARGET=context.kind,
                           SINTER_TEST_LIBRARIES=libraries)
        context.run(GROUP, names[libraries], [*context.program("bin", "sinter-op-tests"),
                                              "[compiled]"], 300, lastLine, env=environment)
    return context.inParallel(check, names)
