"""SWIM's datagrams: the samples both ways, byte by byte, what a decoder accepts, and what it refuses."""

from __future__ import annotations

import json

import pytest

from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.swim import MESSAGE, Incarnation, Joining, Payload, Ping, Uuid
from peerproof.spec.swim.codec import Room, payload_fits
from peerproof.spec.swim.messages import COUNTER_MAX

from .nodes import A, B, ping, said
from .samples import ANTI_ENTROPY, NORMAL, PING, SAMPLES, raw

BARE = f"95{PING}{{A}}0101{{B}}"  # the header of W1


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_cut_anywhere_is_truncated_and_one_byte_more_is_trailing(name: str) -> None:
    data = SAMPLES[name][1]

    for length in range(len(data)):
        with pytest.raises(MalformedMessage) as caught:
            MESSAGE.decode(data[:length])
        assert (caught.value.reason, caught.value.offset) == ("truncated", length)
    for byte in range(256):
        with pytest.raises(MalformedMessage) as caught:
            MESSAGE.decode(data + bytes((byte,)))
        assert (caught.value.reason, caught.value.offset) == ("trailing", len(data))


@pytest.mark.parametrize("name", SAMPLES)
def test_any_byte_of_a_sample_changed_gives_another_message_or_none(name: str) -> None:
    message, data, _ = SAMPLES[name]

    for at in range(len(data)):
        for bit in range(8):
            changed = data[:at] + bytes((data[at] ^ 1 << bit,)) + data[at + 1 :]
            try:
                read = MESSAGE.decode(changed)
            except MalformedMessage:
                continue
            assert read != message or changed == data


JOINING = "96a97e3a6a6f696e696e67{A}0101"

