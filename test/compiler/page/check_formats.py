#!/usr/bin/env python3
"""Checks graphs for Model Explorer and trace events of `sinter-inspect view` of lenet.onnx.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

  check_formats.py GRAPHS TRACE_EVENTS
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
    return len(commands)


if __name__ == "__main__":
    graphs, edges = checkGraphs(sys.argv[1])
    print(f"formats: {graphs} graphs, {edges} edges; {checkEvents(sys.argv[2])} commands")
