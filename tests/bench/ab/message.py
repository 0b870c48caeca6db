# SPDX-License-Identifier: BSD-3-Clause
"""Protobuf text format without Debian's python3-protobuf: `protoc` parses and checks, this reads what it has encoded.

    schema = Schema(TOP, "configs/ab.proto")
    data = schema.encode("txnic.ab.Experiment", text, "configs/ab/aa.textproto")   # FormatError with file, line, column
    experiment = schema.decode("txnic.ab.Experiment", data)                        # Message, defaults filled in
    schema.text("txnic.config.Node", base + override)                              # merged: that is how the wire works

The descriptor that protoc writes is itself such a message; the few fields needed of it are named below."""
import re
import struct
import subprocess

REPEATED = 3
DOUBLE, FLOAT, BOOL, STRING, MESSAGE, BYTES, ENUM = 1, 2, 8, 9, 11, 12, 14
# field number -> (name, repeated, message): the part of google/protobuf/descriptor.proto that is read here.
DESCRIPTOR = {
    "set": {1: ("file", True, "file")},
    "file": {2: ("package", False, None), 4: ("message", True, "message"), 5: ("enum", True, "enum")},
    "message": {1: ("name", False, None), 2: ("field", True, "field"), 3: ("message", True, "message"),
                4: ("enum", True, "enum")},
    "field": {1: ("name", False, None), 3: ("number", False, None), 4: ("label", False, None),
              5: ("type", False, None), 6: ("type_name", False, None), 7: ("default", False, None)},
    "enum": {1: ("name", False, None), 2: ("value", True, "value")},
    "value": {1: ("name", False, None), 2: ("number", False, None)},
}


class FormatError(Exception):
    """A file that is not what its schema says; the text names file and line."""


class MissingFields(Exception):
    def __init__(self, names):
        super().__init__(", ".join(names))
        self.names = names


class Message:
    """Fields are attributes, in Python's types: enums by name, messages as Message (absent ones: None), bytes of a
    message also as `raw`. `has(name)` tells whether the file sets it."""

    def __init__(self, raw, values, present):
        self.__dict__.update(values)
        self.raw = raw
        self._present = present

    def has(self, name):
        return name in self._present


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def read_fields(data):
    """(number, value) of each field, in the order of the wire; value: an int, or bytes of length-delimited ones."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 2:
            length, at = read_varint(data, at)
            value, at = data[at:at + length], at + length
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
            value, at = data[at:at + length], at + length
        else:
            raise FormatError(f"wire type {kind}: not written by protoc")
        yield key >> 3, value


def read_descriptor(kind, data):
    out = {name: [] for name, repeated, _ in DESCRIPTOR[kind].values() if repeated}
    for number, value in read_fields(data):
        if number not in DESCRIPTOR[kind]:
            continue
        name, repeated, inner = DESCRIPTOR[kind][number]
        if inner:
            value = read_descriptor(inner, value)
        elif isinstance(value, bytes):
            value = value.decode()
        if repeated:
            out[name].append(value)
        else:
            out[name] = value
    return out


class Schema:
    def __init__(self, top, proto):
        self.top = top
        self.proto = proto
        self.messages = {}
        self.enums = {}
        descriptors = self._protoc(["--include_imports", "--descriptor_set_out=/dev/stdout"])
        for file in read_descriptor("set", descriptors)["file"]:
            self._collect("." + file["package"], file)

    def _collect(self, scope, entry):
        for enum in entry["enum"]:
            self.enums[f"{scope}.{enum['name']}"] = {value.get("number", 0): value["name"] for value in enum["value"]}
        for message in entry["message"]:
            name = f"{scope}.{message['name']}"
            self.messages[name] = {field["number"]: field for field in message["field"]}
            self._collect(name, message)

    def _protoc(self, arguments, data=b"", source=""):
        result = subprocess.run(["protoc", f"-I{self.top}", *arguments, self.proto], input=data, capture_output=True,
                                cwd=self.top, timeout=60, check=False)
        text = result.stderr.decode("utf-8", "replace")
        missing = re.search(r"missing required fields: *(.*)", text)  # to protoc only a warning
        if missing:
            raise MissingFields(missing[1].split(", "))
        if result.returncode == 0:
            return result.stdout
        match = re.search(r"input:(\d+):(\d+): (.*)", text)
        raise FormatError(f"{source}:{match[1]}:{match[2]}: {match[3]}" if match else
                          f"{source}: {text.strip().replace(chr(10), '; ')}")

    def encode(self, message, text, source):
        try:
            return self._protoc([f"--encode={message}"], text.encode(), source)
        except MissingFields as missing:
            raise FormatError("\n".join(f"{source}:{line_of(text, steps_of(name))}: required and not there: {name}"
                                        for name in missing.names)) from None

    def text(self, message, data):
        """Text format of an encoded message."""
        return self._protoc([f"--decode={message}"], data, message).decode()

    def decode(self, message, data):
        return self._decode("." + message, data)

    def _decode(self, type_name, data):
        fields = self.messages[type_name]
        values, present, parts = {}, set(), {}
        for field in fields.values():
            values[field["name"]] = [] if field["label"] == REPEATED else self._default(field)
        for number, value in read_fields(data):
            field = fields[number]
            name = field["name"]
            present.add(name)
            if field["type"] == MESSAGE and field["label"] != REPEATED:
                parts[name] = parts.get(name, b"") + value  # pieces of one message are merged
                value = parts[name]
            value = self._value(field, value)
            if field["label"] == REPEATED:
                values[name].append(value)
            else:
                values[name] = value
        return Message(data, values, present)

    def _value(self, field, value):
        kind = field["type"]
        if kind == MESSAGE:
            return self._decode(field["type_name"], value)
        if kind == STRING:
            return value.decode()
        if kind in (DOUBLE, FLOAT):
            return struct.unpack("<d" if kind == DOUBLE else "<f", value)[0]
        if kind == BOOL:
            return bool(value)
        return self.enums[field["type_name"]][value] if kind == ENUM else value

    def _default(self, field):
        kind, text = field["type"], field.get("default")
        if kind == MESSAGE:
            return None
        if kind == STRING:
            return text or ""
        if kind in (DOUBLE, FLOAT):
            return float(text or 0)
        if kind == BOOL:
            return text == "true"
        if kind == ENUM:
            return text or next(iter(self.enums[field["type_name"]].values()))
        return int(text or 0)

    def empty(self, message):
        """All defaults."""
        return self.decode(message, b"")


TOKEN = re.compile(r'#[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|[{}<>]|\n')


def line_of(text, path):
    """Where the field of `path` stands in a text that protoc takes: path is [(name, index), …] from the outside.
    The line of the innermost one that is there."""
    line, depth, matched, best, seen = 1, 0, 0, 1, 0
    for token in TOKEN.finditer(text):
        word = token.group()
        if word == "\n":
            line += 1
        elif word in "{<":
            depth += 1
        elif word in "}>":
            depth -= 1
            if depth < matched:
                return best
        elif matched < len(path) and depth == matched and word == path[matched][0] and is_name(text, token.end()):
            if seen == path[matched][1]:
                best, matched, seen = line, matched + 1, 0
                if matched == len(path):
                    return best
            else:
                seen += 1
    return best


def steps_of(name):
    """protoc's "b[0].node.table" as steps for line_of()."""
    parts = (re.match(r"(\w+)(?:\[(\d+)\])?", part) for part in name.split("."))
    return [(part[1], int(part[2] or 0)) for part in parts]


def is_name(text, at):
    return re.match(r"\s*[:{<]", text[at:at + 80]) is not None
