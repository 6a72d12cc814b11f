"""Checks a folder of event files against the --log-json of the same run.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    events.py FOLDER LOG.json FILES

FOLDER has FILES files. The checksums of every record must be correct. The events that a
reader keeps of all files (a START drops older events of that step and later ones) must have
the steps, losses and rates of LOG and its evaluations. Prints how many events agree.
"""

import json
import os
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def checked(data, masked):
    crc = crc32c(data)
    assert ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF == masked
    return data


def records(path):
    with open(path, "rb") as file:
        while head := file.read(12):
            length, = struct.unpack("<Q", checked(head[:8], *struct.unpack("<I", head[8:])))
            data = file.read(length)
            yield checked(data, *struct.unpack("<I", file.read(4)))


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def scalars(summary):
    for _, value in fields(summary):
        parts = dict(fields(value))
        yield parts[1].decode(), struct.unpack("<f", parts[2])[0]


def read(folder):
    """{step: {tag: value}}"""
    kept = {}
    for name in sorted(os.listdir(folder)):
        events = [dict(fields(record)) for record in records(os.path.join(folder, name))]
        assert events[0][3] == b"brain.Event:2"
        for event in events[1:]:
            assert struct.unpack("<d", event[1])[0] > 1.6e9
            if 7 in event:
                assert dict(fields(event[7])) == {1: 1}
                kept = {step: values for step, values in kept.items() if step < event[2]}
            else:
                kept.setdefault(event[2], {}).update(scalars(event[5]))
    return kept


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def main():
    folder, log, files = sys.argv[1], sys.argv[2], int(sys.argv[3])
    assert len(os.listdir(folder)) == files, os.listdir(folder)
    expected, step = {}, 0
    with open(log, encoding="utf-8") as file:
        for line in map(json.loads, file):
            if "step" in line:
                step = line["step"]
                expected[step] = {"train/loss": line["loss"], "train/lr": line["lr"]}
                for key in ("loss_scale", "skipped_steps"):
                    if key in line:
                        expected[step]["train/" + key] = line[key]
            else:
                expected[step].update({"eval/loss": line["loss"],
                                       "eval/accuracy": line["accuracy"]})
    got = read(folder)
    assert got.keys() == expected.keys() and expected, (got.keys(), expected.keys())
    for step, values in expected.items():
        assert got[step].keys() == values.keys(), (step, got[step], values)
        for tag, value in values.items():
            assert abs(got[step][tag] - single(value)) <= 1e-7 * abs(value), (step, tag, got[step])
    print(f"{len(got)} steps with {sum(map(len, got.values()))} scalars agree")


if __name__ == "__main__":
    main()