# id: (bytes, reason)
REFUSED: dict[str, tuple[str, str]] = {
    "SC-14 nothing": ("", "truncated"),
    "SC-14 a map": ("81a67e3a70696e6701", "bad_type"),
    "SC-14 no vector": ("90", "bad_type"),
    "SC-14 no header": (f"91 92{NORMAL}{{A}}", "bad_type"),
    "SC-14 arity 4": (f"91 94{PING}{{A}}0101", "bad_length"),
    "SC-14 an integer for a uuid": (f"91 95{PING}ce000f12060101{{B}}", "bad_value"),
    "SC-14 restart −1": (f"91 95{PING}{{A}}ff01{{B}}", "bad_value"),
    "SC-14 ^0 before any entry": ("91 95a25e30{A}0101{B}", "bad_value"),
    "SC-14 the string ping": ("91 95a470696e67{A}0101{B}", "bad_type"),
    "SC-14 a float": (f"91 95{PING}{{A}}cb3ff000000000000001{{B}}", "bad_value"),
    "SC-14 port 0": (f"92 {BARE} {JOINING}{{H}}00", "bad_value"),
    "SC-14 port 65536": (f"92 {BARE} {JOINING}{{H}}ce00010000", "bad_value"),
    "a scalar": ("01", "bad_type"),
    "a header that is a scalar": ("9101", "bad_type"),
    "a header without keyword": ("9190", "bad_type"),
    "the symbol ping": ("91 95a67e2470696e67{A}0101{B}", "bad_type"),
    "a boolean counter": (f"91 95{PING}{{A}}c301{{B}}", "bad_value"),
    "no counter": (f"91 95{PING}{{A}}c001{{B}}", "bad_value"),
    "counter 2^63": (f"91 95{PING}{{A}}cf800000000000000001{{B}}", "bad_value"),
    "counter 2^63 as text": (f"91 95{PING}{{A}}b57e69{b'9223372036854775808'.hex()}01{{B}}", "bad_value"),
    "a counter of thirty digits": (f"91 95{PING}{{A}}d9207e6e{b'1'.hex() * 30}01{{B}}", "bad_value"),
    "~i without digits": (f"91 95{PING}{{A}}a27e6901{{B}}", "bad_value"),
    "~i with other digits": (f"91 95{PING}{{A}}a47e69{'٣'.encode().hex()}01{{B}}", "bad_value"),
    "~ alone": (f"91 95{PING}{{A}}01a17e{{B}}", "bad_value"),
    "~ and no form": (f"91 95{PING}{{A}}01a27e21{{B}}", "bad_value"),
    "a string that should be escaped": (f"92 {BARE} {JOINING}a26078cd1389", "bad_value"),
    "a cache code beyond the last": (f"91 95{PING}a25e310101{{B}}", "bad_value"),
    "a blank cache code": (f"91 95{PING}a25e200101{{B}}", "bad_value"),
    "a long cache code": (f"91 95{PING}a45e3030300101{{B}}", "bad_value"),
    "a keyword for a uuid": (f"91 95{PING}a67e3a70696e670101{{B}}", "bad_value"),
    "one half of a uuid": (f"91 95{PING}92a37e237591010101{{B}}", "bad_value"),
    "a float half": (f"91 95{PING}92a37e23759201cb3ff00000000000000101{{B}}", "bad_value"),
    "a boolean half": (f"91 95{PING}92a37e23759201c30101{{B}}", "bad_value"),
    "uuid of 35 characters": (f"91 95{PING}d9257e75{b'11111111-1111-4111-8111-11111111111'.hex()}0101{{B}}", "bad_value"),
    "uuid with underscores for digits": (
        f"91 95{PING}d9267e75{b'1_1_1_11-1111-4111-8111-111111111111'.hex()}0101{{B}}",
        "bad_value",
    ),
    "uuid in braces": (f"91 95{PING}d9287e75{b'{11111111-1111-4111-8111-111111111111}'.hex()}0101{{B}}", "bad_value"),
    "uuid with hyphens elsewhere": (f"91 95{PING}d9267e75{b'111111111-111-4111-8111-111111111111'.hex()}0101{{B}}", "bad_value"),
    "a second ping": (f"92 {BARE} 95a25e30{{A}}0101{{B}}", "bad_type"),
    "an ack after the ping": (f"92 {BARE} 96a57e3a61636b{{A}}0101{{B}}01", "bad_type"),
    "a part that is no vector": (f"92 {BARE} 01", "bad_type"),
    "a part that is a uuid": (f"92 {BARE} {{C}}", "bad_type"),
    "a vector without keyword": (f"92 {BARE} 9101", "bad_type"),
    "a vector beginning with a string": (f"92 {BARE} 92a66e6f726d616c{{C}}", "bad_type"),
    "normal with arity 3": (f"92 {BARE} 93{NORMAL}{{C}}01", "bad_length"),
    "leave with arity 2": (f"92 {BARE} 92a77e3a6c65617665{{C}}", "bad_length"),
    "joining with arity 5": (f"92 {BARE} 95a97e3a6a6f696e696e67{{A}}0101{{H}}", "bad_length"),
    "a host that is no string": (f"92 {BARE} {JOINING}01cd1389", "bad_value"),
    "a host that is a keyword": (f"92 {BARE} {JOINING}a37e3a61cd1389", "bad_value"),
    "a host that is an integer as text": (f"92 {BARE} {JOINING}a37e6931cd1389", "bad_value"),
    "an empty host": (f"92 {BARE} {JOINING}a0cd1389", "bad_length"),
    "a host of 256 bytes": (f"92 {BARE} {JOINING}da0100{'61' * 256}cd1389", "bad_length"),
    "a host that is not UTF-8": (f"92 {BARE} {JOINING}a1ffcd1389", "bad_value"),
    "anti-entropy that holds no map": (f"92 {BARE} 92{ANTI_ENTROPY}01", "bad_type"),
    "a map without port": (f"92 {BARE} 92{ANTI_ENTROPY}84 {{host}}{{H}}{{uuid}}{{C}}{{restart}}01{{tx}}02", "bad_value"),
    "a payload that is no map": (f"92 {BARE} 92a97e3a7061796c6f616401", "bad_type"),
    "a payload with a vector for a key": (f"92 {BARE} 92a97e3a7061796c6f6164 81910101", "bad_type"),
    "a key twice": (f"92 {BARE} 92a97e3a7061796c6f6164 82a16101a16102", "bad_value"),
    "bytes": (f"91 95{PING}c401610101{{B}}", "bad_type"),
    "an extension": ("91 95d4000000", "bad_type"),
    "a byte that begins nothing": ("c1", "bad_type"),
    "an array longer than the datagram": ("ddffffffff", "truncated"),
    "a map longer than the datagram": ("dfffffffff", "truncated"),
    "a string longer than the datagram": ("91dbffffffff61", "truncated"),
    "something after a probe": (f"92 94a77e3a70726f6265{{A}}0101 92{NORMAL}{{C}}", "bad_type"),
    "arrays without end": ("91" * 1400, "too_large"),
    "arrays 65 deep": (f"92 {BARE} 92a37e3a78" + "91" * 63 + "01", "too_large"),
    "arrays 1000 deep": (f"92 {BARE} 92a37e3a78" + "91" * 1000 + "01", "too_large"),
    "lists within lists": ("92a67e236c697374" + "92a25e30" * 64 + f"91 {BARE}", "too_large"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_message_is_refused(case: str) -> None:
    digits, reason = REFUSED[case]

    with pytest.raises(MalformedMessage) as caught:
        MESSAGE.decode(raw(digits))

    assert caught.value.reason == reason


@pytest.mark.parametrize("place", ["92a37e2375 92 {} 00 01 02", "{{A}} {} 02", "{{A}} 01 {}"])
def test_arrays_that_nest_in_place_of_a_number_are_refused_however_deep_the_caller_stands(place: str) -> None:
    """What is said of them must not be as deep as they are."""

    def below(frames: int) -> object:
        return below(frames - 1) if frames else MESSAGE.decode(raw("91 94a77e3a70726f6265" + place.format("91" * 950 + "01")))

    for frames in (0, 30, 100):
        with pytest.raises(MalformedMessage):
            below(frames)


def test_only_what_is_malformed_of_a_message_makes_it_so_wherever_it_stands() -> None:
    """Good vectors before and after a bad one change nothing. [SA-31]"""
    good, bad = f"92{NORMAL}{{C}}", f"93{NORMAL}{{C}}01"

    for vectors in ([bad, good, good], [good, bad, good], [good, good, bad]):
        with pytest.raises(MalformedMessage):
            MESSAGE.decode(raw(f"94 {BARE} {' '.join(vectors)}"))


@pytest.mark.parametrize("host", ["", "x" * 256, "é" * 128, "\udcff"])
def test_a_host_that_nobody_would_accept_is_not_sent(host: str) -> None:
    with pytest.raises(NotEnabled):
        MESSAGE.encode(ping(A, 1, 1, Joining(A, Incarnation(1, 1), host, 5001), target=B))
    with pytest.raises(MalformedMessage):
        MESSAGE.value({"type": "ping", "sender": A, "incarnation": {"restart": "1", "tx": "1"}, "target": B,
                       "vectors": [{"type": "joining", "node": A, "incarnation": {"restart": "1", "tx": "1"},
                                    "host": host, "port": 1}]})  # fmt: skip


@pytest.mark.parametrize("counter", [-1, COUNTER_MAX + 1])
def test_a_counter_out_of_range_is_neither_sent_nor_read_from_plain_data(counter: int) -> None:
    with pytest.raises(NotEnabled):
        MESSAGE.encode(ping(A, counter, 1, target=B))
    for plain in (counter, str(counter)):
        with pytest.raises(MalformedMessage):
            MESSAGE.value({"type": "probe", "sender": A, "incarnation": {"restart": plain, "tx": "1"}})


def test_after_1936_entries_the_cache_begins_anew() -> None:
    """Each keyword twice: in full, then as its code; the code after the last is ^0 again. [SA-62]"""
    keywords = [f"~:k{index:04}" for index in range(1936)]
    text = "{" + ",".join(f'"{keyword}":"{keyword}"' for keyword in keywords) + "}"

    data = MESSAGE.encode(ping(A, 1, 1, Payload(text), target=B))

    assert MESSAGE.decode(data) == ping(A, 1, 1, Payload(text), target=B)
    assert data.count(b"\xa7~:k1933\xa3^[[") == 1  # with ping and payload the last that fits: index 1935
    assert data.count(b"\xa7~:k1934\xa2^0") == 1
    assert data.count(b"\xa7~:k1935\xa2^1") == 1


def test_what_fits_is_counted_to_the_byte() -> None:
    """Fourteen vectors after the header need one byte for their array, fifteen need three."""
    header, event = ping(A, 1, 1, target=B), said("normal C 1 1")
    for count in (1, 13, 14, 15):
        whole = ping(A, 1, 1, *[event] * count, target=B)
        size = len(MESSAGE.encode(whole))
        for limit in (size, size - 1):
            room = Room(header, limit)
            taken = [room.takes(event) for _ in range(count)]
            assert all(taken) == (limit == size)
            assert taken.count(True) >= count - 1


def test_a_payload_fits_if_it_does_with_the_largest_header() -> None:
    limit, largest = 600, Uuid("80000000-0000-0000-8000-000000000000")

    longest = next(data for n in range(limit, 0, -1) if payload_fits(data := json.dumps({"k": "v" * n}), limit))

    assert len(MESSAGE.encode(Ping(largest, Incarnation(COUNTER_MAX, COUNTER_MAX), largest, (Payload(longest),)))) == limit
