------------------------------- MODULE Prompt -------------------------------
(***************************************************************************)
(* A fast network, and applications that act before anything else.         *)
(*                                                                         *)
(* In SWIM at large a quantum may begin whenever it wants to, also while   *)
(* acks are on their way, and then a node is suspected that has answered.  *)
(* Here a node's quantum begins only when all its pings have arrived, and  *)
(* their acks too. Where nothing is lost either, that is the best that a   *)
(* failure detector can hope for.                                          *)
(***************************************************************************)
EXTENDS MCSwim

IsAsked(n) == \E m \in net : IF m[3] = "ping" THEN m[1] = n ELSE m[2] = n

PromptQuantum(n) == ~IsAsked(n) /\ (\A m \in Node : todo[m] = {}) /\ Quantum(n)

PromptNext ==
    \/ \E n \in Node : PromptQuantum(n)
    \/ Receive
    \/ ReceiveAgain
    \/ Lose
    \/ \E n \in Node : Command(n)
    \/ \E n \in Node : Restart(n)

\* An ack from the past is an answer all the same, if it names a ping. [mends SX-01]
StillAnAnswer(state, m) == [AckMatched(state, m) EXCEPT !.heard = TRUE]

\* A node that runs has not missed anything. [SX-01]
NobodyMisses == \A n, m \in Node : m \in DOMAIN table[n] => table[n][m].misses = 0

\* A node that does not run is dead at each node that has counted so far. [SX-03, SL-02]
FoundInTime ==
    \A n, m \in Node : up[n] /\ n \in Active /\ ~up[m] /\ own[n][2] = MaxTx => m \in DOMAIN table[n] /\ table[n][m].status = "dead"

=============================================================================
