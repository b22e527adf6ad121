------------------------------ MODULE MCPinging ------------------------------
(***************************************************************************)
(* Properties of DistKV's pings for the model checker.                     *)
(***************************************************************************)
EXTENDS Pinging

Up == {n \in Node : IsUp(n)}

IsPing(chain, itsTock) ==
    /\ Len(chain[1]) \in 1..Length
    /\ \A element \in Elements(chain) : element[1] \in Node /\ element[2] = Shown[element[1]]
    /\ chain[2] \in BOOLEAN
    /\ itsTock \in 0..MaxTock

TypeOK ==
    /\ \A n \in Node :
        /\ status[n] \in {"before", "up", "gone"}
        /\ tock[n] \in 0..MaxTock
        /\ last[n] # <<>> => IsPing(last[n][1], last[n][2])
        /\ heard[n] \subseteq (Node \ {n}) \X (0..MaxTock)
        /\ {due[n], start[n]} \subseteq 0..Silence(Clock) \cup {Off}
        /\ since[n] \in 0..Silence(Clock) + 1
        /\ judged[n] \in BOOLEAN
        /\ apart[n] \in 0..2
        /\ status[n] # "up" => due[n] = Off /\ start[n] = Off
    /\ split \in {"no", "now", "over"}
    /\ lost \in 0..Losses
    /\ \A message \in net :
        /\ message[1] \in Node \ {From1(message)}
        /\ message[2] \in 0..Delay
        /\ IsPing(message[3], message[4])
        /\ message[5] \in BOOLEAN

\* Where nothing holds tocks down, MaxTock is out of reach.
OutOfReach == IsPinned(Now) \/ \A t \in Tocks(Now) : t < MaxTock

-----------------------------------------------------------------------------

\* Of pings of different nodes exactly one wins. [DI-10]
Pings == {<<message[3], message[4]>> : message \in net} \cup {last[n] : n \in {n \in Node : last[n] # <<>>}}

OneWins ==
    \A a, b \in Pings : HeadOf(a[1])[1] # HeadOf(b[1])[1] => (Beats(a[1], a[2], b[1], b[2]) # Beats(b[1], b[2], a[1], a[2]))

\* The last pings that n may have after these messages, in this order.
RECURSIVE LastAfter(_, _, _)
LastAfter(n, s, messages) ==
    IF messages = <<>> THEN s.last
    ELSE LET message == Head(messages)
         IN  LastAfter(n, CHOOSE after \in ArrivalsAt(n, s, message[3], message[4]) : TRUE, Tail(messages))

\* Of pings that collide all choose the same, in whatever order they come. [DI-10]
Colliding(n) ==
    {<<a, b>> \in net \X net :
        /\ a[1] = n /\ b[1] = n /\ From1(a) # From1(b)
        /\ Agree(RestOf(a[3]), RestOf(b[3]))}

SameChoice ==
    \A n \in Up : \A pair \in Colliding(n) :
        LastAfter(n, Local(n), pair) = LastAfter(n, Local(n), <<pair[2], pair[1]>>)

\* Also if each has one of them and is to get the other. [DI-10]
SameAcross ==
    \A a, b \in net :
        LET n == a[1]
            m == b[1]
        IN  /\ n # m /\ IsUp(n) /\ IsUp(m)
            /\ last[n] = <<b[3], b[4]>> /\ last[m] = <<a[3], a[4]>>
            /\ From1(a) # From1(b)
            /\ Agree(RestOf(a[3]), RestOf(b[3]))
            => LastAfter(n, Local(n), <<a>>) = LastAfter(m, Local(m), <<b>>)

\* Without regard to what chains that repeat themselves look like. [breaks DI-10]
IsNextAnyhow(chain, before) == Agree(RestOf(chain), before)

\* What has arrived already changes nothing when it arrives again. [DI-11]
NoFalseNext ==
    \A message \in net : message[5] /\ IsUp(message[1]) =>
        \A s \in Arrivals(message[1], message[3], message[4]) : s.last = last[message[1]]

\* Three clocks after the ping accepted last, some node that is up has pinged. [DI-13]
SomebodyPings == Up # {} => \E n \in Up : since[n] <= Silence(Clock)

\* So has each that has got no other. [DI-13]
EachPings == \A n \in Up : since[n] <= Silence(Clock)

\* Nothing remembers which nodes have pinged. [breaks DI-11]
IsNeverStale(s, from, itsTock) == FALSE

\* A node that must not ping does nothing. [DX-08]
SilencedForGood == <<Off, Off>>

HasData(chain) == \E element \in Elements(chain) : element[2] # 0

\* [DI-14]
DataStays == \A n \in Up \cap Members : HasData(last[n][1])

\* A split means that there was one. [DX-06]
SplitWasOne == (\E n \in Node : judged[n]) => split # "no"

\* After a split some node detects in the end that there was one. [DX-07]
Noticed == split = "over" ~> \E n \in Node : judged[n]

\* If all nodes have pinged more than once during it, or heard a node that has. [mends DX-07]
NoticedIfLong == split = "over" /\ (\A n \in Node : apart[n] = 2) ~> \E n \in Node : judged[n]

\* When nothing is under way, all have the same last. [DL-05]
IsOneChain == net = {} => \A n, m \in Up : last[n] = last[m]

OneChain == <>[](split # "now" => IsOneChain)

\* Each side keeps to its own. [breaks DL-05]
IsNeverRealChain(n, before, wins) == FALSE

-----------------------------------------------------------------------------
\* Reachability checks: each claims that something never happens, and must fail.

\* Two nodes are about to swap pings that collide.
NeverCrosses ==
    \A a, b \in net : ~(last[a[1]] = <<b[3], b[4]>> /\ last[b[1]] = <<a[3], a[4]>> /\ Agree(RestOf(a[3]), RestOf(b[3])))

NeverSilenced == \A n \in Up : last[n] # <<>> => ~IsForbidden(n, last[n][1])

\* A copy looks like the next ping.
NeverLooksNext == \A message \in net : message[5] /\ IsUp(message[1]) => ~IsNext(message[3], last[message[1]][1])

\* A node that has no data and must not ping starts up anew.
NeverAnew == \A n \in Up \cap Members : last[n][1] # Alone(n, Shown[n])

=============================================================================
