-------------------------------- MODULE Texts --------------------------------
(***************************************************************************)
(* A configuration file of TLC has no tuples. Constants hold texts instead,   *)
(* such as "2 1 set 3 4": words with one blank between them. TLC takes        *)
(* strings for sequences in Len, SubSeq and \o.                              *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences

Digits == <<"0", "1", "2", "3", "4", "5", "6", "7", "8", "9">>

Digit(text, i) == (CHOOSE d \in DOMAIN Digits : Digits[d] = SubSeq(text, i, i)) - 1

\* The number that is written in the text; up to 99. Without recursion TLC evaluates what comes of constants only once.
Number(text) == IF Len(text) = 1 THEN Digit(text, 1) ELSE 10 * Digit(text, 1) + Digit(text, 2)

\* Where words end: before blanks, and at the end.
Ends(text) == {i \in 0..Len(text) : i = Len(text) \/ SubSeq(text, i + 1, i + 1) = " "}

Words(text) ==
    LET ends == Ends(text)
        nth(k) == CHOOSE i \in ends : Cardinality({j \in ends : j < i}) = k - 1
    IN  [k \in 1..Cardinality(ends) |-> SubSeq(text, IF k = 1 THEN 1 ELSE nth(k - 1) + 2, nth(k))]

\* The words from the i-th on are numbers, two by two.
Pairs(words, i) == [k \in 1..(Len(words) - i + 1) \div 2 |-> <<Number(words[i + 2 * k - 2]), Number(words[i + 2 * k - 1])>>]

\* From the i-th word on: whether it was cut, 0 or 1, and the elements of a chain.
ChainAt(words, i) == <<Pairs(words, i + 1), words[i] = "1">>

=============================================================================
