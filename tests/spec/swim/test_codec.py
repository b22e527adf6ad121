"""SWIM's datagrams: the samples both ways, byte by byte, what a decoder accepts, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.swim import MESSAGE, Incarnation, Joining, Payload, Ping, Probe, ProbeAck, Uuid
from peerproof.spec.swim.codec import Room, payload_fits
from peerproof.spec.swim.messages import COUNTER_MAX

from .nodes import A, B, C, member, members, ping, said
from .samples import ANTI_ENTROPY, C1, NORMAL, PING, SAMPLES, raw

W1 = SAMPLES["W1"][1]
BARE = f"95{PING}{{A}}0101{{B}}"  # the header of W1


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_and_its_datagram_are_each_others(name: str) -> None:
    message, data, size = SAMPLES[name]

    assert len(data) == size
    assert MESSAGE.encode(message) == data
    assert MESSAGE.decode(data) == message
    assert MESSAGE.value(MESSAGE.plain(message)) == message


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


# id: (bytes, what they say): other writings of the same
ACCEPTED: dict[str, tuple[str, Any]] = {
    "SC-09 uuids as strings": (
        "9195a67e3a70696e67d9267e7531313131313131312d313131312d343131312d383131312d3131313131313131313131310101"
        "d9267e7532323232323232322d323232322d343232322d383232322d323232323232323232323232",
        SAMPLES["W1"][0],
    ),
    "SC-10 with headers of two bytes": (
        "9195a67e3a70696e67da00267e7531313131313131312d313131312d343131312d383131312d3131313131313131313131310101"
        "da00267e7532323232323232322d323232322d343232322d383232322d323232323232323232323232",
        SAMPLES["W1"][0],
    ),
    "with headers of four bytes": (f"9195db00000006{PING[2:]}{{A}}0101{{B}}", SAMPLES["W1"][0]),
    "SC-11 wide integers": (f"9195{PING}{{A}}cd0001d30000000000000001{{B}}", SAMPLES["W1"][0]),
    "signed integers of every width": (f"9195{PING}{{A}}d001d10001{{B}}", SAMPLES["W1"][0]),
    "unsigned integers of every width": (f"9195{PING}{{A}}ce00000001cf0000000000000001{{B}}", SAMPLES["W1"][0]),
    "SC-12 ~i1": (f"9195{PING}{{A}}a37e6931a37e6931{{B}}", SAMPLES["W1"][0]),
    "~n1": (f"9195{PING}{{A}}a37e6e3101{{B}}", SAMPLES["W1"][0]),
    "~i with all its digits": (
        f"9195{PING}{{A}}b57e69{b'9223372036854775807'.hex()}01{{B}}",
        ping(A, COUNTER_MAX, 1, target=B),
    ),
    "halves of a uuid unsigned": (
        f"9195{PING}92a37e237592cf1111111111114111cf81111111111111110101{{B}}",
        SAMPLES["W1"][0],
    ),
    "a uuid as map": (f"9195{PING}81a37e237592cf1111111111114111d381111111111111110101{{B}}", SAMPLES["W1"][0]),
    "a uuid in capital letters": (
        f"9195{PING}{{A}}0101d9267e75{b'ABCDEFAB-ABCD-4BCD-8BCD-ABCDEFABCDEF'.hex()}",
        ping(A, 1, 1, target="abcdefab-abcd-4bcd-8bcd-abcdefabcdef"),  # type: ignore[arg-type]  # a uuid
    ),
    "headers of arrays of three and five bytes": (f"dc0001dd00000005{PING}{{A}}0101{{B}}", SAMPLES["W1"][0]),
    "a list for the message": (f"92a67e236c697374 91 {BARE}", SAMPLES["W1"][0]),
    "a list for the header": (f"91 92a67e236c697374{BARE}", SAMPLES["W1"][0]),
    "lists for vectors, the second from the cache": (
        f"93 {BARE} 92a67e236c697374 92{NORMAL}{{C}} 92a25e31 92a25e32{{C}}",
        ping(A, 1, 1, said("normal C"), said("normal C"), target=B),
    ),
    "SC-13 keys of maps in another order": (
        f"92 95{PING}{{A}}0103{{B}} 92{ANTI_ENTROPY}85{{uuid}}{{C}}{{tx}}02{{restart}}01{{port}}cd138b{{host}}{{H}}",
        ping(A, 1, 3, members(member(C, 1, 2)), target=B),
    ),
    "keys that nobody knows, and what they hold": (
        f"92 {BARE} 92{ANTI_ENTROPY}88 a67e3a6d6f7265 91a67e236c697374 07c0 92a1780100 {C1[2:]}02",
        ping(A, 1, 1, members(member(C, 1, 2)), target=B),
    ),
    "SC-15 a vector that nobody knows": (
        f"93 {BARE} 92a87e3a66757475726501 92{NORMAL}{{C}}",
        ping(A, 1, 1, said("normal C"), target=B),
    ),
    "its keyword is in the cache": (
        f"94 {BARE} 92a87e3a66757475726581a46b6579730092{NORMAL}{{C}} 91a25e31",
        ping(A, 1, 1, said("normal C"), target=B),
    ),
    "events with incarnations": (
        f"94 {BARE} 94{NORMAL}{{C}}0102 94ac7e3a737573706963696f7573{{C}}0102 94a67e3a64656164{{C}}0102",
        ping(A, 1, 1, said("normal C 1 2"), said("suspicious C 1 2"), said("dead C 1 2"), target=B),
    ),
    "no anti-entropy, without its keyword": (f"92 {BARE} 90", ping(A, 1, 1, members(tagged=False), target=B)),
    "a keyword written in full twice": (
        f"93 {BARE} 92{NORMAL}{{C}} 92{NORMAL}{{C}}",
        ping(A, 1, 1, said("normal C"), said("normal C"), target=B),
    ),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_written_otherwise_is_understood_and_written_back_in_the_one_form(case: str) -> None:
    digits, message = ACCEPTED[case]

    assert MESSAGE.decode(raw(digits)) == message
    assert MESSAGE.decode(MESSAGE.encode(message)) == message


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


def test_arrays_may_nest_64_deep() -> None:
    assert MESSAGE.decode(raw(f"92 {BARE} 92a37e3a78" + "91" * 62 + "01")) == SAMPLES["W1"][0]


def test_only_what_is_malformed_of_a_message_makes_it_so_wherever_it_stands() -> None:
    """Good vectors before and after a bad one change nothing. [SA-31]"""
    good, bad = f"92{NORMAL}{{C}}", f"93{NORMAL}{{C}}01"

    for vectors in ([bad, good, good], [good, bad, good], [good, good, bad]):
        with pytest.raises(MalformedMessage):
            MESSAGE.decode(raw(f"94 {BARE} {' '.join(vectors)}"))


def test_probes_are_whole_datagrams() -> None:
    probe, answer = Probe(A, Incarnation(1, 2)), ProbeAck(B, Incarnation(3, 4), 2)

    assert MESSAGE.encode(probe) == raw("91 94a77e3a70726f6265{A}0102")
    assert MESSAGE.encode(answer) == raw("91 95ab7e3a70726f62652d61636b{B}030402")
    for message in (probe, answer):
        assert MESSAGE.decode(MESSAGE.encode(message)) == message
    assert MESSAGE.decode(raw(f"92 {BARE} 94a77e3a70726f6265{{A}}0102")) == SAMPLES["W1"][0]  # elsewhere nobody knows it


@pytest.mark.parametrize(
    ("number", "digits"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "cc80"),
        (255, "ccff"),
        (256, "cd0100"),
        (65535, "cdffff"),
        (65536, "ce00010000"),
        (2**32 - 1, "ceffffffff"),
        (2**32, "cf0000000100000000"),
        (COUNTER_MAX, "cf7fffffffffffffff"),
    ],
)
def test_a_counter_takes_its_shortest_form(number: int, digits: str) -> None:
    assert MESSAGE.encode(ping(A, number, number, target=B)) == raw(f"91 95{PING}{{A}}{digits}{digits}{{B}}")


@pytest.mark.parametrize(
    ("uuid", "halves"),
    [
        ("00000000-0000-0000-0000-000000000000", "0000"),
        ("00000000-0000-007f-ffff-ffffffffffff", "7fff"),
        ("00000000-0000-0080-ffff-ffffffffff80", "cc80d080"),
        ("00000000-0000-0100-ffff-ffffffffff7f", "cd0100d1ff7f"),
        ("00000000-ffff-ffff-ffff-ffff80000000", "ceffffffffd280000000"),
        ("00000001-0000-0000-ffff-ffff7fffffff", "cf0000000100000000d3ffffffff7fffffff"),
        ("7fffffff-ffff-ffff-8000-000000000000", "cf7fffffffffffffffd38000000000000000"),
        ("ffffffff-ffff-ffff-0000-000000000001", "ff01"),
    ],
)
def test_a_uuid_is_two_signed_halves_each_in_its_shortest_form(uuid: Any, halves: str) -> None:
    data = raw(f"91 95{PING}92a37e237592{halves}0101{{B}}")

    assert MESSAGE.encode(ping(uuid, 1, 1, target=B)) == data
    assert MESSAGE.decode(data) == ping(uuid, 1, 1, target=B)


@pytest.mark.parametrize(
    ("host", "digits"),
    [
        ("~a", "a37e7e61"),
        ("^a", "a37e5e61"),
        ("`a", "a37e6061"),
        ("~:some", "a77e7e3a736f6d65"),
        ("é", "a2c3a9"),
        ("x" * 31, "bf" + "78" * 31),
        ("x" * 32, "d920" + "78" * 32),
        ("x" * 255, "d9ff" + "78" * 255),
        ("~" + "x" * 254, "da01007e7e" + "78" * 254),
    ],
)
def test_a_string_is_escaped_and_has_the_shortest_header(host: str, digits: str) -> None:
    message = ping(A, 1, 1, Joining(A, Incarnation(1, 1), host, 5001), target=B)

    assert MESSAGE.encode(message) == raw(f"92 {BARE} {JOINING}{digits}cd1389")
    assert MESSAGE.decode(MESSAGE.encode(message)) == message


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


def test_what_did_not_fit_leaves_no_trace() -> None:
    """A keyword that was taken back is written in full by the next vector."""
    header = ping(A, 1, 1, target=B)
    long, short = Joining(C, Incarnation(1, 1), "x" * 200, 1), Joining(C, Incarnation(1, 1), "y", 1)
    size = len(MESSAGE.encode(ping(A, 1, 1, short, target=B)))

    room = Room(header, size)

    assert [room.takes(long), room.takes(short), room.takes(short)] == [False, True, False]


def test_a_payload_fits_if_it_does_with_the_largest_header() -> None:
    limit, largest = 600, Uuid("80000000-0000-0000-8000-000000000000")

    longest = next(data for n in range(limit, 0, -1) if payload_fits(data := json.dumps({"k": "v" * n}), limit))

    assert len(MESSAGE.encode(Ping(largest, Incarnation(COUNTER_MAX, COUNTER_MAX), largest, (Payload(longest),)))) == limit
