"""Bytes of a file that a random generator damages."""

PIECES = [
    b"@attribute ",
    b"@data",
    b"{",
    b"}",
    b"'",
    b'"',
    b",",
    b"\\",
    b"%",
    b"nan",
    b"inf",
    b"1e999",
    b"-0",
    b"\0",
    b"\xff",
    b"\r",
    b"\n",
    b"\t",
    b" ",
    b"1_0",
    b"?",
    b"-1",
    b"99999999999999999999",
    b"{0 1,0 2}",
    b'<!DOCTYPE a [<!ENTITY b "c">]>',
    b'<label name="',
    b"&#0;",
    b"&#xD800;",
    b"&amp;",
    b'xmlns:a="b"',
    b"relational",
    b'date "yyyy"',
    b"string",
    b"\\u0041",
    b"\\ud800",
    b"\\777",
    b"\xe2\x80\xae",
    b"\x1b[31m",
    b"0x10",
    b"1e308",
    b"1d5",
    b"True",
    b"''",
    b'""',
    b":",
    b"0:1",
    b"1:",
    b"#",
    b"{{",
    b",,",
    b"\x1f\x8b",
    b"\x1c5",
    b"\x85",
    b"\xd9\xa3",
    b'encoding="rot13"',
    b'encoding="utf-16"',
    b"\xff\xfe",
    b"(",
    b"[",
    b"'descr': ",
    b"<U0",
    b"|O",
    b"-1,",
    b"9" * 18,
]


def mutated(content, rng):
    """Some bytes flipped, deleted, doubled, moved, cut off or replaced by what readers stumble over."""
    b = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3, 8])):
        size = len(b)
        start = rng.randrange(size + 1)
        end = min(size, start + rng.choice([1, 1, 2, 4, 8, 30]))
        kind = rng.randrange(9)
        if kind == 0 and size:
            b[min(start, size - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del b[start:end]
        elif kind == 2:
            b[start:start] = b[start:end] * rng.choice([1, 2, 20])
        elif kind in (3, 4):
            b[start : start if kind == 3 else end] = rng.choice(PIECES)
        elif kind == 5 and size:
            b[min(start, size - 1)] = rng.randrange(256)
        elif kind == 6:
            source_position = rng.randrange(size + 1)
            b[start:start] = b[source_position : source_position + 20]
        elif kind == 7 and rng.random() < 0.3:
            b = b[:start]
        elif kind == 8:
            b[start:start] = bytes(rng.randrange(256) for _ in range(rng.randrange(6)))
    return bytes(b)
