------------------------------- MODULE Tables -------------------------------
(***************************************************************************)
(* The ring of ids, the state tables of a Wendy node, and the one step that *)
(* a message takes by them.                                                *)
(*                                                                         *)
(* Written from the clauses in spec/wendy.md, whose numbers stand in        *)
(* brackets. Ids are numbers; how many digits they have, and how many bits  *)
(* a digit has, is up to the model. Where ids have 128 bits and distances   *)
(* are no numbers, WendyTrace replaces Clockwise, AtMost, Half and Digit. A *)
(* routing table is a set of cells <<row, column, id>>, a leaf set the pair *)
(* of its left and its right side, both sequences with the nearest first.   *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences

CONSTANTS
    Digits,      \* the digits of an id [W-14]
    DigitBits,   \* the bits of a digit
    LeafSide,    \* the most nodes on one side of a leaf set [W-23]
    TwoSided     \* whether a node may be on both sides of a leaf set; otherwise it is on the nearer one [WA-05]

ASSUME TablesAssumption ==
    /\ {Digits, DigitBits, LeafSide} \subseteq Nat \ {0}
    /\ TwoSided \in BOOLEAN

Range(seq) == {seq[i] : i \in DOMAIN seq}

-----------------------------------------------------------------------------
\* The ring

Size == 2^(Digits * DigitBits)   \* [W-01, WA-02]

Id == 0..(Size - 1)

\* From a to b with the clock. [W-02]
Clockwise(a, b) == (b + Size - a) % Size

\* The order of distances.
AtMost(one, other) == one <= other

Half == Size \div 2

Distance(a, b) == IF AtMost(Clockwise(a, b), Clockwise(b, a)) THEN Clockwise(a, b) ELSE Clockwise(b, a)

\* The antipode is greater. [W-03, WA-03, WA-04]
IsGreater(a, b) == a # b /\ AtMost(Clockwise(a, b), Half)

\* Whether a is closer to the key than b; of two that are equally far, the one before it is. [WA-09]
IsCloser(key, a, b) ==
    LET fromA == Distance(a, key)
        fromB == Distance(b, key)
    IN  IF fromA = fromB THEN a # b /\ Clockwise(a, key) = fromA ELSE AtMost(fromA, fromB)

\* [W-37]
Closest(key, ids) == CHOOSE a \in ids : \A b \in ids \ {a} : IsCloser(key, a, b)

\* Digit number i, the most significant being number 0.
Digit(a, i) == (a \div 2^(DigitBits * (Digits - 1 - i))) % 2^DigitBits

\* How many leading digits two ids have in common.
Prefix(a, b) ==
    IF a = b THEN Digits ELSE CHOOSE i \in 0..(Digits - 1) : Digit(a, i) # Digit(b, i) /\ \A j \in 0..(i - 1) : Digit(a, j) = Digit(b, j)

-----------------------------------------------------------------------------
\* Where an id belongs in the tables of another

Row(owner, id) == Prefix(owner, id)   \* [W-15]

Column(owner, id) == Digit(id, Row(owner, id))   \* [W-16, WA-01]

Cell(owner, id) == <<Row(owner, id), Column(owner, id), id>>

\* The members of a set, by what the function says of them.
RECURSIVE Sorted(_, _)
Sorted(ids, measure) ==
    IF ids = {} THEN <<>>
    ELSE LET least == CHOOSE a \in ids : \A b \in ids : AtMost(measure[a], measure[b])
         IN  <<least>> \o Sorted(ids \ {least}, measure)

First(seq, k) == SubSeq(seq, 1, IF Len(seq) < k THEN Len(seq) ELSE k)

\* The leaf set of a node that knows these others. [W-24…W-29]
LeafSet(owner, ids) ==
    LET right == {id \in ids : TwoSided \/ IsGreater(owner, id)}
        left == {id \in ids : TwoSided \/ ~IsGreater(owner, id)}
    IN  <<First(Sorted(left, [id \in left |-> Clockwise(id, owner)]), LeafSide),
          First(Sorted(right, [id \in right |-> Clockwise(owner, id)]), LeafSide)>>

Leaves(ls) == Range(ls[1]) \cup Range(ls[2])

IsFull(side) == Len(side) = LeafSide

\* A node of a skewed ring sees all others on one side, and perhaps not all of them. [WX-07]
IsSkewed(ids) ==
    \E n \in ids : LET ls == LeafSet(n, ids \ {n}) IN
        (IsFull(ls[1]) \/ IsFull(ls[2])) /\ (ls[1] = <<>> \/ ls[2] = <<>>)

-----------------------------------------------------------------------------
\* Routing: where a message goes from a node with these tables; the node itself says that it is there.

Last(seq) == seq[Len(seq)]

\* Whether the key is on the arc from one end of the leaf set through the owner to the other. [W-39, WA-06]
IsInside(owner, ls, key) ==
    \/ key = owner
    \/ ls[1] # <<>> /\ AtMost(Clockwise(key, owner), Clockwise(Last(ls[1]), owner))
    \/ ls[2] # <<>> /\ AtMost(Clockwise(owner, key), Clockwise(owner, Last(ls[2])))

\* The first cell of some, in the order of rows, and of columns within a row. [WA-11]
FirstCell(cells) ==
    CHOOSE cell \in cells : \A other \in cells :
        cell[1] < other[1] \/ (cell[1] = other[1] /\ cell[2] <= other[2])

\* The cells that are searched when the one for the key is empty: the rest of its row, and the rows below. [W-41, W-42, WA-12]
CloserCells(owner, rt, key) == {cell \in rt : cell[1] >= Prefix(owner, key) /\ IsCloser(key, cell[3], owner)}

\* Rather than deliver where a closer node is known. [W-44, WA-08]
LastResort(owner, ls, key) == Closest(key, Leaves(ls) \cup {owner})

NextHop(owner, rt, ls, key) ==
    LET fitting == {cell \in rt : cell[1] = Prefix(owner, key) /\ cell[2] = Digit(key, cell[1])}
    IN  IF IsInside(owner, ls, key) THEN Closest(key, Leaves(ls) \cup {owner})      \* [W-39, WA-07, WA-14]
        ELSE IF fitting # {} THEN FirstCell(fitting)[3]                             \* [W-40, WA-13]
        ELSE IF CloserCells(owner, rt, key) # {} THEN FirstCell(CloserCells(owner, rt, key))[3]
        ELSE LastResort(owner, ls, key)                                             \* [W-43]

=============================================================================
