----------------------------- MODULE RoundSync -----------------------------
(***************************************************************************)
(* What one undisturbed round achieves.                                    *)
(*                                                                         *)
(* The document says that once a round is complete both nodes should have  *)
(* the same view of the cluster [B-21]. Here a round begins only while     *)
(* nothing is on its way, and nothing changes during it; where nothing is  *)
(* lost either, that is the best that a round can hope for. `exchange`     *)
(* remembers whose round it was, with whom, and which peers the digest     *)
(* listed; a round that asks more than one node is not looked at.          *)
(***************************************************************************)
EXTENDS MCScuttlebutt

VARIABLE exchange   \* <<from, to, listed peers>>, or <<>>

quietVars == <<store, net, restarts, exchange>>

\* What the messages that have just been sent make of it.
Exchange(sent) ==
    IF Cardinality(sent) = 1
    THEN LET m == CHOOSE m \in sent : TRUE IN <<m[1], m[2], {m[4][i][1] : i \in DOMAIN m[4]}>>
    ELSE <<>>

QuietInit == Init /\ exchange = <<>>

QuietUpdate(n, key, value) == net = {} /\ Update(n, key, value) /\ exchange' = <<>>

QuietRound(n) == net = {} /\ Round(n) /\ exchange' = Exchange(net')

QuietReceive == Receive /\ UNCHANGED exchange

QuietLose == Lose /\ UNCHANGED exchange

QuietRestart(n) == net = {} /\ Restart(n) /\ exchange' = <<>>

QuietNext ==
    \/ \E n \in Node, key \in Key, value \in Value : QuietUpdate(n, key, value)
    \/ \E n \in Node : QuietRound(n)
    \/ QuietReceive
    \/ QuietLose
    \/ \E n \in Node : QuietRestart(n)

IsComplete == net = {} /\ exchange # <<>>

\* Both know the same. [B-21, BX-01]
SameView == IsComplete => store[exchange[1]] = store[exchange[2]]

\* Both know the same of the peers that the digest listed. [mends BX-01]
SameViewOfListed == IsComplete => \A peer \in exchange[3] : store[exchange[1]][peer] = store[exchange[2]][peer]

\* The node that begins a round knows its partner afterwards. [BX-02]
LearnsPartner == IsComplete => exchange[2] \in Known(exchange[1])

\* The partner of a round knows afterwards the node that began it. [mends BX-02]
IsLearntByPartner == IsComplete => exchange[1] \in Known(exchange[2])

=============================================================================
