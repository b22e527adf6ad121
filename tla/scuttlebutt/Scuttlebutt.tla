---------------------------- MODULE Scuttlebutt ----------------------------
(***************************************************************************)
(* Scuttlebutt: nodes send each other the pairs that the other has not     *)
(* seen yet.                                                               *)
(*                                                                         *)
(* Every node owns a set of key-value pairs, numbers its changes, and      *)
(* gossips: "this is how far I know each of us" (a digest), "then this is  *)
(* what you lack" (a delta), "and this is how far I know those whom you    *)
(* know better" (a digest response).                                       *)
(*                                                                         *)
(* Written from the clauses in spec/scuttlebutt.md, whose numbers stand in *)
(* brackets. There is no time here and no failure detector: a round may    *)
(* begin whenever it wants to. Sizes are bytes of a datagram; an address, a *)
(* key and a value are one byte long.                                      *)
(***************************************************************************)
EXTENDS Network, Sequences

CONSTANTS
    Node,              \* the nodes 1..N; the order of the numbers is the order of the addresses
    Key,               \* the keys that nodes may set
    Value,             \* the values that nodes may set
    Seeds,             \* the nodes that every node is configured to start with
    MaxVersion,        \* the highest version of a node's own record, which is the most changes that it makes
    MaxPayload,        \* the largest datagram, in bytes
    Roomy,             \* nodes that are configured with RoomyPayload instead of MaxPayload
    RoomyPayload,      \* the largest datagram of the nodes in Roomy, in bytes
    DigestEntrySize,   \* bytes of an entry of a digest
    DeltaEntrySize,    \* bytes of an entry of a delta
    BigKey,            \* keys whose entries are larger, by BigKeySize
    BigKeySize,        \* bytes that an entry of a key in BigKey has more
    MaxRestarts,       \* the most restarts of the nodes in Restarting, together
    Restarting         \* the nodes that may restart

VARIABLES
    store,            \* store[n][p]: what n knows about p, for the peers p that n knows, itself included [B-01]
    restarts          \* how many restarts are left

vars == <<store, net, restarts>>

ASSUME ScuttlebuttAssumption ==
    /\ Node = 1..Cardinality(Node)
    /\ Seeds \subseteq Node
    /\ Roomy \subseteq Node
    /\ Restarting \subseteq Node
    /\ BigKey \subseteq Key
    /\ {MaxVersion, MaxPayload, RoomyPayload, BigKeySize, MaxRestarts} \subseteq Nat
    /\ {DigestEntrySize, DeltaEntrySize} \subseteq Nat \ {0}

-----------------------------------------------------------------------------
\* Records [B-02]: a version, and triples <<key, value, version>> with different keys. The address is the index.

NoPairs == [version |-> 0, pairs |-> {}]   \* [B-04]

Known(n) == DOMAIN store[n]

Max(a, b) == IF a > b THEN a ELSE b

\* The version that a record has for a key; an absent pair has version 0. [BA-14]
PairVersion(record, key) ==
    IF \E pair \in record.pairs : pair[1] = key
    THEN (CHOOSE pair \in record.pairs : pair[1] = key)[3]
    ELSE 0

WithPair(record, key, value, version) ==
    [version |-> Max(record.version, version),                                             \* [B-37, B-38]
     pairs   |-> {pair \in record.pairs : pair[1] # key} \cup {<<key, value, version>>}]

-----------------------------------------------------------------------------
\* Sizes

TypeSize == 1   \* the first byte counts [BA-05]

Limit(n) == IF n \in Roomy THEN RoomyPayload ELSE MaxPayload

EntrySize(entry) == IF entry[2] \in BigKey THEN DeltaEntrySize + BigKeySize ELSE DeltaEntrySize

\* Equality is allowed. [BA-05]
FitsAlone(n, entry) == TypeSize + EntrySize(entry) <= Limit(n)

\* How many digest entries fit; they all have one size, and the first that does not fit ends the message. [B-24, BA-06]
DigestRoom(n) == IF Limit(n) < TypeSize THEN 0 ELSE (Limit(n) - TypeSize) \div DigestEntrySize

Cut(n, entries) == SubSeq(entries, 1, IF Len(entries) > DigestRoom(n) THEN DigestRoom(n) ELSE Len(entries))

-----------------------------------------------------------------------------
\* Digests

\* Every order of a set.
Orders(S) == {order \in [1..Cardinality(S) -> S] : \A i, j \in DOMAIN order : i # j => order[i] # order[j]}

\* n's known peers in this order, as many as fit; n is one of them. [B-10, B-22…B-25, BA-09]
Digest(n, order) == Cut(n, [i \in DOMAIN order |-> <<order[i], store[n][order[i]].version>>])

DigestRequest(n, to, order) == <<n, to, "digest_request", Digest(n, order)>>

-----------------------------------------------------------------------------
\* Deltas

\* Keys in the order of their bytes, for ties. [BA-12]
KeyRank(key) == CASE key = "a" -> 1 [] key = "b" -> 2 [] key = "c" -> 3 [] key = "d" -> 4

\* The order of the pairs of one peer. [B-30, BA-12]
PairBefore(one, other) == one[3] < other[3] \/ (one[3] = other[3] /\ KeyRank(one[1]) < KeyRank(other[1]))

RECURSIVE InVersionOrder(_)
InVersionOrder(pairs) ==
    IF pairs = {} THEN <<>>
    ELSE LET first == CHOOSE pair \in pairs : \A other \in pairs \ {pair} : PairBefore(pair, other)
         IN  <<first>> \o InVersionOrder(pairs \ {first})

DeltaEntry(peer, pair, since) == <<peer, pair[1], pair[2], pair[3]>>

\* What a node lacks that knows the peer up to a version, as entries in order. [B-29, B-30]
Missing(records, peer, since) ==
    LET pairs == InVersionOrder({pair \in records[peer].pairs : pair[3] > since})
    IN  [i \in DOMAIN pairs |-> DeltaEntry(peer, pairs[i], since)]

\* How far a digest entry is behind; how the places of a digest are ordered. [B-28, BA-12]
Behind(records, entry) == records[entry[1]].version - entry[2]

PlaceBefore(records, digest, i, j) ==
    LET far == Behind(records, digest[i])
        other == Behind(records, digest[j])
    IN  \/ far > other
        \/ far = other /\ digest[i][1] < digest[j][1]
        \/ far = other /\ digest[i][1] = digest[j][1] /\ i < j

RECURSIVE MostBehindFirst(_, _, _)
MostBehindFirst(records, digest, places) ==
    IF places = {} THEN <<>>
    ELSE LET first == CHOOSE i \in places : \A j \in places \ {i} : PlaceBefore(records, digest, i, j)
         IN  <<first>> \o MostBehindFirst(records, digest, places \ {first})

\* An entry that would not fit into an empty message ends only its own peer. [BA-07]
EndsOnlyItsPeer(n, entry) == ~FitsAlone(n, entry)

\* Packs lists of entries, one for each peer, until the message is full. [B-26, B-31]
RECURSIVE Pack(_, _, _)
Pack(n, lists, room) ==
    IF lists = <<>> THEN <<>>
    ELSE IF Head(lists) = <<>> THEN Pack(n, Tail(lists), room)
    ELSE LET entry == Head(Head(lists)) IN
         IF EntrySize(entry) <= room
         THEN <<entry>> \o Pack(n, <<Tail(Head(lists))>> \o Tail(lists), room - EntrySize(entry))
         ELSE IF EndsOnlyItsPeer(n, entry) THEN Pack(n, Tail(lists), room)
         ELSE <<>>

\* Only the peers of the digest are considered. Each entry counts by itself. [B-27, BA-08, BA-13]
DeltaFor(n, records, digest) ==
    LET places == {i \in DOMAIN digest : records[digest[i][1]].version > digest[i][2]}
        order  == MostBehindFirst(records, digest, places)
    IN  Pack(n, [i \in DOMAIN order |-> Missing(records, digest[order[i]][1], digest[order[i]][2])], Limit(n) - TypeSize)

-----------------------------------------------------------------------------
\* Receiving

\* n's records, when it has stored the peers that it did not know, with version 0. [B-11]
WithPeersOf(n, digest) ==
    LET peers == Known(n) \cup {digest[i][1] : i \in DOMAIN digest}
    IN  [peer \in peers |-> IF peer \in Known(n) THEN store[n][peer] ELSE NoPairs]

\* The entries that know more than n does, with n's own versions, in their order. No node tells n about n. [B-14, BA-10, BA-11, BA-16]
Wanted(n, records, digest) ==
    LET knowsMore(entry) == entry[1] # n /\ entry[2] > records[entry[1]].version
        entries == SelectSeq(digest, knowsMore)
    IN  Cut(n, [i \in DOMAIN entries |-> <<entries[i][1], records[entries[i][1]].version>>])

\* A delta always [B-13, B-32, BA-21]; for a request also a digest response, unless it would be empty. [B-16, BA-32, B-39]
\* The answers go to where the message came from, which does not become a known peer by that. [BA-22]
Answers(m) ==
    LET n       == m[2]
        records == WithPeersOf(n, m[4])
        wanted  == Wanted(n, records, m[4])
        delta   == <<n, m[1], "delta", DeltaFor(n, records, m[4])>>
    IN  IF m[3] = "delta" THEN {}
        ELSE IF m[3] = "digest_request" /\ wanted # <<>> THEN {delta, <<n, m[1], "digest_response", wanted>>}
        ELSE {delta}

\* Whether an entry of a delta is news to n: n owns its own pairs, learns of peers by digests only, and never goes back.
\* [B-06, B-36, BA-14, BA-15, BA-17]
IsNews(n, records, entry) ==
    /\ entry[1] # n
    /\ entry[1] \in DOMAIN records
    /\ entry[4] > PairVersion(records[entry[1]], entry[2])

RECURSIVE Apply(_, _, _)
Apply(n, records, delta) ==
    IF delta = <<>> THEN records
    ELSE LET entry == Head(delta) IN
         Apply(n,
               IF IsNews(n, records, entry)
               THEN [records EXCEPT ![entry[1]] = WithPair(@, entry[2], entry[3], entry[4])]
               ELSE records,
               Tail(delta))

\* What the addressee of a message knows afterwards. [B-15]
Learnt(m) == IF m[3] = "delta" THEN Apply(m[2], store[m[2]], m[4]) ELSE WithPeersOf(m[2], m[4])

-----------------------------------------------------------------------------
\* Actions

Init ==
    /\ store = [n \in Node |-> [peer \in {n} |-> NoPairs]]
    /\ net = {}
    /\ restarts = MaxRestarts

\* [B-06, B-07, BA-03, BA-18]
Update(n, key, value) ==
    LET record  == store[n][n]
        version == record.version + 1
    IN  /\ record.version < MaxVersion
        /\ FitsAlone(n, <<n, key, value, version>>)
        /\ store' = [store EXCEPT ![n][n] = WithPair(record, key, value, version)]
        /\ UNCHANGED <<net, restarts>>

\* A node that knows no peer asks all seeds; else a partner, and one seed that it does not know, if there is one.
\* One step for each random choice. [B-08, B-09, B-17, B-18, BA-24]
Round(n) ==
    LET others  == Known(n) \ {n}
        unknown == Seeds \ Known(n)
    IN  /\ IF others = {}
           THEN \E order \in Orders(Known(n)) : Send({DigestRequest(n, seed, order) : seed \in Seeds \ {n}})
           ELSE \E partner \in others, order \in Orders(Known(n)) :
                    IF unknown = {}
                    THEN Send({DigestRequest(n, partner, order)})
                    ELSE \E seed \in unknown, another \in Orders(Known(n)) :
                             Send({DigestRequest(n, partner, order), DigestRequest(n, seed, another)})
        /\ UNCHANGED <<store, restarts>>

Receive ==
    \E m \in net :
        /\ Answer(m, Answers(m))
        /\ store' = [store EXCEPT ![m[2]] = Learnt(m)]
        /\ UNCHANGED restarts

ReceiveAgain ==
    \E m \in net :
        /\ AnswerCopy(m, Answers(m))
        /\ store' = [store EXCEPT ![m[2]] = Learnt(m)]
        /\ UNCHANGED restarts

Lose ==
    \E m \in net :
        /\ Drop(m)
        /\ UNCHANGED <<store, restarts>>

\* What a node still has when it comes back: nothing. Messages to it and from it are still on their way.
Remembered(n) == [peer \in {n} |-> NoPairs]

Restart(n) ==
    /\ n \in Restarting
    /\ restarts > 0
    /\ restarts' = restarts - 1
    /\ store' = [store EXCEPT ![n] = Remembered(n)]
    /\ UNCHANGED net

Next ==
    \/ \E n \in Node, key \in Key, value \in Value : Update(n, key, value)
    \/ \E n \in Node : Round(n)
    \/ Receive
    \/ ReceiveAgain
    \/ Lose
    \/ \E n \in Node : Restart(n)

Spec == Init /\ [][Next]_vars

=============================================================================
