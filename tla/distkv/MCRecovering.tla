----------------------------- MODULE MCRecovering -----------------------------
(***************************************************************************)
(* Properties of DistKV's recoveries for the model checker.                *)
(***************************************************************************)
EXTENDS Recovering

Up == {n \in Node : up[n]}

Known(n) == KnownTo(Local(n))

MissingAt(n) == MissingTo(Local(n))

Names == {"ticks", "missing", "known", "over", "repair", "allowed"}

TypeOK ==
    /\ \A n \in Node :
        /\ up[n] \in BOOLEAN
        /\ last[n] \in {FirstLast[m] : m \in Node}
        /\ ticks[n] = Highest(ticks[n])
        /\ \A pair \in superseded[n] : pair[2] \in Nat
        /\ has[n] \subseteq Entry
        /\ IsRecovering(Local(n)) =>
            /\ Mine(Local(n)) \in {FirstLast[m][1] : m \in Node}
            /\ SideOf(Local(n)) \subseteq Nodes(Mine(Local(n)))
            /\ HasLost(Local(n)) \in BOOLEAN
            /\ IsRunning(Local(n), "over")
        /\ \A timer \in timers[n] : timer[1] \in Names /\ timer[2] \in 0..RepairSilence(Clock)
        /\ \A timer, other \in timers[n] : timer[1] = other[1] => timer = other
    /\ lost \in 0..Losses
    /\ \A message \in net :
        /\ message[1] \in Node \ {message[3]} /\ message[2] \in 0..Delay
        /\ message[4] \in {"ping", "ticks", "missing", "known", "update"}

\* Nothing is present and superseded, and what a node knows is no more than its ticks. [DI-03]
PresentIsStored ==
    \A n \in Node :
        /\ PresentIn(has[n]) \cap superseded[n] = {}
        /\ \A pair \in Known(n) : pair[2] <= TickOf(ticks[n], pair[1])

\* No node takes a change for known which it never got: what is superseded at a node was so at one from the beginning. [DI-03]
SupersededIsGone == \A n \in Node : superseded[n] \subseteq UNION {FirstGone[m] : m \in Node}

\* [DI-17]
TicksOnce == "ticks" \notin twice

MissingOnce == "missing" \notin twice

KnownOnce == twice \cap {"known", "update"} = {}

\* When nothing is under way, and nothing runs.
IsQuiet == net = {} /\ \A n \in Node : timers[n] = {}

\* A change that no live node knows cannot be had.
Lacking(n) == MissingAt(n) \cap UNION {Known(m) : m \in Up}

NothingMissing == \A n \in Up : Lacking(n) = {}

\* No node misses a change, not even one that it has not heard of. [D-118]
AllKnownToAll == \A n, m \in Up : Known(n) = Known(m)

AllKnownAtRest == IsQuiet => AllKnownToAll

AllKnownInTheEnd == <>[]AllKnownToAll

\* [DL-01]
NothingMissingAtRest == IsQuiet => NothingMissing

\* [DL-01]
NothingMissingInTheEnd == <>[]NothingMissing

AskedBy(n) == UNION {what[3][2] : what \in {what \in sent : what[1] = n /\ what[2] = "missing"}}

\* [DL-03]
AllAnswered == \A n \in Up : AskedBy(n) \cap Lacking(n) = {}

AnsweredAtRest == IsQuiet => AllAnswered

AnsweredInTheEnd == <>[]AllAnswered

-----------------------------------------------------------------------------
\* What stands for definitions of Recovering in models that must fail

\* Half a clock for the first node, and for the second. [DX-12]
MissingDelayLiterally(position) == HalfLife(Clock, Max(1, position))

\* Nodes that miss nothing say so, too. [D-115, DX-13]
RequestsOfAll(list) == {list}

\* A node on the chain silences, whatever it asks for. [D-127, DX-13]
SilencedLiterally(s, from, list) == IF IsOn(Mine(s), from) THEN Without(s, {"missing"}) ELSE s

\* A node of the same side silences, whatever it asks for. [DX-13]
SilencedBySide(s, from, list) == IF Silences(s, from) THEN Without(s, {"missing"}) ELSE s

-----------------------------------------------------------------------------
\* Reachability checks: each claims that something never happens, and must fail.

\* The second node of a chain never does what the first one has not done.
NeverTakesOver == \A what \in sent : what[2] = "ticks" => Position(FirstLast[what[1]][1], what[1]) = 0

\* No node of the side asks for what the node misses as well.
NeverLeftOut == \A n \in Node : IsRecovering(Local(n)) => Covered(Local(n)) \cap MissingAt(n) = {}

\* No node learns that a tick stands on no chain any more.
NeverLearnsOfGone == \A n \in Node : superseded[n] = FirstGone[n]

\* No node asks without a recovery.
NeverRepairs == \A n \in Node : ~IsRunning(Local(n), "repair")

=============================================================================
