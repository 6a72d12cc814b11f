"""The defects that bisect.py plants: each makes a program compute wrong numbers.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

A place (`old`) occurs once in its file. `command` is what follows `sinter-inspect bisect`, with
a model of test/models or a file of this folder with its subfolder. `names` are regular expressions; each must match
a line of the output.
"""

from typing import NamedTuple


class Defect(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    command: str
    names: tuple
    code: int = 5  # 1: a verifier of the compiler finds it before


ARITHMETIC = "passes/simplify/SimplifyArithmetic.cpp"
CONTRACTIONS = "passes/simplify/SimplifyContractions.cpp"
GRADIENTS = "passes/autodiff/"
DECOMPOSE = "ir/decompose/"
RECOGNIZE = "passes/recognize/"
LAYOUT = "passes/layout/"
PLAN = "passes/plan/"
COMMON = "backends/common/codegen/"
GPU = "backends/gpu/codegen/"

MLP = "train-mlp-sgd.onnx --train --batch=4"
ADAM = "train-mlp-adam.onnx --train --optimizer=adam --batch=4"
CNN = "train-cnn-adam.onnx --train --optimizer=adam --batch=4"
ENCODER = "train-encoder-adamw.onnx --train --optimizer=adamw --batch=4"
SCAN = "train-lstm-adam.onnx --train --optimizer=adam --batch=8 --unroll-scans=1"

DEFECTS = [
    # Simplify and recognize.
    Defect("power-as-sum", ARITHMETIC,
           "rewriter.replaceOpWithNewOp<MulOp>(op, op.getLhs(), op.getLhs());",
           "rewriter.replaceOpWithNewOp<AddOp>(op, op.getLhs(), op.getLhs());",
           "fusion-layer-norm.onnx", (r"pass +simplify-algebra", r"pattern .*ExpandPower.*'/Pow'",
                                      r"nodes +\S")),
    Defect("division-by-power-of-two", ARITHMETIC,
           "splatLike(rewriter, op.getLoc(), op.getRhs(), 1 / *number));",
           "splatLike(rewriter, op.getLoc(), op.getRhs(), *number));",
           "models/arithmetic.mlir", (r"pass +simplify-algebra", r"pattern .*DivideByPowerOfTwo.*'scaled'",
                                      r"nodes +.*scaled")),
    Defect("folded-shift-dropped", CONTRACTIONS,
           "Value shift = b.add(b.mul(offset, factor), op.getBias());",
           "Value shift = b.mul(offset, factor);", "mlp.onnx --batch=4",
           (r"pass +simplify-algebra", r"pattern .*BatchNormIntoWeights", r"nodes +.*BatchNorm")),
    Defect("folded-epsilon-dropped", CONTRACTIONS,
           "b.sqrt(b.add(op.getVariance(), op.getEpsilon().convertToDouble())));",
           "b.sqrt(op.getVariance()));", "models/normalised.mlir",
           (r"pass +simplify-algebra", r"pattern .*BatchNormIntoWeights", r"nodes +.*normalised")),
    Defect("negation-lost", ARITHMETIC,
           "? rewriter.create<SubOp>(loc, lhs, negation.getX()).getResult()",
           "? rewriter.create<AddOp>(loc, lhs, negation.getX()).getResult()",
           "models/arithmetic.mlir", (r"pass +simplify-algebra", r"pattern .*AbsorbNegation",
                                      r"nodes +.*difference")),
    Defect("sign-of-factor", ARITHMETIC,
           "Value negated = splatLike(rewriter, loc, factorValue, -factor);",
           "Value negated = splatLike(rewriter, loc, factorValue, factor);",
           "models/arithmetic.mlir", (r"pass +simplify-algebra", r"pattern .*MoveSignIntoFactor",
                                      r"nodes +.*opposite")),
    Defect("wrong-bound-kept", ARITHMETIC,
           "isMax ? *innerBound >= *outerBound : *innerBound <= *outerBound;",
           "isMax ? *innerBound <= *outerBound : *innerBound <= *outerBound;",
           "models/arithmetic.mlir", (r"pass +simplify-algebra", r"pattern .*MergeBounds",
                                      r"nodes +.*bounded")),
    Defect("transpose-into-product", CONTRACTIONS,
           "      rhsContract = throughTranspose(right, rhsContract);\n", "",
           "models/square.mlir", (r"pass +simplify-algebra", r"pattern .*TransposeIntoDot",
                                  r"nodes +.*product")),
    Defect("slice-of-gather", "passes/simplify/SimplifyGathers.cpp",
           "low += stride < 0 ? stride * (shape[dim] - 1) : 0;",
           "low += stride < 0 ? stride * (shape[dim] - 1) + 1 : 0;",
           "models/moves.mlir", (r"pass +simplify-algebra", r"pattern .*GatherOfLattice",
                                 r"nodes +.*chosen")),
    Defect("softmax-wrong-axis", RECOGNIZE + "RecognizeSoftmax.cpp",
           "        op, rewriter.create<SoftmaxOp>(match.location(), shifted->first,\n"
           "                                       uint64_t(shifted->second)));\n    return success();",
           "        op, rewriter.create<SoftmaxOp>(match.location(), shifted->first,\n"
           "                                       uint64_t(shifted->second - 1)));\n    return success();",
           "fusion-softmax.onnx", (r"pass +recognize-composites", r"pattern .*RecognizeSoftmax",
                                   r"nodes +\S")),
    Defect("layer-norm-epsilon", RECOGNIZE + "RecognizeNorm.cpp",
           "if (!deviation.enter<AddOp>(&result.epsilon))\n    result.epsilon = 0;",
           "(void)deviation.enter<AddOp>(&result.epsilon);\n  result.epsilon = 0;", "fusion-layer-norm.onnx",
           (r"pass +recognize-composites", r"pattern .*RecognizeLayerNorm", r"nodes +\S")),
    Defect("attention-scale-inverse", RECOGNIZE + "RecognizeAttention.cpp",
           "scale = isa<MulOp>(op) ? scale * *number : scale / *number;",
           "scale = isa<MulOp>(op) ? scale / *number : scale * *number;",
           "bert-static.onnx", (r"phase +simplify", r"pass +recognize-composites",
                                r"pattern .*Attention", r"nodes +\S")),
    Defect("gelu-number", RECOGNIZE + "RecognizeGelu.cpp",
           "(isNarrow ? 4e-3 : 1e-5) * expected;", "0.5 * expected;",
           "models/almost-gelu.mlir", (r"pass +recognize-composites", r"pattern .*Gelu",
                                       r"nodes +\S")),

    # Gradients.
    Defect("tanh-slope", GRADIENTS + "Elementwise.cpp",
           "return b.mul(g, b.sub(1.0, b.square(z)));", "return b.mul(g, b.sub(1.0, z));", MLP,
           (r"phase +train", r"op +sinter.tanh", r"nodes +.*Tanh")),
    Defect("loss-gradient-sign", GRADIENTS + "Loss.cpp",
           "Value difference =\n      g.sub(", "Value difference =\n      g.add(", MLP,
           (r"phase +train", r"op +sinter.softmax_cross_entropy", r"nodes +loss")),
    Defect("layer-norm-term", GRADIENTS + "Norm.cpp",
           "g.mul(n.rstd, g.sub(g.sub(h, meanSpread(g, h, dims)), alongScale));",
           "g.mul(n.rstd, g.sub(h, alongScale));", ENCODER,
           (r"phase +train", r"op +sinter.layer_norm", r"nodes +\S")),
    Defect("softmax-gradient-axis", GRADIENTS + "Norm.cpp",
           "g.give(0, g.mul(y, g.sub(g.grad(), g.sumSpread(g.mul(g.grad(), y), {axis}))));",
           "g.give(0, g.mul(y, g.sub(g.grad(), g.sumSpread(g.mul(g.grad(), y), {axis - 1}))));",
           "models/trained.mlir --train --loss=mse", (r"phase +train", r"op +sinter.softmax", r"nodes +weights")),
    Defect("sigmoid-slope", GRADIENTS + "Elementwise.cpp",
           "return b.mul(g, b.mul(z, b.sub(1.0, z)));", "return b.mul(g, z);",
           "models/trained.mlir --train --loss=mse",
           (r"phase +train", r"op +sinter.sigmoid", r"nodes +gate")),
    Defect("sigmoid-slope-in-scan", GRADIENTS + "Elementwise.cpp",
           "return b.mul(g, b.mul(z, b.sub(1.0, z)));", "return b.mul(g, z);", SCAN,
           (r"phase +train", r"op +sinter.sigmoid", r"nodes +/cell/LSTM")),
    Defect("difference-sign", GRADIENTS + "Elementwise.cpp",
           "g.give(1, g.neg(g.grad()));", "g.give(1, g.grad());",
           "models/trained.mlir --train --loss=mse",
           (r"phase +train", r"op +sinter.sub", r"nodes +\S")),
    Defect("concat-offset", GRADIENTS + "Shape.cpp",
           "starts[axis] = start;\n    start += type.getDimSize(axis);\n    limits[axis] = start;",
           "limits[axis] = type.getDimSize(axis);",
           "models/trained.mlir --train --loss=mse",
           (r"phase +train", r"op +sinter.concat", r"nodes +beside")),
    Defect("pad-offset", GRADIENTS + "Shape.cpp",
           "inner = g.make<SliceOp>(g.grad(), op.getLow(), limits, strides);",
           "SmallVector<int64_t> starts(op.getLow());\n"
           "    for (auto [start, limit] : llvm::zip(starts, limits))\n"
           "      if (start > 0) {\n        --start;\n        --limit;\n      }\n"
           "    inner = g.make<SliceOp>(g.grad(), starts, limits, strides);",
           "models/trained.mlir --train --loss=mse",
           (r"phase +train", r"op +sinter.pad", r"nodes +bordered")),
    Defect("batch-norm-mean", GRADIENTS + "Norm.cpp",
           "Value inner = g.sub(g.sub(g.grad(), mean), g.mul(n.value, slope));",
           "Value inner = g.sub(g.grad(), g.mul(n.value, slope));",
           "train-depthwise-sgd.onnx --train --batch=4",
           (r"phase +train", r"op +sinter.batch_norm_training", r"nodes +\S")),
    Defect("window-kind", GRADIENTS + "Reduce.cpp",
           "g.give(0, windowGradient(g, op, op.getKind(), op.getX()));",
           "g.give(0, windowGradient(g, op, ReduceKind::sum, op.getX()));", CNN,
           (r"phase +train", r"op +sinter.reduce_window", r"nodes +\S")),
    Defect("attention-gradients-swapped", GRADIENTS + "Attention.cpp",
           "    g.give(static_cast<unsigned>(operand), result);",
           "    g.give(operand < 2 ? 1 - operand : operand, result);", ENCODER,
           (r"phase +train", r"op +sinter.attention", r"nodes +\S")),
    Defect("convolution-padding", GRADIENTS + "Conv.cpp",
           "like.getDilations(), like.getPadsLow(),\n                      like.getPadsHigh(),",
           "like.getDilations(), like.getPadsHigh(),\n                      like.getPadsLow(),",
           "models/trained-convolution.mlir --train --loss=mse",
           (r"phase +train", r"op +sinter.conv", r"nodes +convolved")),

    # What a step does with gradients.
    Defect("clip-by-square", "passes/train/TrainingOptimizer.cpp",
           "b.min(b.div(clipNorm, b.add(norm, 1e-6)), b.like(clipNorm, 1));",
           "b.min(b.div(clipNorm, b.add(b.square(norm), 1e-6)), b.like(clipNorm, 1));",
           MLP + " --clip-norm=0.5", (r"phase +train", r"nodes +clip", r"result +new state")),
    Defect("clip-lower-bound", "passes/train/TrainingOptimizer.cpp",
           "return options.clipValue > 0 ? b.min(b.max(gradient, -options.clipValue),",
           "return options.clipValue > 0 ? b.min(b.max(gradient, 0 * options.clipValue),",
           MLP + " --clip-value=0.01", (r"phase +train", r"nodes +clip", r"result +new state")),
    Defect("loss-scale-left", "passes/train/TrainingScale.cpp",
           "return b.mul(gradient, 1 / fixedScale);", "return b.mul(gradient, 2 / fixedScale);",
           MLP + " --loss-scale=1024", (r"phase +train", r"nodes +loss_scale",
                                        r"result +new state")),
    Defect("micro-batch-lost", "passes/train/TrainingAccumulation.cpp",
           "updates[levels.front()] = b.add(before.front(), value);",
           "updates[levels.front()] = value;", MLP + " --accumulate=4",
           (r"phase +train", r"nodes +micro-batches", r"result +new state")),

    # Composites.
    Defect("layer-norm-bias", DECOMPOSE + "Norm.cpp",
           "y = add.add(y, broadcastTo(c.b, add.loc, add.load(getBias()), shape));",
           "y = add.sub(y, broadcastTo(c.b, add.loc, add.load(getBias()), shape));",
           "fusion-encoder-pre.onnx", (r"phase +place", r"pass +place-ops", r"nodes +\S")),
    Defect("adam-second-moment", DECOMPOSE + "Optim.cpp",
           "c.mul(c.mul(grad, grad), 1 - beta2))}", "c.mul(grad, 1 - beta2))}", ADAM,
           (r"phase +place", r"pass +place-ops", r"nodes +\S")),
    Defect("gelu-gradient-term", DECOMPOSE + "Elementwise.cpp",
           "slope = product.add(cdf, product.mul(x, density));", "slope = cdf;",
           "train-bert-adamw.onnx --train --batch=4", (r"pass +place-ops", r"nodes +\S")),
    Defect("softmax-sum", DECOMPOSE + "Norm.cpp",
           "Value total = c.in(CompositePart::sum).sum(power, axis);\n  return {div.store",
           "Value total = c.in(CompositePart::sum).max(power, axis);\n  return {div.store", MLP,
           (r"pass +place-ops", r"nodes +\S")),
    Defect("attention-scale", DECOMPOSE + "Attention.cpp",
           "scores =\n      c.in(CompositePart::scale).mul(scores, op.getScale().convertToDouble());", "",
           "dynamo-bert.onnx", (r"phase +place", r"pass +place-ops", r"nodes +\S")),
    Defect("sgd-decay-sign", DECOMPOSE + "Optim.cpp",
           "Value grad = c.add(c.load(getGrad()), c.mul(decay, param));\n  double momentum",
           "Value grad = c.sub(c.load(getGrad()), c.mul(decay, param));\n  double momentum", MLP,
           (r"pass +place-ops", r"nodes +\S")),

    # Layout, precision, fuse.
    Defect("merged-bias-order", LAYOUT + "MergeContractions.cpp",
           "for (const Bias &bias : step.biases)\n      vectors.push_back(bias.vector);",
           "for (const Bias &bias : llvm::reverse(step.biases))\n      vectors.push_back(bias.vector);",
           "bert-static.onnx --device=sim", (r"pass +merge-contractions", r"nodes +\S")),
    Defect("channels-last-padding", LAYOUT + "AssignLayouts.cpp",
           "set(pad.getLowAttrName(), permuted(pad.getLow()));\n"
           "          set(pad.getHighAttrName(), permuted(pad.getHigh()));",
           "set(pad.getLowAttrName(), permuted(pad.getHigh()));\n"
           "          set(pad.getHighAttrName(), permuted(pad.getLow()));",
           "models/convolutions.mlir --device=sim", (r"pass +assign-layouts", r"nodes +\S")),
    Defect("rounded-of-old-value", LAYOUT + "KeepRounded.cpp",
           "addResult(function, weight.rounded, found->second);",
           "addResult(function, weight.rounded,\n"
           "                  argumentOf(function, cast<ir::StateOp>(key.first)));",
           "train-mlp-adam.onnx --train --batch=8 --device=sim --precision=bf16",
           (r"phase +layout", r"pass +keep-rounded", r"result +state 'bf16/")),
    Defect("split-variance", "passes/fuse/SplitReductions.cpp",
           "moved = b.create<ir::AddOp>(loc, inPart,\n"
           "                                b.create<ir::MulOp>(loc, moved, count));",
           "moved = inPart;", "models/statistics.mlir",
           (r"phase +fuse", r"pass +split-reductions", r"nodes +\S")),
    Defect("largest-part-of-product", "passes/fuse/SplitContractions.cpp",
           "ir::reduceOver(b, loc, ir::ReduceKind::sum, parts.getResult(), {0}));",
           "ir::reduceOver(b, loc, ir::ReduceKind::max, parts.getResult(), {0}));",
           "models/long-product.mlir --device=sim --libraries=none",
           (r"phase +fuse", r"pass +split-contractions", r"nodes +.*product")),
    # The plan.
    Defect("carried-values-exchanged", PLAN + "ScanBody.cpp",
           "output = body.outputs.outputOf[i - scan.firstCarried()];",
           "output = body.outputs.outputOf[scan.firstCarried() + scan.numCarried() - 1 - i];", SCAN,
           (r"device +plan", r"command +6.0, trip 1 of step", r"nodes +/cell/LSTM",
            r"result +operand \d+ does not hold .* wrote there last")),
    Defect("lifetimes-overlap", PLAN + "Arena.cpp",
           "if (other.first > buffer.last || buffer.first > other.last)",
           "if (other.first >= buffer.last || buffer.first >= other.last)", MLP,
           (r".*phase 'plan'.*writes bytes of a buffer that is still in use",
            r".*node '/4/Gemm'"), code=1),    Defect("view-offset-lost", "passes/MatmulForm.cpp",
           "view.offset += start * stride;", "view.offset += 0 * start * stride;",
           "models/sliced-product.mlir",
           (r"device +library call", r"kernel +matmul", r"nodes +.*product")),
    Defect("scale-of-post-op", "passes/PostOps.cpp",
           "exec::PostOpKind::scale, {}, numberAttr(context, *number), {}};",
           "exec::PostOpKind::scale, {}, numberAttr(context, 2 * *number), {}};",
           "models/square.mlir", (r"device +library call", r"kernel +matmul",
                                  r"nodes +.*scaled")),
    Defect("constants-overlap", PLAN + "ConstantPool.cpp", "end = offset + bytes;",
           "end = offset + bytes / 16;", "lenet.onnx --batch=2",
           (r".*phase 'kernels': the constant at 64 overlaps the one before",), code=1),
    Defect("outputs-exchanged", PLAN + "GraphBuilder.cpp",
           "slice(exec::Space::output, graph.outputNames.size(), 0, type);",
           "slice(exec::Space::output, graph.outputNames.size() ^ 1, 0, type);",
           "models/arithmetic.mlir", (r"device +plan", r"command +\d+ of main", r"nodes +\S")),
    # Code of both devices, of the CPU, of GPUs.
    Defect("sigmoid-dropped-one", COMMON + "Elementwise.cpp",
           "return builder.create<arith::DivFOp>(loc, number(1),\n"
           "                                             add(number(1), exp));",
           "return builder.create<arith::DivFOp>(loc, number(1), exp);", "mlp.onnx --batch=4 --device=sim",
           (r"device +kernel", r"kernel +k\d+_", r"nodes +.*Sigmoid")),
    Defect("last-unit-missing", "backends/cpu/codegen/LoopMapping.cpp",
           "emitter.constantInt(i64, numUnits));\n  auto units =",
           "emitter.constantInt(i64, numUnits - 1));\n  auto units =", MLP,
           (r"device +kernel", r"kernel +k\d+_", r"nodes +\S")),
    Defect("window-gradient-padding", COMMON + "WindowGrad.cpp",
           "starts[d] = s.sub(start, s.number(tail(op.getPadsLow())[d]));",
           "starts[d] = s.sub(start, s.number(tail(op.getPadsHigh())[d]));",
           "models/windows.mlir", (r"device +kernel", r"kernel +k\d+_", r"nodes +\S")),
    Defect("channel-window-bound", "backends/cpu/codegen/ChannelWindowGrad.cpp",
           "starts[d] = add(mul(at, dims[d].stride), number(-dims[d].low));",
           "starts[d] = add(mul(at, dims[d].stride), number(1 - dims[d].low));",
           "train-cnn-adam.onnx --train --batch=4",
           (r"device +kernel", r"kernel +k\d+_", r"nodes +\S")),
    Defect("sine-as-cosine", COMMON + "Elementwise.cpp",
           ".Case([&](ir::SinOp) { return builder.create<math::SinOp>(loc, x); })",
           ".Case([&](ir::SinOp) { return builder.create<math::CosOp>(loc, x); })",
           "models/waves.mlir", (r"device +kernel", r"kernel +k\d+_", r"nodes +.*wave")),
    Defect("product-from-zero", COMMON + "Reduce.cpp",
           "case ir::ReduceKind::prod:\n      return constant(type, 1);",
           "case ir::ReduceKind::prod:\n      return constant(type, 0);",
           "models/statistics.mlir", (r"device +kernel", r"kernel +k\d+_", r"nodes +.*together")),
    Defect("column-barrier", GPU + "ColumnSums.cpp",
           "      t->store(list[i], slot(sums, i, perRound, inRound, column));\n  });\n  t->barrier();",
           "      t->store(list[i], slot(sums, i, perRound, inRound, column));\n  });",
           "models/statistics.mlir --device=sim", (r"device +\S", r"kernel +k\d+_", r"nodes +\S")),
    Defect("row-barrier", GPU + "RowPart.cpp",
           "    t->when(t->isLess(inRow, 1), [&] { t->store(sum, whole); });\n  });\n  t->barrier();",
           "    t->when(t->isLess(inRow, 1), [&] { t->store(sum, whole); });\n  });",
           "models/rows.mlir --device=sim", (r"device +\S", r"kernel +k\d+_", r"nodes +\S")),
    Defect("contraction-barrier", GPU + "ContractionPart.cpp",
           "    // Behind the barrier, buffer `next` is free and the other one is filled.\n    t->barrier();",
           "", "lenet.onnx --batch=2 --device=sim --libraries=none",
           (r"device +\S", r"kernel +k\d+_", r"nodes +\S")),
    Defect("transpose-barrier", GPU + "TransposePart.cpp",
           "t->when(isWorker, [&] { readSquares(emitter); });\n  t->barrier();",
           "t->when(isWorker, [&] { readSquares(emitter); });",
           "models/turned.mlir --device=sim", (r"device +\S", r"kernel +k\d+_", r"nodes +.*turned")),
]
