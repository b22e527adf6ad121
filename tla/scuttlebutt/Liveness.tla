------------------------------ MODULE Liveness ------------------------------
(***************************************************************************)
(* What happens in the end, if random choices and the network are fair.    *)
(*                                                                         *)
(* Updates and restarts need not happen, and end, as both are bounded. A   *)
(* node begins a round again and again, and whatever is sent to it again   *)
(* and again arrives at last, digests as well as deltas: losses are fair.  *)
(* One round goes on at a time. If more could, they might fill the bounded *)
(* network of the model for ever, and answers would have no room.          *)
(*                                                                         *)
(* The conditions of fairness are few on purpose: the model checker's work *)
(* doubles with each.                                                      *)
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
        /\ UNCHANGED <<restarts, exchange>>

QuietSpec == QuietInit /\ [][QuietNext]_quietVars

FairRounds == \A n \in Node : SF_quietVars(QuietRound(n))

FairLosses == \A n \in Node : SF_quietVars(ReceiveOf(n, DigestType)) /\ SF_quietVars(ReceiveOf(n, {"delta"}))

FairSpec == QuietSpec /\ FairRounds /\ FairLosses

\* The network may swallow everything that is of some use.
UnfairSpec == QuietSpec /\ FairRounds /\ WF_quietVars(QuietReceive)

\* [BL-01]
Converges == <>[](\A n, other \in Node : store[n] = store[other])

-----------------------------------------------------------------------------
\* What is sent arrives.

ArrivingSpec == QuietSpec /\ WF_quietVars(QuietReceive)

UnderWay(messages, from, to) == \E m \in messages : m[1] = from /\ m[2] = to

\* A node that is sent a digest sends a delta back. [BL-02]
DigestsAreAnswered ==
    \A n, other \in Node : UnderWay(Digests, n, other) ~> UnderWay(Deltas, other, n)

\* An empty delta is not sent, as in the original. [breaks BL-02]
AnswersUnlessEmpty(m) ==
    LET n       == m[2]
        records == WithPeersOf(n, m[4])
        wanted  == Wanted(n, records, m[4])
        delta   == DeltaFor(n, records, m[4])
    IN  IF m[3] = "delta" THEN {}
        ELSE (IF delta # <<>> THEN {<<n, m[1], "delta", delta>>} ELSE {})
             \cup (IF m[3] = "digest_request" /\ wanted # <<>> THEN {<<n, m[1], "digest_response", wanted>>} ELSE {})

=============================================================================
