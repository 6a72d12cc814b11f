"""Runs a trainer in several processes of this machine, as a launcher would.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

processes.py same TRAINER FOLDER WORLDS -- OPTIONS...
    trains in one process and in each of WORLDS ("2,4") processes; logs and last checkpoints must
    be the same bytes.
processes.py equal TRAINER FOLDER OTHER -- OPTIONS...
    trains in one process with both trainers; logs and checkpoints must be the same.
processes.py moves TRAINER FOLDER STEPS LEG,LEG... -- OPTIONS...
    each leg, "WORLD" or "WORLD:TRAINER", resumes the one before for STEPS steps in WORLD processes;
    the last one must end with the bytes of one run in one process.
processes.py blame TRAINER FOLDER WORLDS [OTHER] -- OPTIONS...
    a run with --check-nonfinite fails in one process (of OTHER, if it is given) and in each of
    WORLDS processes; all say the same, but for the rank, and write the same file to replay.
processes.py states FOLDER OTHER
    the last checkpoints in both must have the same states.
processes.py alter TRAINER FOLDER NAME -- OPTIONS...
    changes a bit of state NAME in the memory of rank 1 of two processes, which train with --lr=0.
processes.py changes TRAINER FOLDER WORLD RANK NPZ -- OPTIONS...
    each of WORLD processes trains with its own copy of NPZ; after the first checkpoint, that of
    RANK changes. All must end with 1; prints what they print, and the newest checkpoint.
processes.py both TRAINER FOLDER NPZ -- OPTIONS...
    the same with two processes: the copy of rank 1 changes before the first step. NPZ has a bad row
    among those of rank 0, which would save the state before it. Nothing may be saved.
processes.py kills TRAINER FOLDER WORLD COUNT STEPS -- OPTIONS...
    COUNT times kills a random process at a random time and resumes; others must end with 75
    within 10 s and say who is gone, and the last run must end with the bytes of an undisturbed one.
processes.py saves TRAINER FOLDER WORLD STEPS -- OPTIONS...
    kills a process in each phase of a save in which every process writes a part, and resumes; the
    last run must end with the bytes of an undisturbed one.
processes.py launch TRAINER FOLDER WORLD STEPS -- OPTIONS...
    the same with `TRAINER launch`, which restarts the others after one kill.
processes.py hung TRAINER FOLDER HOSTS -- OPTIONS...
    `TRAINER launch --hosts=HOSTS`: in a slow save of rank 0, rank 1 is killed and rank 2 stopped.
    Prints what is printed; rank 0 must have saved, and no process may be left.
processes.py orphans TRAINER FOLDER HOSTS -- OPTIONS...
    the same, but rank 1 is stopped and `launch` is killed: no process may be left.
processes.py terminate TRAINER FOLDER [SIGNAL] -- OPTIONS...
    starts `TRAINER OPTIONS...` for very many steps and sends it SIGTERM once steps are made.
processes.py run TRAINER WORLD EXPECTED [--each=RANK:OPTION] [--stop=RANK] [--freeze=RANK]
        [--signal=RANK:NAME] -- OPTIONS...
    runs once and prints what the processes print; EXPECTED are the exit codes ("0" of all, or one
    for each). --each gives one process another option. --stop stops a process once steps are made,
    --freeze only its main thread; --signal sends it a signal then.
"""

import sys

sys.dont_write_bytecode = True
import agreement
import changed
import killed

# {name: (what it calls, the types of its words before "--")}; words after these are text.
COMMANDS = {
    "same": (agreement.same, [str, str, str]),
    "equal": (agreement.equal, [str, str, str]),
    "moves": (agreement.moves, [str, str, int, str]),
    "blame": (agreement.blame, [str, str, str]),
    "states": (agreement.states, [str, str]),
    "alter": (changed.alter, [str, str, str]),
    "changes": (changed.changes, [str, str, int, int, str]),
    "both": (changed.both, [str, str, str]),
    "kills": (killed.kills, [str, str, int, int, int]),
    "saves": (killed.saves, [str, str, int, int]),
    "launch": (killed.launch, [str, str, int, int]),
    "hung": (killed.hung, [str, str, str]),
    "orphans": (killed.orphans, [str, str, str]),
    "terminate": (killed.terminate, [str, str]),
    "run": (killed.run, [str, int, str]),
}


def main():
    name, *words = sys.argv[1:]
    command, types = COMMANDS[name]
    split = words.index("--") if "--" in words else len(words)
    words, options = words[:split], words[split + 1:]
    required = [kind(word) for kind, word in zip(types, words, strict=False)]
    command(*required, *words[len(types):], options=options)


if __name__ == "__main__":
    main()
