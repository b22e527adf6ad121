------------------------------ MODULE Liveness ------------------------------
(***************************************************************************)
(* What happens in the end, if chance and the network are fair.            *)
(*                                                                         *)
(* Updates and restarts need not happen, and end, as both are bounded. A    *)
(* node begins a round again and again. Whatever is sent to it again and    *)
(* again arrives at last, digests as well as deltas: losses are fair. The   *)
(* network of the model is so small that it may be full of messages whose   *)
(* answers have no room; then one of them gets lost.                        *)
(*                                                                         *)
(* The conditions are few on purpose: the model checker's work doubles      *)
(* with each.                                                               *)
(***************************************************************************)
EXTENDS RoundSync

DigestType == {"digest_request", "digest_response"}

\* n receives a message of one of these types.
ReceiveOf(n, types) ==
    \E m \in net :
        /\ m[2] = n
        /\ m[3] \in types
        /\ Answer(m, Answers(m))
        /\ store' = [store EXCEPT ![n] = Learnt(m)]
        /\ UNCHANGED restarts

FairRounds == \A n \in Node : SF_vars(Round(n))

FairLosses ==
    /\ \A n \in Node : SF_vars(ReceiveOf(n, DigestType))
    /\ \A n \in Node : SF_vars(ReceiveOf(n, {"delta"}))
    /\ WF_vars(Lose)

FairSpec == Init /\ [][Next]_vars /\ FairRounds /\ FairLosses

\* Without fair losses: the network may swallow everything.
UnfairSpec == Init /\ [][Next]_vars /\ FairRounds

ViewsEqual == \A n, other \in Node : store[n] = store[other]

\* [BL-01]
Converges == <>[]ViewsEqual

-----------------------------------------------------------------------------
\* One round at a time; nothing is lost.

QuietFairSpec == QuietInit /\ [][QuietNext]_quietVars /\ WF_quietVars(QuietReceive)

UnderWay(messages, from, to) == \E m \in messages : m[1] = from /\ m[2] = to

\* Whoever is sent a digest sends a delta back. [BL-02]
DigestsAreAnswered ==
    \A n, other \in Node : UnderWay(Digests, n, other) ~> UnderWay(Deltas, other, n)

\* An empty delta is not sent, as in the original. [BD-02]
AnswersUnlessEmpty(m) ==
    LET n       == m[2]
        records == WithPeersOf(n, m[4])
        wanted  == Wanted(n, records, m[4])
        delta   == DeltaFor(n, records, m[4])
    IN  (IF m[3] # "delta" /\ delta # <<>> THEN {<<n, m[1], "delta", delta>>} ELSE {})
        \cup (IF m[3] = "digest_request" /\ wanted # <<>> THEN {<<n, m[1], "digest_response", wanted>>} ELSE {})

=============================================================================
