/* sinter/program_names.h - names that both towers know
 *
 * The compiler writes these names into an artifact and the runtime finds them
 * there. Neither side spells them itself.
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception. */
#ifndef SINTER_PROGRAM_NAMES_H
#define SINTER_PROGRAM_NAMES_H

/* Functions of the program, and the entries made of them. Inference has MAIN,
 * training has EVAL and STEP; with micro-batches, GRAD runs for each of them
 * and one APPLY follows, instead of STEP. */
#define SINTER_ENTRY_MAIN "main"
#define SINTER_ENTRY_STEP "step"
#define SINTER_ENTRY_GRAD "grad"
#define SINTER_ENTRY_APPLY "apply"
#define SINTER_ENTRY_EVAL "eval"
/* Computes the states of role ROUNDED from their parameters. It exists if there
 * are such states, and has no inputs and no outputs. */
#define SINTER_ENTRY_REFRESH "refresh"

/* Outputs of STEP or APPLY, fp32 scalars. LOSS_SCALE and SKIPPED_STEPS: dynamic
 * loss scaling only, and always together. The norms: with --log-norms only, and
 * always together. */
#define SINTER_OUTPUT_LOSS "loss"
#define SINTER_OUTPUT_LOSS_SCALE "loss_scale"
#define SINTER_OUTPUT_SKIPPED_STEPS "skipped_steps"
#define SINTER_OUTPUT_GRADIENT_NORM "grad_norm"
#define SINTER_OUTPUT_WEIGHT_NORM "weight_norm"

/* Outputs of EVAL, fp32 scalars: sums over the rows that count. The last two
 * are absent, both, if accuracy has no meaning. */
#define SINTER_OUTPUT_LOSS_SUM "loss_sum"
#define SINTER_OUTPUT_LOSS_COUNT "loss_count"
#define SINTER_OUTPUT_CORRECT "correct"
#define SINTER_OUTPUT_CORRECT_COUNT "correct_count"

/* States of role SLOT that belong to no parameter: the dynamic loss scale, good
 * steps since it changed (int64), steps that changed nothing (int64). */
#define SINTER_STATE_LOSS_SCALE "loss_scale"
#define SINTER_STATE_GROWTH_TRACKER "growth_tracker"
#define SINTER_STATE_SKIPPED_STEPS "skipped_steps"
/* The slot of a parameter's average. */
#define SINTER_SLOT_EMA "ema"

/* Fields of sinter_control. */
#define SINTER_CONTROL_LR "lr"
#define SINTER_CONTROL_WEIGHT_DECAY "weight_decay"
#define SINTER_CONTROL_CLIP_NORM "clip_norm"
#define SINTER_CONTROL_STEP "step"
#define SINTER_CONTROL_SEED "seed"
#define SINTER_CONTROL_VALID_ROWS "valid_rows"
#define SINTER_CONTROL_MICRO_BATCH "micro_batch"
#define SINTER_CONTROL_REPLICA "replica"

/* Tensors of a file that holds one training step (--check-nonfinite, --replay):
 * INPUT micro-batch "/" name, CONTROL field, VALID_ROWS micro-batch. */
#define SINTER_REPLAY_INPUT "input/"
#define SINTER_REPLAY_CONTROL "control/"
#define SINTER_REPLAY_VALID_ROWS "valid_rows/"

/* Keys of the manifest that the trainer reads. TRAINING is an object with what
 * was compiled in and changes the numbers of a run; checkpoints record all of
 * it. PAD_LAST_BATCH is a key of it. */
#define SINTER_MANIFEST_TRAINING "training"
#define SINTER_MANIFEST_PAD_LAST_BATCH "pad_last_batch"
/* ROWS_MIXED_BY is an object with the node that mixes the rows of a batch, in
 * steps and in evaluation. */
#define SINTER_MANIFEST_ROWS_MIXED_BY "rows_mixed_by"
#define SINTER_ROWS_OF_STEP "step"
#define SINTER_ROWS_OF_EVALUATION "evaluation"

/* The loss that the graph itself computes: no input has labels. */
#define SINTER_LOSS_NONE "none"

#endif /* SINTER_PROGRAM_NAMES_H */
