"""A digest of many words, by which a later word is known to be new: the Bloom filter (Bloom 1970)."""

import base64
import hashlib
from collections.abc import Iterable, Iterator

BITS = 16  # for each word, of which N_HASHES are set: of new words six in ten thousand seem known
N_HASHES = 8
LEAST_BYTES = 32  # in fewer the bits of a word meet


def digest_of(words: Iterable[str]) -> str:
    """Return the digest of some words as a text; an empty one for none.

    Examples
    --------
    >>> digest = digest_of(["machine 7", "machine 8"])
    >>> may_hold(digest, "machine 7"), may_hold(digest, "machine 99"), may_hold("", "machine 7")
    (True, False, False)
    """
    known = {*words}
    table = bytearray(max(LEAST_BYTES, -(-len(known) * BITS // 8)) if known else 0)
    for word in known:
        for place in _places(word, 8 * len(table)):
            table[place // 8] |= 1 << place % 8
    return base64.b64encode(table).decode()


def may_hold(digest: str, word: str) -> bool:
    """Whether a word is probably one of those of the digest; False is certain."""
    table = base64.b64decode(digest)
    return bool(table) and all(table[place // 8] >> place % 8 & 1 for place in _places(word, 8 * len(table)))


def check_digest(digest: str) -> None:
    """Raise a ValueError if a text is no digest."""
    base64.b64decode(digest, validate=True)


def _places(word: str, n_bits: int) -> Iterator[int]:
    """Yield the bits of a word."""
    hashed = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    first = int.from_bytes(hashed[:8], "little")
    step = int.from_bytes(hashed[8:], "little") | 1
    return ((first + k * step) % n_bits for k in range(N_HASHES))
