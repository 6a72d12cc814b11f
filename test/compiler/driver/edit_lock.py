"""Edits a lock file as a user would.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    edit_lock.py FILE answer PASS      another possible answer to each question of PASS ("all")
    edit_lock.py FILE tuned PASS       another answer to the last question of PASS, not by rule
    edit_lock.py FILE say TEXT         TEXT as the answer to the first question
    edit_lock.py FILE rename NAME      another first node of the first question
    edit_lock.py FILE set NAME VALUE   another setting
"""

import json
import sys


def main():
    path, verb, *rest = sys.argv[1:]
    with open(path) as file:
        lock = json.load(file)
    decisions = lock["decisions"]
    if verb == "answer":
        changed = 0
        for decision in decisions:
            if rest[0] not in ("all", decision["pass"]):
                continue
            given = decision["answer"]
            given = given if isinstance(given, list) else [given]
            others = [answer for answer in decision["possible"] if answer not in given]
            if others:
                decision["answer"] = others[0]
                changed += 1
        assert changed, f"{path} has no other answer for {rest[0]}"
    elif verb == "tuned":
        decision = [each for each in decisions if each["pass"] == rest[0]][-1]
        decision["rule"] = decision["answer"]
        decision["answer"] = next(a for a in decision["possible"] if a != decision["rule"])
    elif verb == "say":
        decisions[0]["answer"] = rest[0]
    elif verb == "rename":
        decisions[0]["nodes"] = [rest[0]]
    elif verb == "set":
        lock["settings"][rest[0]] = rest[1]
    with open(path, "w") as file:
        json.dump(lock, file)


if __name__ == "__main__":
    main()
