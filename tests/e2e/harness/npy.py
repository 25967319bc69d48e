"""Reads and writes .npy files: C order, ranks 0 to 2, the dtypes below."""
import array
import ast
import math
import struct
import sys

MAGIC = b"\x93NUMPY"
CODES = {"u1": "B", "i1": "b", "b1": "B", "u2": "H", "i2": "h", "u4": "I", "i4": "i", "u8": "Q",
         "i8": "q", "f4": "f", "f8": "d"}


class Array:
    """shape, and the values of all rows one after the other."""

    def __init__(self, descr, shape, values):
        self.descr, self.shape, self.values = descr, tuple(shape), values

    def __len__(self):
        return self.shape[0]

    @property
    def width(self):
        return math.prod(self.shape[1:])

    def row(self, i):
        return self.values[i * self.width:(i + 1) * self.width]

    def rows(self):
        return [self.row(i) for i in range(len(self))]


def load(path):
    with open(path, "rb") as handle:
        data = handle.read()
    if data[:6] != MAGIC:
        raise ValueError(f"{path}: not a .npy file")
    if data[6] == 1:
        start, = struct.unpack_from("<H", data, 8)
        start += 10
    else:
        start, = struct.unpack_from("<I", data, 8)
        start += 12
    header = ast.literal_eval(data[(10 if data[6] == 1 else 12):start].decode("latin1").strip())
    if header["fortran_order"] and len(header["shape"]) > 1:
        raise ValueError(f"{path}: Fortran order")
    descr = header["descr"]
    if descr[0] == ">" or sys.byteorder != "little":
        raise ValueError(f"{path}: byte order {descr}")
    values = array.array(CODES[descr[1:]])
    count = math.prod(header["shape"])
    if len(data) - start != count * values.itemsize:
        raise ValueError(f"{path}: {len(data) - start} bytes of data for {count} values of {descr}")
    values.frombytes(data[start:])
    return Array(descr, header["shape"], values)


def _head(descr, shape):
    shape_text = "(" + "".join(f"{n}, " for n in shape) + ")"
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape_text}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return MAGIC + b"\x01\x00" + struct.pack("<H", len(header)) + header.encode()


def save(path, descr, shape, values):
    """`descr` such as "<i8"; `values` all rows one after the other."""
    body = array.array(CODES[descr[1:]], values)
    if len(body) != math.prod(shape):
        raise ValueError(f"{len(body)} values for the shape {shape}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as handle:
        handle.write(_head(descr, shape))
        handle.write(body.tobytes())


def save_sparse(path, descr, shape):
    """Zeros that take no room on the disk, where its file system has holes."""
    head = _head(descr, shape)
    with open(path, "wb") as handle:
        handle.write(head)
        handle.truncate(len(head) + math.prod(shape) * int(descr[2:]))
