------------------------------ MODULE Pingpong ------------------------------
\* Ping-pong, from the clauses in pingpong.md. The next node is a node's peer.
EXTENDS Network
CONSTANTS Node, MaxPoints
VARIABLES points, restarts

Peer(n) == (n % Cardinality(Node)) + 1
Init == points = [n \in Node |-> 0] /\ net = {} /\ restarts = 0

Round(n) == points[n] < MaxPoints /\ Send({<<n, Peer(n), "ping", points[n] + 1>>}) /\ UNCHANGED <<points, restarts>> \* [PP-01]

Answers(m) == IF m[3] = "ping" THEN {<<m[2], m[1], "pong", m[4]>>} ELSE {} \* [PP-02]
Counted(m) == [points EXCEPT ![m[2]] = IF m[3] = "pong" /\ m[4] = @ + 1 THEN m[4] ELSE @] \* [PP-03]

Receive == \E m \in net : Answer(m, Answers(m)) /\ points' = Counted(m) /\ UNCHANGED restarts
ReceiveAgain == \E m \in net : AnswerCopy(m, Answers(m)) /\ points' = Counted(m) /\ UNCHANGED restarts
Lose == \E m \in net : Drop(m) /\ UNCHANGED <<points, restarts>>

Next == (\E n \in Node : Round(n)) \/ Receive \/ ReceiveAgain \/ Lose

NobodyAhead == \A m \in net : m[3] = "ping" => m[4] <= points[m[1]] + 1
=============================================================================
