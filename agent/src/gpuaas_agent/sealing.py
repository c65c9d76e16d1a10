"""Opens what was sealed to this machine: HPKE (RFC 9180), base mode, with Python alone.

DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305. A machine has no cryptographic library
that Python can use without more packages, and a secret should not lie open on the way even where
the way is not encrypted. Only `delivering.py` opens anything with it. Python's numbers do not hide
how long they take: what is measured here is one opening of a one-time box, on the machine itself.
"""

import hashlib
import hmac
import os
import struct

_PRIME = 2**255 - 19
_A24 = 121665
_BASE = (9).to_bytes(32, "little")
_KEM_ID = b"KEM" + struct.pack(">H", 0x0020)
_HPKE_ID = b"HPKE" + struct.pack(">HHH", 0x0020, 0x0001, 0x0003)
_TAG = 16
_POLY_PRIME = 2**130 - 5
_MASK = 0xFFFFFFFF


class CannotOpen(Exception):
    """It was not sealed to this machine, not for this purpose, or was changed."""


def sealing_key_make() -> bytes:
    """A new private key."""
    return os.urandom(32)


def sealing_key_public(private: bytes) -> bytes:
    """The public half of a private key."""
    return x25519(private, _BASE)


def box_open(private: bytes, box: bytes, info: bytes) -> bytes:
    """What was sealed to the public half, for exactly this purpose."""
    if len(box) < 32 + _TAG:
        raise CannotOpen("it is too short")
    encapsulated, sealed = box[:32], box[32:]
    shared = _decapsulated(private, encapsulated)
    key, nonce = _schedule(shared, info)
    return chacha20_poly1305_open(key, nonce, sealed)


def x25519(scalar: bytes, point: bytes) -> bytes:
    """The function of RFC 7748."""
    k = int.from_bytes(scalar, "little")
    k = k & ~7 & ~(128 << 248) | (64 << 248)
    x1 = int.from_bytes(point, "little") & (2**255 - 1)
    x2, z2, x3, z3, swapped = 1, 0, x1, 1, 0
    for bit in range(254, -1, -1):
        now = (k >> bit) & 1
        if swapped ^ now:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swapped = now
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % _PRIME, b * b % _PRIME, d * a % _PRIME, c * b % _PRIME
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % _PRIME, x1 * (da - cb) ** 2 % _PRIME
        x2, z2 = aa * bb % _PRIME, e * (aa + _A24 * e) % _PRIME
    if swapped:
        x2, z2 = x3, z3
    return (x2 * pow(z2, _PRIME - 2, _PRIME) % _PRIME).to_bytes(32, "little")


def chacha20_poly1305_open(key: bytes, nonce: bytes, sealed: bytes) -> bytes:
    """The AEAD of RFC 8439, without additional data."""
    text, tag = sealed[:-_TAG], sealed[-_TAG:]
    once = _chacha20_block(key, 0, nonce)[:32]
    padded = text + bytes(-len(text) % 16) + struct.pack("<QQ", 0, len(text))
    if not hmac.compare_digest(_poly1305(once, padded), tag):
        raise CannotOpen("it is not what was sealed to this machine for this purpose")
    found = bytearray()
    for number in range(0, len(text), 64):
        stream = _chacha20_block(key, number // 64 + 1, nonce)
        found += bytes(a ^ b for a, b in zip(text[number : number + 64], stream, strict=False))
    return bytes(found)


def _decapsulated(private: bytes, encapsulated: bytes) -> bytes:
    secret = x25519(private, encapsulated)
    if secret == bytes(32):
        raise CannotOpen("its key is of small order")
    context = encapsulated + sealing_key_public(private)
    prk = _extract(_KEM_ID, b"", b"eae_prk", secret)
    return _expand(_KEM_ID, prk, b"shared_secret", (context, 32))


def _schedule(shared: bytes, info: bytes) -> tuple[bytes, bytes]:
    psk_id = _extract(_HPKE_ID, b"", b"psk_id_hash", b"")
    told = _extract(_HPKE_ID, b"", b"info_hash", info)
    context = b"\0" + psk_id + told
    secret = _extract(_HPKE_ID, shared, b"secret", b"")
    key = _expand(_HPKE_ID, secret, b"key", (context, 32))
    return key, _expand(_HPKE_ID, secret, b"base_nonce", (context, 12))


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    labelled = b"HPKE-v1" + suite + label + material
    return hmac.digest(salt or bytes(32), labelled, hashlib.sha256)


def _expand(suite: bytes, key: bytes, label: bytes, wanted: tuple[bytes, int]) -> bytes:
    """LabeledExpand; nothing longer than one block of the hash is ever asked for."""
    info, length = wanted
    labelled = struct.pack(">H", length) + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, labelled + b"\1", hashlib.sha256)[:length]


def _chacha20_block(key: bytes, counter: int, nonce: bytes) -> bytes:
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]
    start += [*struct.unpack("<8I", key), counter, *struct.unpack("<3I", nonce)]
    state = list(start)
    for _ in range(10):
        for a, b, c, d in _ROUNDS:
            _quarter(state, a, b, c, d)
    return struct.pack("<16I", *((x + y) & _MASK for x, y in zip(state, start, strict=True)))


_ROUNDS = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip


def _quarter(s: list[int], a: int, b: int, c: int, d: int) -> None:
    s[a] = (s[a] + s[b]) & _MASK
    s[d] = _rotated(s[d] ^ s[a], 16)
    s[c] = (s[c] + s[d]) & _MASK
    s[b] = _rotated(s[b] ^ s[c], 12)
    s[a] = (s[a] + s[b]) & _MASK
    s[d] = _rotated(s[d] ^ s[a], 8)
    s[c] = (s[c] + s[d]) & _MASK
    s[b] = _rotated(s[b] ^ s[c], 7)


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) & _MASK) | (value >> (32 - bits))


def _poly1305(key: bytes, message: bytes) -> bytes:
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(message), 16):
        block = message[at : at + 16] + b"\1"
        total = (total + int.from_bytes(block, "little")) * r % _POLY_PRIME
    total += int.from_bytes(key[16:], "little")
    return (total & (2**128 - 1)).to_bytes(16, "little")
