"""Reads safetensors files by the format's own words, with struct and json only: the oracle of what
the programs write. Every rule is checked; ValueError says which one is broken."""
import json
import math
import struct

BITS = {"BOOL": 8, "U8": 8, "I8": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32,
        "U32": 32, "F32": 32, "F64": 64, "I64": 64, "U64": 64, "C64": 64}
UNPACK = {"BOOL": "?", "U8": "B", "I8": "b", "I16": "h", "U16": "H", "F16": "e", "I32": "i",
          "U32": "I", "F32": "f", "F64": "d", "I64": "q", "U64": "Q"}


def need(holds, rule):
    if not holds:
        raise ValueError(rule)


def no_duplicates(pairs):
    need(len({name for name, _ in pairs}) == len(pairs), "a name is there twice")
    return dict(pairs)


class Tensor:
    def __init__(self, dtype, shape, data):
        self.dtype, self.shape, self.data = dtype, shape, data

    @property
    def values(self):
        kind = UNPACK[self.dtype]
        return list(struct.unpack(f"<{math.prod(self.shape)}{kind}", self.data))


def parse(file):
    """(name -> Tensor, metadata) of the bytes of a file."""
    need(len(file) >= 8, "no length")
    (length,) = struct.unpack("<Q", file[:8])
    need(length <= 100_000_000 and 8 + length <= len(file), "the header is too long")
    text = file[8:8 + length].decode("utf-8")
    need(text.startswith("{") and text.rstrip(" ").endswith("}"), "the header is no object")
    header = json.loads(text, object_pairs_hook=no_duplicates)
    metadata = header.pop("__metadata__", {})
    need(all(isinstance(value, str) for value in metadata.values()), "metadata is no text")
    data, tensors, end = file[8 + length:], {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        need(set(entry) == {"dtype", "shape", "data_offsets"}, f"{name}: other fields")
        begin, after = entry["data_offsets"]
        need(begin == end <= after <= len(data), f"{name}: a hole, an overlap, or out of the file")
        need(all(isinstance(size, int) and size >= 0 for size in entry["shape"]), f"{name}: shape")
        bits = math.prod(entry["shape"]) * BITS[entry["dtype"]]
        need(bits == 8 * (after - begin), f"{name}: its bytes do not fit its shape")
        tensors[name] = Tensor(entry["dtype"], entry["shape"], data[begin:after])
        end = after
    need(end == len(data), "bytes behind the last tensor")
    return tensors, metadata


def read(path):
    """name -> Tensor."""
    return parse(path.read_bytes())[0]
