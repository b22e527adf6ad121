--------------------------- MODULE MCScuttlebutt ---------------------------
(***************************************************************************)
(* Properties of Scuttlebutt for the model checker.                        *)
(*                                                                         *)
(* Invariants speak of a state, and of the answers that the messages on    *)
(* their way would get in it. Properties named Only... and Never... speak  *)
(* of steps. Models with expected counterexamples use claims in modules of *)
(* their own, or replace a definition of Scuttlebutt by one from here.     *)
(***************************************************************************)
EXTENDS Scuttlebutt

Version(n, peer) == IF peer \in Known(n) THEN store[n][peer].version ELSE 0

Pairs(n, peer) == IF peer \in Known(n) THEN store[n][peer].pairs ELSE {}

MessageType == {"digest_request", "digest_response", "delta"}

EntryType(type) ==
    IF type = "delta" THEN Node \X Key \X Value \X (1..MaxVersion) ELSE Node \X (0..MaxVersion)

TypeOK ==
    /\ DOMAIN store = Node
    /\ \A n \in Node :
        /\ n \in Known(n)
        /\ Known(n) \subseteq Node
        /\ \A peer \in Known(n) :
            /\ store[n][peer].version \in 0..MaxVersion
            /\ store[n][peer].pairs \subseteq Key \X Value \X (1..MaxVersion)
            /\ \A one, other \in store[n][peer].pairs : one[1] = other[1] => one = other
    /\ \A m \in net :
        /\ m[1] \in Node /\ m[2] \in Node \ {m[1]} /\ m[3] \in MessageType
        /\ \A i \in DOMAIN m[4] : m[4][i] \in EntryType(m[3])
    /\ restarts \in 0..MaxRestarts

-----------------------------------------------------------------------------
\* Invariants of the stores

\* [BI-01]
VersionIsMax ==
    \A n \in Node : \A peer \in Known(n) :
        LET record == store[n][peer] IN
        /\ \A pair \in record.pairs : pair[3] <= record.version
        /\ record.version = 0 \/ \E pair \in record.pairs : pair[3] = record.version

\* [BI-02]
OwnerDominates == \A n, peer \in Node : Version(n, peer) <= Version(peer, peer)

\* [BI-03]
NoGap ==
    \A n, peer \in Node :
        \A pair \in Pairs(peer, peer) : pair[3] <= Version(n, peer) => pair \in Pairs(n, peer)

\* The same of the owners that do not restart. [BX-04]
NoGapOfLasting ==
    \A n \in Node, peer \in Node \ Restarting :
        \A pair \in Pairs(peer, peer) : pair[3] <= Version(n, peer) => pair \in Pairs(n, peer)

\* [BI-04]
SameVersionSameValue ==
    \A peer, n, other \in Node :
        \A one \in Pairs(n, peer), two \in Pairs(other, peer) : one[3] = two[3] => one = two

-----------------------------------------------------------------------------
\* Invariants of the messages, and of the answers they would get

\* A delta without the entries about other peers.
About(delta, peer) == LET isAbout(entry) == entry[1] = peer IN SelectSeq(delta, isAbout)

