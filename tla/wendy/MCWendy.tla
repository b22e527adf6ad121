------------------------------- MODULE MCWendy -------------------------------
(***************************************************************************)
(* Properties of Wendy for the model checker.                              *)
(*                                                                         *)
(* Invariants speak of a state, and of what the messages under way would   *)
(* make of it. Models with expected counterexamples use the claims at the  *)
(* end, or replace a definition of Wendy by one from here.                 *)
(***************************************************************************)
EXTENDS Wendy

Tables3 == [1..3 -> 0..MaxVersion]

IsOptional(table, Is(_)) == table = <<>> \/ (Len(table) = 1 /\ Is(table[1]))

IsCells(cells) == \A cell \in cells : cell[1] \in 0..(Digits - 1) /\ cell[2] \in 0..(2^DigitBits - 1) /\ cell[3] \in Node

IsSides(sides) == Len(sides) = 2 /\ Leaves(sides) \subseteq Node

IsSequence(seq) == Range(seq) \subseteq Node

IsBody(kind, body) ==
    CASE kind \in {"join", "exit", "heartbeat", "application"} -> body = <<>>
      [] kind \in {"state", "race", "announce"} ->
             /\ Len(body) = IF kind = "state" THEN 4 ELSE 3
             /\ IsOptional(body[1], IsCells)
             /\ IsOptional(body[2], IsSides)
             /\ IsOptional(body[3], IsSequence)
             /\ kind # "state" => \A table \in 1..3 : body[table] # <<>>
             /\ kind = "state" => body[4] \in BOOLEAN /\ (body[4] => body[2] # <<>>)
      [] kind = "repair" ->
             /\ Len(body) = 5
             /\ Cardinality({table \in 1..3 : body[table]}) = 1
             /\ Len(body[4]) = IF body[1] THEN 1 ELSE 0
             /\ Len(body[5]) = Len(body[4])

\* [WI-01]
TypeOK ==
    /\ \A n \in Node :
        LET known == Known(Local(n)) IN
        /\ stage[n] \in {"alone", "joining", "waiting", "joined", "left"}
        /\ IsCells(rt[n])
        /\ IsSides(ls[n])
        /\ IsSequence(ns[n])
        /\ versions[n] \in Tables3
        /\ DOMAIN scores[n] \subseteq known
        /\ InTable(rt[n]) \cup Range(ns[n]) \subseteq DOMAIN scores[n]
        /\ known \subseteq DOMAIN scores[n] \cup measured[n]
        /\ DOMAIN cache[n] \subseteq Node \ {n}
        /\ measured[n] \subseteq Node \ {n}
        /\ measured[n] \cap DOMAIN scores[n] = {}
        /\ DOMAIN stored[n] \subseteq known \cup measured[n]
        /\ \A m \in DOMAIN stored[n] : stored[n][m] \in Tables3
        /\ departed[n] \subseteq Node \ {n}
        /\ departed[n] \cap (known \cup measured[n]) = {}
        /\ \A repair \in repairs[n] :
            /\ 0 <= repair[1] /\ repair[1] <= repair[3] /\ repair[3] < Digits
            /\ repair[2] \in 0..(2^DigitBits - 1)
            /\ repair[4] \subseteq Node \ {n}
            /\ \A cell \in rt[n] : cell[1] # repair[1] \/ cell[2] # repair[2]
            /\ \A other \in repairs[n] : other[1] = repair[1] /\ other[2] = repair[2] => other = repair
        /\ announcing[n] \subseteq Node \ {n}
        /\ warned[n] => announcing[n] # {}
        /\ contact[n] # <<>> => stage[n] # "alone" /\ Len(contact[n]) = 1 /\ contact[n][1] \in Node \ {n}
        /\ todo[n] \subseteq Commands(n)
    /\ restarts \in 0..MaxRestarts
    /\ \A m \in net :
        /\ {m[1], m[2], m[4]} \subseteq Node
        /\ m[1] # m[2]
        /\ m[5] \in Id
        /\ m[6] \in Tables3
        /\ m[7] \in 0..Cardinality(Node)
        /\ m[1] # m[4] => m[3] \in {"join", "application"}
        /\ IsBody(m[3], m[8])

\* [WI-02]
SelfFree == \A n \in Node : n \notin Known(Local(n))

IsAscending(seq, measure) == \A i, j \in DOMAIN seq : i < j => measure[seq[i]] < measure[seq[j]]

IsNotDescending(seq, measure) == \A i, j \in DOMAIN seq : i < j => seq[i] # seq[j] /\ measure[seq[i]] <= measure[seq[j]]

\* [WI-03]
Bounded ==
    \A n \in Node :
        /\ \A side \in 1..2 : Len(ls[n][side]) <= LeafSide
        /\ Len(ns[n]) <= Neighborhood
        /\ IsAscending(ls[n][1], [m \in Node |-> Clockwise(m, n)])
        /\ IsAscending(ls[n][2], [m \in Node |-> Clockwise(n, m)])
        /\ ~TwoSided => \A m \in Leaves(ls[n]) : m \in Range(ls[n][2]) <=> IsGreater(n, m)

\* [WI-04]
RightCell ==
    \A n \in Node : \A cell \in rt[n] :
        /\ cell = Cell(n, cell[3])
        /\ \A other \in rt[n] : other[1] = cell[1] /\ other[2] = cell[2] => other = cell

\* The node is gone, or was.
IsGone(n) == ~up[n] \/ stage[n] = "left"

NobodyGone == restarts = MaxRestarts /\ \A n \in Node : ~IsGone(n) /\ departed[n] = {}

\* [WI-06]
BestNeighbours ==
    \A n \in Node :
        /\ IsNotDescending(ns[n], scores[n])
        /\ NobodyGone => \A m \in DOMAIN scores[n] \ Range(ns[n]) :
            Len(ns[n]) = Neighborhood /\ scores[n][m] >= scores[n][Last(ns[n])]

\* [WI-07]
StoredVersionsReal ==
    restarts = MaxRestarts => \A n \in Node : \A m \in DOMAIN stored[n] : \A table \in 1..3 : stored[n][m][table] <= versions[m][table]

-----------------------------------------------------------------------------
\* Steps

IsRemoval(n) == ~(departed'[n] \subseteq departed[n])

\* A node that was in the leaf set or has been inserted, and is one of the nearest, is there. [WI-05]
KeepsNearest ==
    \A n \in Node : restarts' = restarts /\ ~IsRemoval(n) =>
        LET ids == Leaves(ls[n]) \cup Leaves(ls'[n])
            arrived == {m[2] : m \in net \ net'}
        IN  /\ Leaves(ls'[n]) = Leaves(LeafSet(n, ids))
            /\ n \in arrived => \A m \in net \ net' :
                m[2] = n /\ m[3] = "state" /\ stage[n] # "left" /\ up[n] /\ m[8][LS] # <<>> =>
                    Leaves(ls'[n]) = Leaves(LeafSet(n, ids \cup ((Leaves(m[8][LS][1]) \cup {m[4]}) \ (departed[n] \cup {n}))))

NearestLeaves == [][KeepsNearest]_vars

\* [WI-08]
Members(n) == <<InTable(rt[n]), Leaves(ls[n]), Range(ns[n])>>

NewMembers(n) == <<InTable(rt'[n]), Leaves(ls'[n]), Range(ns'[n])>>

NeverGoesBack ==
    restarts' = restarts => \A n \in Node : \A table \in 1..3 :
        /\ versions'[n][table] >= versions[n][table]
        /\ NewMembers(n)[table] # Members(n)[table] => versions'[n][table] > versions[n][table]

VersionsGrow == [][NeverGoesBack]_vars

\* A node that announces itself has waited, or done so before. [WI-12]
AnnouncesAfterWait ==
    \A m \in net' \ net : m[3] = "announce" => stage[m[1]] \in {"waiting", "joined"} /\ stage'[m[1]] = "joined"

AnnouncedInTime == [][AnnouncesAfterWait]_vars

-----------------------------------------------------------------------------
\* At rest

\* Two nodes that join at each other's clusters are no ring before they have. [WL-01]
NobodyWillJoin == \A n \in Node : \A command \in todo[n] : command[1] # "join"

AtRest ==
    /\ NobodyWillJoin
    /\ \A m \in net : m[3] = "heartbeat"
    /\ \A n \in Node : up[n] =>
        /\ stage[n] \notin {"joining", "waiting"}
        /\ measured[n] = {} /\ repairs[n] = {} /\ announcing[n] = {} /\ contact[n] = <<>> /\ ~warned[n]

\* The nodes in the ring: all that run and know another, or have joined.
Ring == {n \in Node : Runs(n) /\ (stage[n] = "joined" \/ Known(Local(n)) # {})}

FullLeafSets(ring) == \A n \in ring : Leaves(ls[n]) = Leaves(LeafSet(n, ring \ {n}))

\* [WI-09]
QuietNeighbours == AtRest /\ NobodyGone => FullLeafSets(Ring)

Owns(n, key) == Closest(key, Leaves(ls[n]) \cup {n}) = n

Owners(ring, key) == {n \in ring : Owns(n, key)}

\* [WI-10, WX-07]
QuietOneOwner == AtRest /\ NobodyGone /\ Ring # {} /\ ~IsSkewed(Ring) => \A key \in Id : Owners(Ring, key) = {Closest(key, Ring)}

-----------------------------------------------------------------------------
\* Messages: what they would make of their receivers now

Arriving == {m \in net : Runs(m[2])}

After(m) == Received(Local(m[2]), m)

\* A choice of one out of one is a value that TLC finds once, and that its coverage looks into once. [WI-11]
JoinAnswered ==
    \A m \in Arriving : m[3] = "join" =>
        \A after \in {After(m)} :
        \A answers \in {{answer \in Messages(after) : answer[3] = "state"}} :
        \A passed \in {Messages(after) \ answers} :
            /\ Cardinality(answers) = 1
            /\ Cardinality(passed) <= 1
            /\ \A other \in passed : other[2] # m[4] /\ [other EXCEPT ![1] = m[1], ![2] = m[2], ![7] = @ - 1] = m
            /\ \A answer \in answers :
                /\ answer[2] = m[4]
                /\ answer[8] = << <<rt[m[2]]>>, IF passed = {} THEN <<ls[m[2]]>> ELSE <<>>,
                                  IF m[1] = m[4] THEN <<ns[m[2]]>> ELSE <<>>, passed = {}>>
            /\ [after EXCEPT !.sent = {}, !.passed = {}] = Local(m[2])

\* [WI-13]
OnlyFreshAccepted ==
    \A m \in Arriving : m[3] = "announce" /\ m[4] \notin Known(Local(m[2])) /\ m[4] \in Known(After(m)) =>
        \A table \in 1..3 : versions[m[2]][table] <= m[6][table]

-----------------------------------------------------------------------------
\* In the end

\* Whether there is anything to do: when a step that changes something is possible, but for the bounds.
IsBusy ==
    \/ net # {}
    \/ restarts > 0 /\ Restarting # {}
    \/ \E n \in Node : up[n] /\ (stage[n] = "waiting" \/ \E command \in todo[n] : IsAllowed(Local(n), command))
    \/ \E n \in Node : Runs(n) /\
        \/ \E repair \in repairs[n] : repair[4] # {}
        \/ n \in Heartbeats /\ Known(Local(n)) # {}
        \/ Flush /\ cache[n] # <<>>

OnlyBusyStep == [][IsBusy]_vars

\* As WF_vars(Next), but that TLC has not to find out of each state whether a step is enabled: it takes minutes for a dozen of them.
\* With OnlyBusyStep it is the same wherever the bounds do not stop everything; there, the explorer would find a trap.
FairSpec == Init /\ [][Next]_vars /\ ([]<>~IsBusy \/ []<><<TRUE>>_vars)

WillHaveJoined(n) == \E other \in Node : <<"join", other>> \in Commands(n)

\* [WL-01]
AllJoined == <>[](net = {} /\ \A n \in Node : todo[n] = {} /\ (WillHaveJoined(n) => stage[n] = "joined"))

\* A node in the row of a cell that was lost, or below, has a candidate.
IsReplaceable(n, row, column) ==
    LET belongs(id) == Row(n, id) = row /\ Column(n, id) = column IN
    /\ Runs(n)
    /\ \E gone \in departed[n] : belongs(gone)
    /\ \E helper \in rt[n] : helper[1] >= row /\ Runs(helper[3]) /\ \E cell \in rt[helper[3]] :
        cell[1] = row /\ cell[2] = column /\ Runs(cell[3]) /\ cell[3] \notin departed[n]

IsOccupied(n, row, column) == \E cell \in rt[n] : cell[1] = row /\ cell[2] = column

\* [WL-02]
Refilled ==
    \A n \in Node : \A row \in 0..(Digits - 1) : \A column \in 0..(2^DigitBits - 1) :
        IsReplaceable(n, row, column) ~> IsOccupied(n, row, column)

\* Only nodes of the row itself are asked. [WL-02, WD-20]
AskRowOnly(state, row, column, asked) ==
    IF asked # row \/ InRow(state, row) = {} THEN state
    ELSE SendAll([state EXCEPT !.repairs = @ \cup {<<row, column, row, InRow(state, row)>>}],
                 InRow(state, row), "repair", CellWanted(row, column))

-----------------------------------------------------------------------------
\* Reachability checks: each claims that something never happens, and must fail.

NeverKind(kind) == \A m \in net : m[3] # kind

NeverWarned == NeverKind("race")

NeverRepaired == NeverKind("repair")

NeverForwarded == \A m \in net : m[3] = "join" => m[1] = m[4]

\* A join that did not arrive never ends where it came from.
NeverLateDestination == \A m \in net : m[3] = "state" /\ m[8][4] => m[8][RT] # <<>>

NeverMeasured == \A n \in Node : measured[n] = {}

NeverSecondRow == \A n \in Node : \A repair \in repairs[n] : repair[3] = repair[1]

\* A repair that has all its answers waits for a score.
NeverAwaitsScore == \A n \in Node : \A repair \in repairs[n] : repair[4] # {}

\* No node is warned while announcements are still under way.
NeverWaits == \A n \in Node : ~warned[n]

\* No node that was thought to have gone comes back.
NeverBack == \A m \in Arriving : m[3] = "announce" => m[4] \notin departed[m[2]]

\* No node is replaced by one that is closer in proximity.
NeverReplaced ==
    \A m \in Arriving :
        \A after \in {After(m)} \cup (IF Runs(m[1]) THEN {Confirmed(Local(m[1]), m, Took[<<m[1], m[2]>>])} ELSE {}) :
            \A cell \in rt[after.id], other \in after.rt : other[1] = cell[1] /\ other[2] = cell[2] => other = cell

NeverCrowded == \A n \in Node : Range(ns[n]) = Known(Local(n))

\* Each node has all nodes that it knows among its leaves.
NeverBeyondLeaves == \A n \in Node : Known(Local(n)) = Leaves(ls[n])

-----------------------------------------------------------------------------
\* Counterexamples: false claims, and definitions by which they hold

Joined == {n \in Node : Runs(n) /\ stage[n] = "joined"}

\* [WX-01]
AtMostOneOwner == \A key \in Id : Cardinality(Owners(Joined, key)) <= 1

\* [WX-02]
OwnerIsClosest == \A key \in Id : Owners(Joined, key) \subseteq {Closest(key, Joined)}

\* [mends WX-01 and WX-02]
QuietOwners == AtRest /\ NobodyGone => AtMostOneOwner /\ OwnerIsClosest

\* A node that delivers is the closest of those that have joined and itself. [WX-03]
DeliversAt(n, key) == NextHop(n, rt[n], ls[n], key) = n

JoinersDeliverTheirs ==
    \A n \in Node : Runs(n) /\ stage[n] \in {"joining", "waiting"} =>
        \A command \in todo[n] : command[1] = "route" /\ DeliversAt(n, command[2]) => n = Closest(command[2], Joined \cup {n})

\* A node that is joining has to wait. [mends WX-03]
HasJoined(state, command) ==
    CASE command[1] = "join" -> state.stage \in {"alone", "joining"} /\ state.contact = <<>> /\ command[2] # state.id
      [] command[1] = "route" -> state.stage = "joined"
      [] OTHER -> state.stage # "left"

AllowedDeliverTheirs ==
    \A n \in Node : Runs(n) => \A command \in todo[n] :
        command[1] = "route" /\ HasJoined(Local(n), command) /\ DeliversAt(n, command[2]) /\ AtRest => n = Closest(command[2], Joined)

\* Announcements are believed without a look at the versions. [WX-04]
NoConflict(state, m) == FALSE

\* The versions in a state message are of later than its tables. [WX-04]
LateVersions ==
    \E m \in net :
        /\ m[3] = "state"
        /\ m[6] # versions[m[1]]
        /\ net' = (net \ {m}) \cup {[m EXCEPT ![6] = versions[m[1]]]}
        /\ UNCHANGED <<local, up, todo, restarts>>

LateNext == Next \/ LateVersions

\* A node that has gone, and has been taken out, is not put in again by what others say. [WX-09]
GoneStaysAway ==
    \A m \in Arriving : \A n \in Node : IsGone(n) /\ n \notin Known(Local(m[2])) => n \notin Known(After(m))

\* A node that is removed from the tables is not remembered as departed. [WX-09]
Forgotten(state, id) == state

\* No node has one in its tables that has gone.
AllNoticed == \A n \in Node : Runs(n) => \A m \in Known(Local(n)) : Runs(m)

\* [WX-10]
RepairedLeafSets == AtRest /\ AllNoticed => FullLeafSets(Ring)

\* Each joined node is among the leaves of all nodes that should have it there. [WX-12]
JoinersKnown ==
    AtRest /\ AllNoticed => \A joiner \in {n \in Joined : WillHaveJoined(n)} : \A n \in Ring \ {joiner} :
        joiner \in Leaves(LeafSet(n, Ring \ {n})) => joiner \in Leaves(ls[n])

\* [WX-11]
EveryKeyOwned == \A key \in Id : Joined # {} => Closest(key, Joined) \in Owners(Joined, key)

\* [mends WX-11]
EveryKeyOwnedAtRest == AtRest /\ AllNoticed => EveryKeyOwned

\* A routing table changes once at most for each of the others. [WX-13]
VersionsCease == NobodyGone => \A n \in Node : versions[n][RT] < Cardinality(Node)

\* A message may take one or two, from any node to any other. [WX-13]
ReceiveLate ==
    \E m \in net, score \in {1, 2} :
        /\ Runs(m[2])
        /\ Become({Ended(Received(Local(m[2]), m))} \cup Senders(m, LAMBDA state : Confirmed(state, m, score)), {m})
        /\ UNCHANGED <<up, todo, restarts>>

ChangingNext == Next \/ ReceiveLate

=============================================================================
