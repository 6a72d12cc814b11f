"""Checks the trace events of the processes of a job, one file for each rank.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

  joined_traces.py TRACE TRACE..
"""

import json
import sys


def messagesOf(events):
    """[(name, bytes, begin, end)] in order."""
    open_, done = {}, []
    for event in events:
        if event.get("cat") != "message":
            continue
        id_ = event["id2"]["local"]
        if event["ph"] == "b":
            assert event["args"]["bytes"] > 0, event
            open_[id_] = event
        else:
            begin = open_.pop(id_)
            assert event["name"] == begin["name"] and event["ts"] >= begin["ts"], (begin, event)
            done.append((begin["name"], begin["args"]["bytes"], begin["ts"], event["ts"]))
    assert not open_, open_
    return done


def main():
    all_ = []
    for path in sys.argv[1:]:
        events = json.load(open(path))["traceEvents"]
        named = {event["name"]: event for event in events if event["ph"] == "M"}
        process, thread = named["process_name"], named["thread_name"]
        assert {event["pid"] for event in events} == {process["pid"]}
        assert all(event["ts"] > 0 for event in events if event["ph"] != "M"), "before the origin"
        messages = messagesOf(events)
        print(f"{process['args']['name']}: pid {process['pid']}, threads {thread['args']['name']}, "
              f"{len(messages)} messages")
        all_.append(messages)
    assert len({len(messages) for messages in all_}) == 1
    for each in zip(*all_):
        assert len({message[:2] for message in each}) == 1, each
        assert max(begin for *_, begin, _ in each) < min(end for *_, end in each), each
    print("each message begins everywhere before it ends anywhere")


main()