\* The digests on their way, and the deltas that would answer them.
Digests == {m \in net : m[3] # "delta"}
Deltas == {m \in net : m[3] = "delta"}
DeltaOf(digest) == (CHOOSE answer \in Answers(digest) : answer[3] = "delta")[4]

\* The owner's pairs after one version up to another are all in this part of a delta.
HasAll(part, peer, after, upto) ==
    \A pair \in Pairs(peer, peer) :
        after < pair[3] /\ pair[3] <= upto => \E i \in DOMAIN part : Tail(part[i]) = pair

\* Computed for a digest's version, a delta misses nothing from there to its last entry; on its way, from its first, or from
\* what its receiver knows, which is no less than the version that it was computed for. [BI-06]
InFlight ==
    /\ \A m \in Digests : \A i \in DOMAIN m[4] :
        LET part == About(DeltaOf(m), m[4][i][1])
        IN  part # <<>> => HasAll(part, m[4][i][1], m[4][i][2], part[Len(part)][4])
    /\ \A m \in Deltas : \A peer \in Node :
        LET part  == About(m[4], peer)
            known == Version(m[2], peer)
        IN  part # <<>> => HasAll(part, peer, IF known < part[1][4] THEN known ELSE part[1][4] - 1, part[Len(part)][4])

\* What a delta says of a peer: of the pairs that are missing, the first ones. [BI-07]
DeltaPrefix ==
    \A m \in Digests : \A i \in DOMAIN m[4] :
        LET peer    == m[4][i][1]
            part    == About(DeltaOf(m), peer)
            missing == {pair \in Pairs(m[2], peer) : pair[3] > m[4][i][2]}
            packed  == {Tail(part[j]) : j \in DOMAIN part}
        IN  /\ packed \subseteq missing
            /\ \A j, k \in DOMAIN part : j < k => part[j][4] <= part[k][4]
            /\ \A one \in packed, other \in missing \ packed : one[3] <= other[3]

RECURSIVE SizeOf(_)
SizeOf(entries) ==
    IF entries = <<>> THEN TypeSize
    ELSE (IF Len(Head(entries)) = 2 THEN DigestEntrySize ELSE EntrySize(Head(entries))) + SizeOf(Tail(entries))

\* No datagram is larger than its sender may send. [BI-08]
DeltaBounded == \A m \in net : SizeOf(m[4]) <= Limit(m[1])

\* Digest responses and deltas cause no digests. [BI-09]
NoDigestLoop ==
    \A m \in net : \A answer \in Answers(m) : answer[3] # "delta" => m[3] = "digest_request" /\ answer[3] = "digest_response"

\* Every digest gets a delta back. [BL-02, as far as a state can say it]
AlwaysADelta == \A m \in Digests : \E answer \in Answers(m) : answer[3] = "delta" /\ answer[2] = m[1]

-----------------------------------------------------------------------------
\* Properties of steps

\* Versions and the versions of pairs never go back, and no peer is forgotten. [BI-05]
NeverGoesBack ==
    \A n \in Node : \A peer \in Known(n) :
        /\ peer \in DOMAIN store'[n]
        /\ store'[n][peer].version >= store[n][peer].version
        /\ \A pair \in store[n][peer].pairs : PairVersion(store'[n][peer], pair[1]) >= pair[3]

Monotone == [][NeverGoesBack]_vars

\* [BI-10]
OnlyUpdateChangesOwn ==
    \A n \in Node :
        store'[n][n] # store[n][n] => \E key \in Key, value \in Value : Update(n, key, value)

OwnUntouched == [][OnlyUpdateChangesOwn]_vars

-----------------------------------------------------------------------------
\* Reachability checks: each claims that something never happens, and must fail.

\* All nodes know everything, and there is something to know.
NeverAgreed == ~(/\ \A n, other \in Node : store[n] = store[other]
                 /\ \A n \in Node : Version(n, n) > 0)

\* A digest leaves out a peer.
NeverPartialDigest == \A m \in net : m[3] = "digest_request" => Len(m[4]) >= Cardinality(Known(m[1]))

\* A delta would leave out a pair that is missing.
NeverCutDelta ==
    \A m \in Digests : \A i \in DOMAIN m[4] :
        Cardinality({pair \in Pairs(m[2], m[4][i][1]) : pair[3] > m[4][i][2]}) = Len(About(DeltaOf(m), m[4][i][1]))

NeverDigestResponse == \A m \in net : m[3] # "digest_response"

\* A delta holds something about a peer that is not its sender.
NeverHearsay == \A m \in Deltas : \A i \in DOMAIN m[4] : m[4][i][1] = m[1]

\* A delta holds something of two peers.
NeverTwoPeers == \A m \in Deltas : \A i, j \in DOMAIN m[4] : m[4][i][1] = m[4][j][1]

\* A delta arrives that is, in part, no news any more.
NeverStale ==
    \A m \in Deltas : \A i \in DOMAIN m[4] : m[4][i][1] \in Known(m[2]) /\ m[4][i][1] # m[2] => IsNews(m[2], store[m[2]], m[4][i])

\* A pair has been overwritten somewhere but at its owner.
NeverOverwritten == \A n, peer \in Node : n # peer => Version(n, peer) <= Cardinality(Pairs(n, peer))

\* A node knows a partner but not a seed, so that its round sends two digests.
NeverUnknownSeed == \A n \in Node : Cardinality(Known(n)) > 1 => Seeds \subseteq Known(n)

-----------------------------------------------------------------------------
\* Replacements of definitions, for models that must fail and their mended variants

\* The newest pairs first, so that a cut leaves gaps. [BX-05]
RECURSIVE NewestFirst(_)
NewestFirst(pairs) ==
    IF pairs = {} THEN <<>>
    ELSE LET first == CHOOSE pair \in pairs : \A other \in pairs \ {pair} : PairBefore(other, pair)
         IN  <<first>> \o NewestFirst(pairs \ {first})

\* Every entry that does not fit ends the message, also one that never will. [BX-06]
EndsTheMessage(n, entry) == FALSE

\* A node finds its own record again. [mends BX-03]
OwnRecord(n) == [peer \in {n} |-> store[n][n]]

\* Entries say for which version they were computed, and are applied only up to there. [mends BX-04]
EntrySince(peer, pair, since) == <<peer, pair[1], pair[2], pair[3], since>>

\* Of these entries, those that start from what the node knows are news. [mends BX-04]
IsNewsSince(n, records, entry) ==
    /\ entry[1] # n
    /\ entry[1] \in DOMAIN records
    /\ entry[4] > PairVersion(records[entry[1]], entry[2])
    /\ entry[5] <= records[entry[1]].version

\* Where a peer's next pair would fit, an answer holds something. [BX-06]
NobodyStarves ==
    \A m \in Digests :
        (\E i \in DOMAIN m[4] :
            LET peer    == m[4][i][1]
                missing == {pair \in Pairs(m[2], peer) : pair[3] > m[4][i][2]}
            IN  /\ missing # {}
                /\ FitsAlone(m[2], <<peer>> \o (CHOOSE pair \in missing : \A other \in missing : pair[3] <= other[3])))
        => DeltaOf(m) # <<>>

=============================================================================
