"""The mutations that run.py plants: each makes one error go unreported.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

A place (`old`) occurs once in its file. `checks` are unit tests, as program or program:name,
and lit tests, by path; one of them must fail.
"""

from typing import NamedTuple

DERIVATIVES, OPS = "sinter-derivative-tests", "sinter-op-tests"
IMPORT, RUNTIME = "sinter-import-tests", "sinter-runtime-tests"
INTERVALS = "sinter-ir-tests:intervals*"
INDICES = ("test/e2e/indices/operators.test",)
WORDS = ("test/e2e/indices/trainer.test",)
STEPS = (OPS + ":*index out of range*",)


class Silence(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    checks: tuple


GRADIENTS = "passes/autodiff/Elementwise.cpp"
ONNX = "compiler/import/onnx/"
HARNESS = "runtime/harness/"

SILENCES = [
    # Derivatives at the points that matter.
    Silence("relu-at-zero", GRADIENTS,
            "b.where(b.compare(CompareKind::gt, z, 0.0), g, 0.0)",
            "b.where(b.compare(CompareKind::ge, z, 0.0), g, 0.0)", (DERIVATIVES,)),
    Silence("root-at-zero", GRADIENTS, "if (isSumOfSquares(x))", "if (false)", (DERIVATIVES,)),
    Silence("abs-at-zero", GRADIENTS, "return b.mul(g, b.make<SignOp>(x));",
            "return b.where(b.compare(CompareKind::ge, x, 0.0), g, b.neg(g));", (DERIVATIVES,)),
    Silence("tanh-slope", GRADIENTS, "return b.mul(g, b.sub(1.0, b.square(z)));",
            "return b.mul(g, b.sub(1.0, z));", (DERIVATIVES,)),
    Silence("rewrites-before-train", "compiler/Phases.cpp",
            "bool isDifferentiated = context.options.train.enabled;",
            "bool isDifferentiated = false;",
            ("sinter-derivative-tests", "test/e2e/training/relu-adam.test",
             "test/compiler/driver/phases.test")),
    Silence("keeps-no-derivatives", "passes/simplify/SimplifyAlgebra.cpp", "if (!keepDerivatives)",
            "if (true)", (DERIVATIVES,)),

    # What the importer reads.
    Silence("unread-attribute", ONNX + "Node.cpp",
            "if (!isAbsent && !readAttrs_.contains(attribute.name()))", "if (false)", (IMPORT,)),
    Silence("unread-input", ONNX + "Node.cpp",
            "if (inputs_[i] && !readInputs_[unsigned(i)])", "if (false)", (IMPORT,)),
    Silence("resize-outside", ONNX + "Resize.cpp",
            "if (excludes && (at < 0 || at >= double(axis.input)))",
            "if ((excludes || smooths) && (at < 0 || at >= double(axis.input)))", (IMPORT,)),
    Silence("grid-border", ONNX + "GridSample.cpp", "return isCubic ? v : clamp(v, 0, size - 1);",
            "return clamp(v, 0, size - 1);", ("test/e2e/inference/sampling.test",)),

    # Indices.
    Silence("unchecked-gather", ONNX + "Index.cpp",
            "return n.checkIndices(index, -size, size);", "return true;", INDICES),
    Silence("index-beyond-the-end", ONNX + "Index.cpp",
            "return n.checkIndices(index, -size, size);",
            "return n.checkIndices(index, -size, size + 1);", INDICES),
    Silence("index-before-the-begin", ONNX + "Index.cpp",
            "return n.checkIndices(index, -size, size);",
            "return n.checkIndices(index, -size - 1, size);", INDICES),
    Silence("one-column-of-tuples", ONNX + "Index.cpp",
            "if (!checkIndices(n, column, size))\n      return false;",
            "return checkIndices(n, column, size);", INDICES),
    Silence("labels-of-loss-nodes", ONNX + "Loss.cpp",
            "if (!n.checkIndices(labels, 0, scores[1]))", "if (false)", INDICES),
    Silence("branch-not-taken", ONNX + "Control.cpp",
            "n.graph().pushGuard(condition, /*taken=*/i == 0);",
            "n.graph().pushGuard(condition, /*taken=*/i == 1);", INDICES),
    Silence("lengths-of-sequences", ONNX + "Recurrent.cpp",
            "if (!n.checkIndices(lengths_, 0, steps_ + 1))", "if (false)", INDICES),
    Silence("known-index", ONNX + "IndexChecks.cpp", "if (index < lower || index >= upper) {",
            "if (false) {", (IMPORT, "test/fuzz/bad-inputs.test")),
    Silence("range-of-a-sum", "ir/Intervals.cpp",
            "return Interval{x().low + y().low, x().high + y().high};",
            "return Interval{x().low, x().high};", (INTERVALS,)),
    Silence("range-of-a-cast", "ir/Intervals.cpp", "return isCut ? x().joined({0, 0}) : x();",
            "return x();", (INTERVALS,)),
    Silence("fault-not-read", "runtime/exec/RunEntry.cpp", "return checkIndices();\n}",
            "return {};\n}", INDICES),
    Silence("fault-not-read-on-gpus", "runtime/exec/Staging.cpp",
            "if (!entry.numIndexChecks)\n    return {};", "if (true)\n    return {};", INDICES),
    Silence("first-check-only", "runtime/exec/IndexChecks.cpp", "i < checks.size(); ++i)",
            "i < 1; ++i)", INDICES),
    Silence("update-applied", "passes/train/BuildTraining.cpp",
            "    if (sound)\n", "    if (false && sound)\n", STEPS),
    Silence("micro-batch-forgotten", "passes/train/TrainingIndices.cpp",
            "b.where(isFault(before), before, b.where(isFault(found), here, before));",
            "here;", STEPS),
    Silence("row-of-another-batch", "runtime/exec/IndexChecks.cpp",
            "return position / check->stride % check->rows;", "return position % check->rows;",
            WORDS),
    Silence("evaluation-unchecked", "passes/train/BuildTraining.cpp",
            "eval.addIndexFaults(IndexChecks(main, plan.batch, options));", "", WORDS),

    # Runs that go on.
    Silence("lr-not-in-the-manifest", HARNESS + "TrainerOptions.cpp",
            "get(o.lr)},", "nullptr},", (RUNTIME,)),
    Silence("warmup-not-in-the-manifest", HARNESS + "TrainerOptions.cpp",
            "get(o.warmupSteps)},", "nullptr},", (RUNTIME,)),
    Silence("clip-not-in-the-manifest", HARNESS + "TrainerOptions.cpp",
            "get(o.clipNorm)},", "nullptr},", (RUNTIME,)),
    Silence("option-not-taken-over", HARNESS + "TrainerOptions.cpp",
            "SINTER_RETURN_IF_ERROR(now[i].set(text));", "", (RUNTIME,)),
    Silence("difference-not-said", HARNESS + "TrainerResume.cpp",
            'say("resume: " + difference);', "", (RUNTIME,)),
    Silence("another-recipe", HARNESS + "TrainerResume.cpp",
            "if (difference.changesSlots && !options_.allowChangedRecipe)", "if (false)",
            ("test/e2e/trainer/resume-recipe.test",)),
    Silence("recipe-difference-not-said", HARNESS + "TrainerResume.cpp",
            'say("resume: compiled with " + difference.text +', '(void)("" + difference.text +',
            ("test/e2e/trainer/resume-recipe.test",)),
    Silence("another-batch", HARNESS + "TrainerResume.cpp",
            "if (manifest.batch != order_.batch)", "if (false)",
            ("test/e2e/trainer/resume-recipe.test",)),
    Silence("other-data", HARNESS + "TrainerResume.cpp",
            "if (!sameData && !options_.acceptDatasetChange)", "if (false)", (RUNTIME,)),
    Silence("not-finite-saved", HARNESS + "TrainerSave.cpp",
            "Status finite = session_->states().checkFinite(session_->program());",
            "Status finite;", (RUNTIME, "test/e2e/nonfinite/injections.test")),
    Silence("not-finite-loaded", "runtime/train/Checkpoint.cpp",
            "Status finite = table.checkFinite(program);", "Status finite;", (RUNTIME,)),
    Silence("newest-not-sound", "runtime/train/Checkpoint.cpp",
            "table.checkFinite(program).ok())", "true)", (RUNTIME,)),
    Silence("spare-not-written", HARNESS + "TrainerSave.cpp",
            ": saveToSpare(saved);", ": saved;", (RUNTIME,)),
    Silence("json-nan", HARNESS + "JsonLog.cpp",
            'jsonNumber(double value) {\n  if (!std::isfinite(value))\n    return "null";',
            "jsonNumber(double value) {", (RUNTIME,)),
    Silence("damaged-manifest", "runtime/train/Manifest.cpp",
            "SINTER_RETURN_IF_ERROR(checkHash(text));", "", (RUNTIME,)),

    # --init.
    Silence("slots-as-weights", "runtime/train/StateTableLoad.cpp",
            "if (isSlot && !options.slots) {", "if (false) {", (RUNTIME,)),
    Silence("tied-weights-differ", "runtime/train/StateTableLoad.cpp", "if (one != two)",
            "if (false)", ("test/e2e/exports/init-alias.test",)),
    Silence("loss-not-finite-applied", "passes/train/TrainingSkip.cpp",
            "scaling.skipsSteps() ? Value() : isFinite(b, loss);", "Value();",
            ("test/e2e/nonfinite/kept-states.test",)),
    Silence("output-lost", HARNESS + "Harness.cpp",
            "if (std::fflush(stdout) == 0 && !std::ferror(stdout))", "if (true)",
            ("test/e2e/trainer/full-output.test",)),
    Silence("log-records-lost", HARNESS + "LogFile.cpp", "++numLost_;", "",
            ("test/e2e/trainer/full-output.test",)),
    Silence("rounded-in-between", "compiler/import/onnx/Registry.cpp",
            '"ReduceLogSum", "ReduceLogSumExp", true', '"ReduceLogSum", "ReduceLogSumExp", false',
            (IMPORT,)),
    Silence("init-missing-not-said", HARNESS + "TrainerResume.cpp",
            "if (!report->missing.empty())", "if (false)", (RUNTIME,)),
    Silence("init-skip-unused", HARNESS + "TrainerResume.cpp", "if (!isUsed[i])", "if (false)",
            (RUNTIME,)),
    Silence("two-tensors-of-a-name", "runtime/train/StateTableLoad.cpp",
            "mapped.emplace(name, entry.name); !isNew)",
            "mapped.emplace(name, entry.name); false && !isNew)", (RUNTIME,)),

    # Data.
    Silence("npz-checksum", "runtime/data/ByteSource.cpp", "if (crc != crc_)", "if (false)",
            (RUNTIME,)),
    Silence("rounded-integers", "runtime/data/Convert.cpp",
            "!(std::fabs(wide[i]) > largestRounded &&", "!(false &&", (RUNTIME,)),
    Silence("label-column-guessed", "runtime/data/CsvColumns.cpp", "if (found.size() > 1)",
            "if (false)", (RUNTIME,)),
    Silence("columns-by-position", "runtime/data/CsvColumns.cpp",
            "if (wanted.empty() || others == wanted)", "if (true)", (RUNTIME,)),
    Silence("last-column-not-said", "runtime/data/CsvColumns.cpp",
            'note("no column is called label, labels or y; the last one, " +',
            '(void)("" +', (RUNTIME,)),
    Silence("flag-given-twice", "runtime/base/CommandLine.cpp",
            "if (isGiven[index] && !form.repeats)", "if (false)",
            (RUNTIME, "test/compiler/driver/options.test")),
    Silence("repeated-flag-keeps-the-last", "compiler/options/Options.cpp",
            "found.values[rows[form]].emplace_back(value);",
            "found.values[rows[form]] = {std::string(value)};",
            ("test/compiler/driver/options.test",)),
    Silence("data-changed-while-read", HARNESS + "TrainerSave.cpp",
            "if (same.ok() || same.systemError() == 0)\n    return same;",
            "if (same.ok() || same.systemError() == 0)\n    return {};", (RUNTIME,)),
    Silence("touched-data-not-said", "runtime/data/ByteSource.cpp",
            "return reportedNs_.exchange(now) != now;", "return false;", (RUNTIME,)),
    Silence("missing-log-records-not-said", HARNESS + "JsonLog.cpp", "if (kept.numMissing > 0)",
            "if (false)", (RUNTIME,)),
    Silence("removed-out-not-said", "runtime/train/CheckpointStore.cpp",
            '"warning: %s: was removed or renamed during the run; "', '"%s"', (RUNTIME,)),
    Silence("libm-without-libraries", "backends/cpu/codegen/CpuTarget.cpp",
            "(!hasLibrary && traits.rounding == SINTER_POST_FUNCTION)", "false",
            ("test/e2e/determinism/activations.test",)),
    Silence("nothing-as-a-loop", "passes/fuse/Cluster.cpp",
            "bool isFixed = size == 1 && i.terms.empty();", "bool isFixed = size == 1;",
            (OPS + ":compiled*",)),

    Silence("labels-by-name", "runtime/data/BatchReader.cpp",
            "binding.isLabels = labels;", "binding.isLabels = false;", (RUNTIME,)),
    Silence("unknown-op-keeps-rows", "passes/RowDependence.cpp",
            "place = asked.getResultRows(dims, batch);\n",
            "place = asked.getResultRows(dims, batch);\n    else if (!mixing)\n"
            "      place = commonRows(dims);\n",
            (OPS + ":rows are followed*",)),

    # Blocks.
    Silence("lr-final-not-reached", "runtime/train/Schedule.cpp",
            "options_.totalSteps - options_.warmupSteps - 1);",
            "options_.totalSteps - options_.warmupSteps);", (RUNTIME,)),
    Silence("steps-with-warmup", "runtime/train/Schedule.cpp",
            "double t = static_cast<double>(step - options_.warmupSteps);",
            "double t = static_cast<double>(step);", (RUNTIME,)),
    Silence("lr-final-without-meaning", "runtime/train/Schedule.cpp",
            "if (options.lrFinal && !usesFinal(text))", "if (false)", (RUNTIME,)),

    # Programs, names and the machine.
    Silence("two-threads-at-once", "runtime/exec/CApi.cpp",
            "if (program.isBusy.exchange(true, std::memory_order_acquire))", "if (false)",
            (RUNTIME,)),
    Silence("output-over-input", "compiler/emit/OutputFile.cpp",
            "if (!error && fs::is_regular_file(status) && fs::equivalent(path, input))",
            "if (false)", ("test/compiler/emit/name.test",)),
    Silence("packed-weights-apart", "backends/cpu/device/PackedStore.cpp",
            "std::memcmp(other.get(), part.get(), sizeBytes) == 0)", "false)",
            ("test/e2e/library/instances.test",)),
    Silence("constants-apart", "runtime/exec/SharedConstants.cpp", "known = made;", "",
            ("test/e2e/library/instances.test", RUNTIME)),
    Silence("state-after-warm-up", "runtime/exec/WarmUp.cpp", "return initializeStates();",
            "return {};", (RUNTIME,)),
    Silence("zero-states-after-warm-up", "runtime/exec/WarmUp.cpp",
            "if (uint64_t sizeBytes = stateBytes(*artifact_, i))",
            "if (uint64_t sizeBytes = 0)", ("test/e2e/library/instances.test", RUNTIME)),
    Silence("quota-of-the-parent", "runtime/base/ControlGroup.cpp",
            'if (path.empty() || path == "/")', "if (true)", (RUNTIME,)),
    Silence("pattern-without-a-match", "compiler/checks/NameChecks.cpp",
            'return "--keep-fp32=" + pattern + kNone;', "continue;",
            ("test/compiler/driver/names.test", "test/compiler/driver/options.test")),
]
