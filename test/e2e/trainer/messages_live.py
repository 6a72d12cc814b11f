"""Checks that the buffers of messages live in a trainer's plans until the await.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

  messages_live.py PLAN_OF_TRAINER PLAN_OF_INSPECT PAGE       (the plans as JSON, and the page of a plan)
"""

import base64
import json
import re
import sys
import zlib


def lives(values, commands):
    """`values`: (offset, size, first command, last command). Returns (messages, values of them)."""
    ends = {command["event"]: number for number, command in enumerate(commands)
            if command["kind"] == "await"}
    sent = [(number, command) for number, command in enumerate(commands)
            if "event" in command and command["kind"] != "await"]
    assert [command["event"] for _, command in sent] == sorted(ends), (sent, ends)
    found = 0
    for number, command in sent:
        for slice_ in command["reads"] + command["writes"]:
            if slice_["space"] != "arena":
                continue
            own = [(first, last) for offset, size, first, last in values
                   if (offset, size) == (slice_["offset"], slice_["size"])
                   and first <= number <= last]
            end = ends[command["event"]]
            assert own and all(last >= end for _, last in own), (number, slice_, own)
            found += len(own)
    return len(sent), found


def ofPage(path):
    with open(path, encoding="utf-8") as file:
        data = re.search('id="data">([A-Za-z0-9+/=]+)<', file.read())[1]
    plans = json.loads(zlib.decompress(base64.b64decode(data)))["plans"]
    return [(value["offset"], value["size"], value["first"], value["last"])
            for value in next(plan for plan in plans if plan["entry"] == "step")["values"]]


def main():
    trainer, inspect = (json.load(open(path)) for path in sys.argv[1:3])
    commands = next(entry["commands"] for entry in inspect if entry["name"] == "step")
    values = [(value["offsetBytes"], value["sizeBytes"], value["firstCommand"], value["lastCommand"])
              for entry in trainer["entries"] if entry["entry"] == "step"
              for value in entry["values"]]
    for name, each in (("trainer", values), ("page", ofPage(sys.argv[3]))):
        messages, found = lives(each, commands)
        print(f"{name}: {messages} messages, {found} values live until the await")


main()
