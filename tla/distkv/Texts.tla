-------------------------------- MODULE Texts --------------------------------
(***************************************************************************)
(* A configuration file of TLC has no tuples. Constants hold texts instead,   *)
(* such as "2 1 set 3 4": words with one blank between them. TLC takes        *)
(* strings for sequences in Len, SubSeq and \o.                              *)
(***************************************************************************)
EXTENDS Naturals, Sequences

Digits == <<"0", "1", "2", "3", "4", "5", "6", "7", "8", "9">>

\* The number that is written in the text.
RECURSIVE Number(_)
Number(text) ==
    LET last == SubSeq(text, Len(text), Len(text))
        digit == (CHOOSE i \in DOMAIN Digits : Digits[i] = last) - 1
    IN  IF Len(text) = 1 THEN digit ELSE 10 * Number(SubSeq(text, 1, Len(text) - 1)) + digit

\* Where the next blank is, or the end.
RECURSIVE WordEnd(_, _)
WordEnd(text, i) == IF i > Len(text) \/ SubSeq(text, i, i) = " " THEN i ELSE WordEnd(text, i + 1)

RECURSIVE Words(_)
Words(text) ==
    LET end == WordEnd(text, 1)
    IN  <<SubSeq(text, 1, end - 1)>> \o (IF end > Len(text) THEN <<>> ELSE Words(SubSeq(text, end + 1, Len(text))))

\* The words from the i-th on are numbers, two by two.
Pairs(words, i) == [k \in 1..(Len(words) - i + 1) \div 2 |-> <<Number(words[i + 2 * k - 2]), Number(words[i + 2 * k - 1])>>]

\* From the i-th word on: whether it was cut, 0 or 1, and the elements of a chain.
ChainAt(words, i) == <<Pairs(words, i + 1), words[i] = "1">>

=============================================================================
