"""Small ONNX graphs, put together byte by byte: there is no need for a package to write them."""

FLOAT = 1


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A field of a protocol buffer: a whole number, a text or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor_type(name, shape):
    dims = b"".join(field(1, field(2, axis) if isinstance(axis, str) else field(1, axis)) for axis in shape)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, dims)))


def attribute(name, values):
    kind = 2 if isinstance(values, int) else 7
    content = field(3, values) if isinstance(values, int) else b"".join(field(8, value) for value in values)
    return field(5, field(1, name) + content + field(20, kind))


def model(nodes, inputs, outputs, extra=b""):
    """nodes: (operation, inputs, outputs, attributes)."""
    graph = b""
    for operation, taken, given, attributes in nodes:
        node = b"".join(field(1, name) for name in taken) + b"".join(field(2, name) for name in given)
        graph += field(1, node + field(4, operation) + b"".join(attribute(*one) for one in attributes))
    graph += field(2, "graph") + extra
    graph += b"".join(field(11, tensor_type(*one)) for one in inputs)
    graph += b"".join(field(12, tensor_type(*one)) for one in outputs)
    return field(1, 7) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def channel_means(mels=80):
    """The mean over all frames."""
    node = ("ReduceMean", ["feats"], ["vector"], [("axes", [1]), ("keepdims", 0)])
    return model([node], [("feats", ["B", "T", mels])], [("vector", ["B", mels])])


def wave_mean():
    """The mean of all samples, as a vector of one dimension."""
    node = ("ReduceMean", ["wave"], ["vector"], [("axes", [1]), ("keepdims", 1)])
    return model([node], [("wave", ["B", "T"])], [("vector", ["B", 1])])
