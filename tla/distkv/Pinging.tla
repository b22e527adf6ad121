------------------------------- MODULE Pinging -------------------------------
(***************************************************************************)
(* The times of DistKV's pings.                                            *)
(*                                                                         *)
(* Written from the clauses in spec/distkv.md, whose numbers stand in      *)
(* brackets: DA-31 to DA-41, DA-65 to DA-67 and DA-69. There is nothing but *)
(* pings here: no entries, no infos, no downloads. Time passes in units, of *)
(* which a clock has some; it passes when nothing is due. A message takes as *)
(* many units as it likes, up to Delay.                                    *)
(*                                                                         *)
(* Of tocks only the order matters, and of heard only what could still make *)
(* a ping stale that is under way. So after each step the lowest tock that is *)
(* left becomes 0, and the rest is forgotten: runs go on for ever, in a graph *)
(* that ends.                                                              *)
(***************************************************************************)
EXTENDS Times, Texts

CONSTANTS
    Node,       \* the nodes
    Shows,      \* the tick that a node shows all the time: texts "n t"; it is 0 otherwise
    Last,       \* the pings that nodes have just accepted: texts "n tock cut m1 t1 …"; these nodes are up
    Joining,    \* the nodes that start at some time; others without a last ping have just been started
    Crashing,   \* the nodes that may crash, at any time
    Passive,    \* the nodes that have no data, or old data, all the time [DA-59]
    Early,      \* the nodes for which the early moment may be chosen [DA-39]
    OneSide,    \* the nodes on one side of the split that may come; none: it does not come
    Length,     \* ping.length, the longest chain of a ping
    Clock,      \* units of time in ping.clock
    Delay,      \* the most units of time that a message takes
    Copies,     \* whether a message may arrive more than once
    Losses,     \* the most messages that get lost
    MaxLag,     \* the highest tock during the split, or before all have started
    MaxTock     \* the highest tock at any time

VARIABLES
    status,      \* "before" its start, "up", or "gone" for good
    tock,
    last,        \* <<>>, or <<chain, tock>>
    heard,       \* <<node, tock>>
    due,         \* units until PingDue; Off if it does not run
    start,       \* the same of InitialPingDue
    since,       \* units since last was accepted, or the node was started; no more than three clocks and one
    judged,      \* whether the node has taken part, and a ping was a split to it
    apart,       \* how many pings it has accepted or sent during the split; 2 are many
    split,       \* "no", "now" or "over"
    lost,        \* how many messages have got lost
    net          \* pings under way: <<to, units left, chain, tock, whether it has arrived already>>

mine == <<tock, last, heard, due, start, since, judged, apart>>

vars == <<status, mine, split, lost, net>>

Off == 99

-----------------------------------------------------------------------------
\* What the constants say

Parsed(texts) == {Words(text) : text \in texts}

Shown == [n \in Node |-> LET own == {words \in Parsed(Shows) : Number(words[1]) = n}
                         IN  IF own = {} THEN 0 ELSE Number((CHOOSE words \in own : TRUE)[2])]

FirstLast == [n \in Node |-> LET own == {words \in Parsed(Last) : Number(words[1]) = n}
                                 words == CHOOSE words \in own : TRUE
                             IN  IF own = {} THEN <<>> ELSE <<ChainAt(words, 3), Number(words[2])>>]

Members == {n \in Node : FirstLast[n] # <<>>}

ASSUME PingingAssumption ==
    /\ Joining \cup Crashing \cup Passive \cup Early \cup OneSide \subseteq Node
    /\ Joining \cap Members = {}
    /\ Length > 0 /\ Clock > 1
    /\ Copies \in BOOLEAN

-----------------------------------------------------------------------------
\* Times [DA-37…DA-39, DA-62, DA-65]

\* Whether a node with the tick zero must not ping on this chain. [D-107]
IsForbidden(n, chain) == Shown[n] = 0 /\ ~ZeroMayPing(chain)

\* Then it does not ping, but starts up anew. [DA-67]
Silenced == <<Off, Silence(Clock)>>

\* What PingDue and InitialPingDue may be when a ping has been accepted, or sent. [DA-66, DA-67]
Decisions(n, chain) ==
    LET fixed == FixedMoment(Clock, Length, chain, n, Shown[n])
    IN  IF IsForbidden(n, chain) THEN {Silenced}
        ELSE IF fixed # <<>> THEN {<<fixed[1], Off>>}
        ELSE {<<moment, Off>> : moment \in LateMoments(Clock) \cup (IF n \in Early THEN {Clock} ELSE {})}

-----------------------------------------------------------------------------
\* What a node does. Its state is a record of mine.

Local(n) == [tock |-> tock[n], last |-> last[n], heard |-> heard[n], due |-> due[n], start |-> start[n], since |-> since[n],
             judged |-> judged[n], apart |-> apart[n]]

OneMore(times) == IF split = "now" THEN Min(2, times + 1) ELSE times

\* This is last now. [DA-37, DA-66]
Taken(n, s, chain, itsTock) ==
    {[s EXCEPT !.last = <<chain, itsTock>>, !.due = times[1], !.start = times[2], !.since = 0, !.apart = OneMore(@)] :
        times \in Decisions(n, chain)}

TockHeard(s, from) == TickOf(s.heard, from)

IsStale(s, from, itsTock) == <<from, itsTock>> \in s.heard \/ itsTock < TockHeard(s, from)

\* Chains repeat themselves: what looks like both is a collision, and what does follow wins it. [DA-69]
IsCollision(chain, before) == Agree(RestOf(chain), RestOf(before))

IsNext(chain, before) == Agree(RestOf(chain), before) /\ ~IsCollision(chain, before)

\* Of a split, whether the ping's chain takes the place of last. [D-90, D-100, D-101]
IsRealChain(n, before, wins) == (n \in Passive /\ IsAlone(before)) \/ wins

\* What may become of n when it gets a ping. [DA-69]
ArrivalsAt(n, state, chain, itsTock) ==
    LET from == HeadOf(chain)[1]
        s == [state EXCEPT !.tock = Max(@, itsTock)]
        noted == [s EXCEPT !.heard = Raised(@, {<<from, itsTock>>})]
        accepted == Taken(n, noted, Within(chain, Length), itsTock)
        wins == Beats(chain, itsTock, s.last[1], s.last[2])
        seen == [noted EXCEPT !.judged = @ \/ n \notin Passive]
    IN  IF IsStale(s, from, itsTock) THEN {s}
        ELSE IF s.last = <<>> THEN accepted
        ELSE IF IsNext(chain, s.last[1]) THEN accepted
        ELSE IF IsCollision(chain, s.last[1]) THEN IF wins THEN accepted ELSE {noted}
        ELSE IF IsAlone(chain) THEN {noted}
        ELSE IF IsRealChain(n, s.last[1], wins) THEN Taken(n, seen, Within(chain, Length), itsTock)
        ELSE {seen}

Arrivals(n, chain, itsTock) == ArrivalsAt(n, Local(n), chain, itsTock)

\* PingDue: what may become of n; its ping is its last then.
Pingings(n) ==
    LET s == Local(n) IN Taken(n, [s EXCEPT !.tock = @ + 1], WithPing(s.last[1], n, Shown[n], Length), s.tock + 1)

\* InitialPingDue. [DA-65]
StartUp(n) ==
    LET s == Local(n)
    IN  [s EXCEPT !.tock = @ + 1, !.last = <<Within(Alone(n, Shown[n]), Length), s.tock + 1>>, !.due = Off, !.start = Silence(Clock),
                  !.since = 0, !.apart = OneMore(@)]

-----------------------------------------------------------------------------
\* The world

IsUp(n) == status[n] = "up"

From1(message) == HeadOf(message[3])[1]

IsAcross(message) == split = "now" /\ (message[1] \in OneSide) # (From1(message) \in OneSide)

Broadcast(n, s) == {<<m, Delay, s.last[1], s.last[2], FALSE>> : m \in {m \in Node \ {n} : status[m] # "gone"}}

Least(numbers) == CHOOSE a \in numbers : \A b \in numbers : a <= b

\* All tocks that are left.
Tocks(world) ==
    {world.local[n].tock : n \in {n \in Node : world.status[n] # "gone"}}
    \cup {world.local[n].last[2] : n \in {n \in Node : world.local[n].last # <<>>}}
    \cup {message[4] : message \in world.net}

Nothing ==
    [tock |-> 0, last |-> <<>>, heard |-> {}, due |-> Off, start |-> Off, since |-> 0, judged |-> FALSE, apart |-> 0]

\* What could still make a ping stale.
StillHeard(world, n) ==
    {pair \in world.local[n].heard :
        \E message \in world.net : message[1] = n /\ From1(message) = pair[1] /\ message[4] <= pair[2]}

\* The world without what does not matter any more, and its tocks from 0 on.
Reduced(world) ==
    LET living == [world EXCEPT !.local = [n \in Node |-> IF world.status[n] = "gone" THEN Nothing ELSE @[n]],
                                !.net = {message \in @ : world.status[message[1]] # "gone"}]
        least == IF Tocks(living) = {} THEN 0 ELSE Least(Tocks(living))
        lowered(n, s) ==
            [s EXCEPT !.tock = IF living.status[n] = "gone" THEN 0 ELSE @ - least,
                      !.last = IF @ = <<>> THEN <<>> ELSE <<@[1], @[2] - least>>,
                      !.heard = {<<pair[1], pair[2] - least>> : pair \in StillHeard(living, n)}]
    IN  [living EXCEPT !.local = [n \in Node |-> lowered(n, @[n])],
                       !.net = {<<message[1], message[2], message[3], message[4] - least, message[5]>> : message \in @}]

IsPinned(world) == world.split = "now" \/ \E n \in Node : world.status[n] = "before"

HasRoom(world) == \A t \in Tocks(world) : t <= (IF IsPinned(world) THEN MaxLag ELSE MaxTock)

Comes(before) ==
    \E world \in {Reduced(before)} :
        /\ HasRoom(world)
        /\ status' = world.status
        /\ tock' = [n \in Node |-> world.local[n].tock]
        /\ last' = [n \in Node |-> world.local[n].last]
        /\ heard' = [n \in Node |-> world.local[n].heard]
        /\ due' = [n \in Node |-> world.local[n].due]
        /\ start' = [n \in Node |-> world.local[n].start]
        /\ since' = [n \in Node |-> world.local[n].since]
        /\ judged' = [n \in Node |-> world.local[n].judged]
        /\ apart' = [n \in Node |-> world.local[n].apart]
        /\ split' = world.split
        /\ lost' = world.lost
        /\ net' = world.net

Now == [status |-> status, local |-> [n \in Node |-> Local(n)], split |-> split, lost |-> lost, net |-> net]

With(n, s) == [Now EXCEPT !.local[n] = s]

Beginning ==
    /\ status = [n \in Node |-> IF n \in Joining THEN "before" ELSE "up"]
    /\ tock = [n \in Node |-> IF n \in Members THEN FirstLast[n][2] ELSE 0]
    /\ last = FirstLast
    /\ heard = [n \in Node |-> {}]
    /\ \E times \in [Node -> UNION {Decisions(n, FirstLast[n][1]) : n \in Members} \cup {<<Off, Off>>} \cup {<<Off, t>> : t \in FirstMoments(Clock)}] :
        /\ \A n \in Node :
            times[n] \in (IF n \in Members THEN Decisions(n, FirstLast[n][1])
                          ELSE IF n \in Joining THEN {<<Off, Off>>} ELSE {<<Off, t>> : t \in FirstMoments(Clock)})
        /\ due = [n \in Node |-> times[n][1]]
        /\ start = [n \in Node |-> times[n][2]]
    /\ since = [n \in Node |-> 0]
    /\ judged = [n \in Node |-> FALSE]
    /\ apart = [n \in Node |-> 0]
    /\ split = "no"
    /\ lost = 0
    /\ net = {}

Later(units) == IF units = Off THEN Off ELSE units - 1

\* One unit passes.
Tick ==
    /\ \A n \in Node : due[n] # 0 /\ start[n] # 0
    /\ \A message \in net : message[2] > 0
    /\ \E n \in Node : IsUp(n)
    /\ Comes([Now EXCEPT
        !.local = [n \in Node |->
            [@[n] EXCEPT !.due = Later(@), !.start = Later(@), !.since = IF IsUp(n) THEN Min(@ + 1, Silence(Clock) + 1) ELSE @]],
        !.net = {[message EXCEPT ![2] = @ - 1] : message \in @}])

Ping(n) ==
    /\ due[n] = 0
    /\ \E s \in Pingings(n) : Comes([With(n, s) EXCEPT !.net = @ \cup Broadcast(n, s)])

Start(n) ==
    /\ start[n] = 0
    /\ Comes([With(n, StartUp(n)) EXCEPT !.net = @ \cup Broadcast(n, StartUp(n))])

\* A node that is not up yet gets nothing.
Arrived(message) ==
    IF IsUp(message[1]) THEN {With(message[1], s) : s \in Arrivals(message[1], message[3], message[4])} ELSE {Now}

Receive ==
    \E message \in net :
        /\ ~IsAcross(message)
        /\ \E world \in Arrived(message) : Comes([world EXCEPT !.net = @ \ {message}])

ReceiveAgain ==
    \E message \in net :
        /\ Copies
        /\ ~IsAcross(message)
        /\ \E world \in Arrived(message) : Comes([world EXCEPT !.net = (@ \ {message}) \cup {[message EXCEPT ![5] = TRUE]}])

Lose ==
    \E message \in net :
        /\ IsAcross(message) \/ lost < Losses
        /\ Comes([Now EXCEPT !.net = @ \ {message}, !.lost = IF IsAcross(message) THEN @ ELSE @ + 1])

Join(n) ==
    /\ status[n] = "before"
    /\ \E moment \in FirstMoments(Clock) : Comes([Now EXCEPT !.status[n] = "up", !.local[n].start = moment])

Crash(n) ==
    /\ n \in Crashing
    /\ IsUp(n)
    /\ Comes([Now EXCEPT !.status[n] = "gone"])

Split == OneSide # {} /\ split = "no" /\ Comes([Now EXCEPT !.split = "now"])

Heal == split = "now" /\ Comes([Now EXCEPT !.split = "over"])

Passing ==
    \/ Tick
    \/ \E n \in Node : Ping(n)
    \/ \E n \in Node : Start(n)
    \/ Receive

Happening ==
    \/ Passing
    \/ ReceiveAgain
    \/ Lose
    \/ \E n \in Node : Join(n)
    \/ \E n \in Node : Crash(n)
    \/ Split
    \/ Heal

\* Whatever is due happens, and time passes.
PingSpec == Beginning /\ [][Happening]_vars /\ WF_vars(Passing)

=============================================================================
