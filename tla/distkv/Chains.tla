-------------------------------- MODULE Chains --------------------------------
(***************************************************************************)
(* Chains of DistKV, and sets of ticks: what all its modules compute with.    *)
(*                                                                         *)
(* Written from the clauses in spec/distkv.md, whose numbers stand in         *)
(* brackets. Nodes are numbers; the lower number is the lower name. An         *)
(* element is <<node, tick>>. A chain is <<elements, cut>>: a sequence, the     *)
(* newest element first, and whether older ones were left out [DA-11].        *)
(* In a chain of pings an element may have no tick [D-10]: in the models none   *)
(* is so, in recorded traces NoTick stands for it.                            *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, Sequences

Max(a, b) == IF a >= b THEN a ELSE b

Min(a, b) == IF a <= b THEN a ELSE b

Range(seq) == {seq[i] : i \in DOMAIN seq}

-----------------------------------------------------------------------------
\* Chains

NoChain == <<<<>>, FALSE>>

Elements(chain) == Range(chain[1])

NoTick == -1

\* Whether it is neither absent nor zero. [DA-16]
HasChanged(element) == element[2] > 0

Nodes(chain) == {element[1] : element \in Elements(chain)}

\* <<node, tick>>: the node that made the change, or sent the ping.
HeadOf(chain) == Head(chain[1])

\* Without the first so many elements.
From(chain, i) == <<SubSeq(chain[1], i + 1, Len(chain[1])), chain[2]>>

RestOf(chain) == From(chain, 1)

\* [D-14, D-15, DA-11, DA-85]
Within(chain, max) == IF Len(chain[1]) <= max THEN chain ELSE <<SubSeq(chain[1], 1, max), TRUE>>

\* The node's old element makes room. [D-12, D-49]
WithChange(chain, n, t, max) ==
    LET isOther(element) == element[1] # n
    IN  Within(<<<<<<n, t>>>> \o SelectSeq(chain[1], isOther), chain[2]>>, max)

\* [D-13, DA-34, DA-41]
WithPing(chain, n, t, max) == Within(<<<<<<n, t>>>> \o chain[1], chain[2]>>, max)

\* A start-up ping's: its node alone. [D-95]
Alone(n, t) == <<<<<<n, t>>>>, FALSE>>

IsAlone(chain) == Len(chain[1]) = 1 /\ ~chain[2]

\* From 0, at the newest element; a node that is off the chain is beyond its end.
IsOn(chain, n) == n \in Nodes(chain)

Position(chain, n) ==
    IF IsOn(chain, n)
    THEN (CHOOSE i \in DOMAIN chain[1] : chain[1][i][1] = n /\ \A j \in 1..i - 1 : chain[1][j][1] # n) - 1
    ELSE Len(chain[1])

\* The same, as far as can be seen. [DA-32]
Agree(a, b) ==
    /\ \A i \in 1..Min(Len(a[1]), Len(b[1])) : a[1][i] = b[1][i]
    /\ Len(a[1]) < Len(b[1]) => a[2]
    /\ Len(b[1]) < Len(a[1]) => b[2]

-----------------------------------------------------------------------------
\* Changes

\* [D-22]
StandsIn(a, b) == \E element \in Elements(b) : element[1] = HeadOf(a)[1] /\ element[2] >= HeadOf(a)[2]

\* What the first is to the second: "same", "before", "after" or "concurrent". No chain is before any. [D-22, DA-18, DA-19]
Relation(a, b) ==
    IF b[1] = <<>> THEN "after"
    ELSE IF a[1] = <<>> THEN "before"
    ELSE IF HeadOf(a) = HeadOf(b) THEN "same"
    ELSE IF StandsIn(a, b) /\ ~StandsIn(b, a) THEN "before"
    ELSE IF StandsIn(b, a) /\ ~StandsIn(a, b) THEN "after"
    ELSE "concurrent"

\* Of changes, and of pings: the higher tock, then the higher tick, then the lower name; but a ping without a tick loses to any
\* with one. [D-80…D-82, DA-01, DA-36]
Beats(a, tockA, b, tockB) ==
    IF NoTick \in {HeadOf(a)[2], HeadOf(b)[2]} /\ HeadOf(a)[2] # HeadOf(b)[2] THEN HeadOf(b)[2] = NoTick
    ELSE \/ tockA > tockB
         \/ tockA = tockB /\ HeadOf(a)[2] > HeadOf(b)[2]
         \/ tockA = tockB /\ HeadOf(a)[2] = HeadOf(b)[2] /\ HeadOf(a)[1] < HeadOf(b)[1]

-----------------------------------------------------------------------------
\* Pings

\* Whether another than the node has a tick in it that is not zero. [D-106, DA-51, DA-52]
IsAuthoritative(chain, n) == \E element \in Elements(chain) : element[1] # n /\ HasChanged(element)

\* Whether a node with the tick zero may ping on this chain. [D-107, DA-40]
ZeroMayPing(chain) ==
    LET half == (Len(chain[1]) + 1) \div 2
        isZero(i) == ~HasChanged(chain[1][i])
    IN  (\A i \in 1..half : isZero(i)) => \A i \in half + 1..Len(chain[1]) : isZero(i)

\* Where in mine the common part begins, or the end of mine. [DA-75]
Parting(mine, other) ==
    LET common == {i \in 1..Len(mine[1]) - 1 : \E j \in 1..Len(other[1]) - 1 : Agree(From(mine, i), From(other, j))}
    IN  IF common = {} THEN Len(mine[1]) ELSE CHOOSE i \in common : \A j \in common : i <= j

\* The nodes that have pinged on this side since. [DA-75]
Side(mine, other) == {mine[1][i][1] : i \in 1..Parting(mine, other)}

-----------------------------------------------------------------------------
\* Ticks: sets of <<node, tick>>. Of `ticks`, one for each node; a node that has none counts as at 0.

TickOf(pairs, n) == LET own == {pair \in pairs : pair[1] = n} IN IF own = {} THEN 0 ELSE (CHOOSE pair \in own : TRUE)[2]

\* For each node the highest. [DA-45, DA-64]
Highest(pairs) == {pair \in pairs : \A other \in pairs : other[1] = pair[1] => other[2] <= pair[2]}

Raised(before, pairs) == Highest(before \cup {pair \in pairs : pair[2] # NoTick})

\* Whether a is nowhere below b. [DA-68, DA-76]
IsNowhereBelow(a, b) == \A pair \in b : TickOf(a, pair[1]) >= pair[2]

\* From 1 to the tick, what is not known. [DA-04]
Missing(highest, known) == UNION {{<<pair[1], t>> : t \in 1..pair[2]} : pair \in highest} \ known

=============================================================================
