#!/usr/bin/env python3
"""Checks graphs for Model Explorer and trace events of `sinter-inspect view` of lenet.onnx.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

  check_formats.py GRAPHS TRACE_EVENTS TRACE_EVENTS_OF_DEVICES
"""

import json
import sys


def checkGraphs(path):
    with open(path, encoding="utf-8") as file:
        graphs = json.load(file)["graphs"]
    edges = 0
    for graph in graphs:
        nodes = {node["id"]: node for node in graph["nodes"]}
        assert len(nodes) == len(graph["nodes"]), f"{graph['id']}: an id twice"
        for node in nodes.values():
            for edge in node["incomingEdges"]:
                assert edge["sourceNodeId"] in nodes, f"{graph['id']}: an edge from nowhere"
                edges += 1
            assert {attr["key"] for attr in node["attrs"]} == {"nodes", "op"}
    first = next(graph for graph in graphs if graph["id"] == "import @main")
    conv = next(node for node in first["nodes"] if node["label"] == "sinter.conv")
    assert conv["namespace"] == "c1" and {"key": "nodes", "value": "/c1/Conv"} in conv["attrs"]
    plan = next(graph for graph in graphs if graph["id"] == "plan @main")
    commands = [node for node in plan["nodes"] if node["label"] not in ("exec.buffer", "exec.kernel")]
    assert all(node["incomingEdges"] for node in commands), "a command reads nothing"
    assert {node["label"] for node in commands} == {"exec.conv", "exec.launch", "exec.matmul"}, commands
    # The second command reads what the first wrote.
    assert any(edge["sourceNodeId"] == commands[0]["id"] for edge in commands[1]["incomingEdges"])
    return len(graphs), edges


def checkEvents(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    commands = [event for event in events if event["ph"] == "X"]
    assert [event["args"]["command"] for event in commands] == list(range(len(commands)))
    assert [event["ts"] for event in commands] == list(range(len(commands)))
    assert commands[0]["name"].split(",")[0] == "/c1/Conv"
    live = [event["args"]["live bytes"] for event in events if event["ph"] == "C"]
    assert len(live) == len(commands) and max(live) > 0
    assert {event["cat"] for event in commands} == {"conv", "launch", "matmul"}
    assert {(event["pid"], event["tid"]) for event in commands} == {(0, 0)}
    return len(commands)


def named(events, what):
    """The names of the processes or threads, by pid or (pid, tid)."""
    return {(event["pid"], event["tid"]) if "tid" in event else event["pid"]: event["args"]["name"]
            for event in events if event["ph"] == "M" and event["name"] == what}


def checkDevices(path):
    """Of @main on two devices: a process for each, with its streams, memory and commands."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    processes = named(events, "process_name")
    assert [processes[pid].split(",")[0] for pid in sorted(processes)] == ["@main on sim:0", "@main on cpu"], processes
    threads = named(events, "thread_name")
    commands = [event for event in events if event["ph"] == "X"]
    assert {(event["pid"], event["tid"]) for event in commands} == threads.keys()
    assert threads == {(0, 0): "compute", (0, 1): "transfers", (1, 0): "compute"}, threads
    assert {event["cat"] for event in commands} == {"conv", "copy", "launch", "matmul", "record", "wait"}
    assert all(event["pid"] == ("Tanh" in event["name"]) for event in commands if event["cat"] == "launch")
    for pid in processes:
        live = [event["args"]["live bytes"] for event in events if event["ph"] == "C" and event["pid"] == pid]
        assert len(live) == len(commands) and max(live) > 0
    return len(processes)


if __name__ == "__main__":
    graphs, edges = checkGraphs(sys.argv[1])
    print(f"formats: {graphs} graphs, {edges} edges; {checkEvents(sys.argv[2])} commands; "
          f"{checkDevices(sys.argv[3])} devices")
