"""Payloads: any map of Transit, as bytes and as text."""

from __future__ import annotations

import pytest

from peerproof.spec.swim import MESSAGE, Payload

from .nodes import A, B, ping
from .samples import PING, SAMPLES, raw

W1 = SAMPLES["W1"][1]
BARE = f"95{PING}{{A}}0101{{B}}"  # the header of W1


# id: (payload, its bytes)
PAYLOADS: dict[str, tuple[str, str]] = {
    "nothing": ("{}", "80"),
    "scalars": (
        '{"a":null,"b":true,"c":false,"d":1.5,"e":-1,"f":"g"}',
        "86a161c0a162c3a163c2a164cb3ff8000000000000a165ffa166a167",
    ),
    "a key and a value that look alike": ('{"long":"long"}', "81a46c6f6e67a46c6f6e67"),
    "a key again": ('{"long":[{"long":1}]}', "81a46c6f6e679181a25e3201"),
    "a keyword again": ('{"~:some":"~:some"}', "81a67e3a736f6d65a25e32"),
    "a uuid": (f'{{"a":"~u{A}"}}', "81a161{A}"),
    "a uuid for a key": (f'{{"~u{A}":1}}', f"81d9267e75{A.encode().hex()}01"),
    "a large integer": ('{"a":"~i9007199254740992"}', "81a161cf0020000000000000"),
    "the largest": ('{"a":"~n18446744073709551615"}', "81a161cfffffffffffffffff"),
    "a larger one": ('{"a":"~n18446744073709551616"}', "81a161b67e6e3138343436373434303733373039353531363136"),
    "the smallest": ('{"a":"~i-9223372036854775808"}', "81a161d38000000000000000"),
    "strings that are escaped": ('{"~~a":"~^b"}', "81a37e7e61a37e5e62"),
    "text": ('{"ключ":"é"}', "81a8d0bad0bbd18ed187a2c3a9"),
    "no number": ('{"a":"~zNaN"}', "81a161a57e7a4e614e"),
    "a tagged value": ('{"a":{"~#point":[1,2]}}', "81a16192a77e23706f696e74920102"),
}


@pytest.mark.parametrize("case", PAYLOADS)
def test_a_payload_and_its_bytes_are_each_others(case: str) -> None:
    text, digits = PAYLOADS[case]
    data = raw(f"92 {BARE} 92a97e3a7061796c6f6164{digits}")

    assert MESSAGE.encode(ping(A, 1, 1, Payload(text), target=B)) == data
    assert MESSAGE.decode(data) == ping(A, 1, 1, Payload(text), target=B)


# id: (bytes, payload): what is not written so, but read
OTHER_PAYLOADS: dict[str, tuple[str, str]] = {
    "keys that are no strings": ("85 0501c001c301c201cb3ff000000000000001", '{"~i5":1,"~_":1,"~?t":1,"~?f":1,"~i1":1}'),
    "integers as text": ("82a161a37e6935a162a67e6930303035", '{"a":5,"b":5}'),
    "not a number": (
        "83a161cb7ff8000000000000a162cb7ff0000000000000a163cbfff0000000000000",
        '{"a":"~zNaN","b":"~zINF","c":"~z-INF"}',
    ),
    "a map with a vector for a key": ("81a16181910102", '{"a":{"~#cmap":[[1],2]}}'),
    "a tagged value as a map": ("81a16181a77e23706f696e74920102", '{"a":{"~#point":[1,2]}}'),
    "null and booleans as text": ("83a161a27e5fa162a37e3f74a163a37e3f66", '{"a":null,"b":true,"c":false}'),
    "floats as text": ("82a161a57e64322e35a162a67e642d316533", '{"a":2.5,"b":-1000}'),
    "floats without a fraction": ("82a161cb4000000000000000a162cb8000000000000000", '{"a":2,"b":0}'),
    "a float of four bytes": ("81a161ca3fc00000", '{"a":1.5}'),
}


@pytest.mark.parametrize("case", OTHER_PAYLOADS)
def test_a_payload_in_another_writing_is_read_as_the_same_text_by_everybody(case: str) -> None:
    digits, text = OTHER_PAYLOADS[case]

    read = MESSAGE.decode(raw(f"92 {BARE} 92a97e3a7061796c6f6164{digits}"))

    assert read == ping(A, 1, 1, Payload(text), target=B)
    assert MESSAGE.decode(MESSAGE.encode(read)) == read
