------------------------------- MODULE Routing -------------------------------
(***************************************************************************)
(* A message on its way through a ring that is at rest.                    *)
(*                                                                         *)
(* Every node knows what it should: its leaf set is that of the ring, and  *)
(* each cell of its routing table for which there is a node has one. Which *)
(* one is left open until the message comes by. No node is visited twice   *)
(* before something is wrong, so that this is as good as to choose all     *)
(* tables at the beginning.                                                *)
(***************************************************************************)
EXTENDS Tables

CONSTANTS
    MaxRing,    \* the most nodes of a ring
    AnyRing,    \* whether skewed rings are among them
    Complete    \* whether there is a node in each cell for which there is one; otherwise cells may be empty

VARIABLES
    ring,        \* the ids of the nodes
    key,         \* of the message
    path,        \* the nodes that it came through
    done         \* whether it has been delivered

vars == <<ring, key, path, done>>

ASSUME RoutingAssumption == MaxRing \in Nat \ {0} /\ {AnyRing, Complete} \subseteq BOOLEAN

at == Last(path)

Others(n) == ring \ {n}

\* The leaf sets that a node may have.
LeafSets(n) == {LeafSet(n, Others(n))}

\* The routing tables that it may have. [W-13]
RECURSIVE Filled(_, _)
Filled(n, cells) ==
    IF cells = {} THEN {{}}
    ELSE LET place == CHOOSE cell \in cells : TRUE
             here == {cell \in cells : cell[1] = place[1] /\ cell[2] = place[2]}
             rest == Filled(n, cells \ here)
             picks == {{cell} : cell \in here} \cup (IF Complete THEN {} ELSE {{}})
         IN  {pick \cup cells2 : pick \in picks, cells2 \in rest}

RoutingTables(n) == Filled(n, {Cell(n, other) : other \in Others(n)})

NextHops(n) == {NextHop(n, rt, ls, key) : rt \in RoutingTables(n), ls \in LeafSets(n)}

Rings == {ids \in SUBSET Id : Cardinality(ids) \in 1..MaxRing /\ (AnyRing \/ ~IsSkewed(ids))}

Anywhere ==
    /\ ring \in Rings
    /\ key \in Id
    /\ \E source \in ring : path = <<source>>
    /\ done = FALSE

Hop ==
    /\ ~done
    /\ \E next \in NextHops(at) :
        /\ path' = IF next = at THEN path ELSE Append(path, next)
        /\ done' = (next = at)
    /\ UNCHANGED <<ring, key>>

Delivery == Anywhere /\ [][Hop]_vars /\ WF_vars(Hop)

-----------------------------------------------------------------------------

TypeOK ==
    /\ ring \subseteq Id
    /\ key \in Id
    /\ path # <<>> /\ Range(path) \subseteq ring
    /\ done \in BOOLEAN

\* [W-38]
NoLoop == \A i, j \in DOMAIN path : path[i] = path[j] => i = j

\* [W-37]
OwnerDelivery == done => at = Closest(key, ring)

\* [WL-03]
Delivered == <>done

\* What each hop is.
Hops(Good(_, _)) == \A i \in 1..(Len(path) - 1) : Good(path[i], path[i + 1])

\* [WX-06]
EachHopCloser == Hops(LAMBDA from, to : IsCloser(key, to, from))

\* [mends WX-06, WA-13]
EachHopProgress ==
    Hops(LAMBDA from, to : Prefix(to, key) > Prefix(from, key) \/ IsCloser(key, to, from))

\* Leaf sets may lack any nodes. [WX-05]
Inconsistent(n) == {LeafSet(n, known) : known \in SUBSET Others(n)}

\* One procedure, taken at its letter. [WX-08]
Literally(owner, ls, itsKey) == owner

-----------------------------------------------------------------------------
\* Reachability checks: each claims that something never happens, and must fail.

NeverThreeHops == Len(path) <= 3

NeverByLastResort ==
    ~done => \A rt \in RoutingTables(at), ls \in LeafSets(at) :
        ~IsInside(at, ls, key) => NextHop(at, rt, ls, key) # LastResort(at, ls, key) \/ NextHop(at, rt, ls, key) = at \/ CloserCells(at, rt, key) # {}

=============================================================================
