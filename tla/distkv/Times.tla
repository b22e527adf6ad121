-------------------------------- MODULE Times --------------------------------
(***************************************************************************)
(* When DistKV's timers expire, in units of which ping.clock has some.     *)
(*                                                                         *)
(* Written from the clauses in spec/distkv.md, whose numbers stand in      *)
(* brackets. Times are whole units, rounded down [DA-62].                  *)
(***************************************************************************)
EXTENDS Chains

\* Three clocks: a node that has heard no ping for so long starts up anew, and a recovery is over. [DA-51, DA-65, DA-67, DA-74]
Silence(clock) == 3 * clock

\* The first message of a node. [D-94, DA-65]
FirstMoments(clock) == clock \div 2..clock

\* A late ping of a node that is off the chain. [DA-39]
LateMoments(clock) == (5 * clock) \div 2..Silence(clock)

\* The ping of a node at this position. [DA-38]
OnChainMoment(clock, length, position) == ((2 * length - position) * clock) \div length

\* When a node pings that shows this tick: <<units>>, or <<>> if it picks a moment. [DA-38, DA-66]
FixedMoment(clock, length, chain, n, shown) ==
    IF IsOn(chain, n) THEN <<OnChainMoment(clock, length, Position(chain, n))>>
    ELSE IF ~IsAuthoritative(chain, n) /\ shown # 0 THEN <<clock>>
    ELSE <<>>

\* So many times the half of it, rounded up.
RECURSIVE Halved(_, _)
Halved(units, times) == IF times = 0 THEN units ELSE Halved((units + 1) \div 2, times - 1)

HalfLife(clock, times) == clock - Halved(clock, times)

\* Steps 1 and 3 of a recovery, and the answer to a start-up ping. [DA-06]
AnswerDelay(clock, position) == HalfLife(clock, position)

\* Step 2. [DA-07]
RequestDelay(clock, position) == HalfLife(clock, position + 1)

\* A request without a recovery, and how long there is no other one after it. [DA-79]
RepairMoments(clock) == clock..2 * clock

RepairSilence(clock) == 10 * clock

=============================================================================
