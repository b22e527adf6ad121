package distkv

// Range is the ticks from Begin to End, Begin included and End not.
type Range struct{ Begin, End uint64 }

// Ranges is a set of ticks: in ascending order, none empty, no two that touch. [DA-24]
type Ranges []Range

// MaxTick is the last tick. [D-26]
const MaxTick = 1<<63 - 1

// readRanges reads a list of single ticks and pairs. [D-28…D-31, DA-24, DA-90]
func readRanges(value Value) Ranges {
	items, isList := value.(List)
	if !isList {
		fail("bad_type", "ranges are not a list")
	}
	ranges, end := Ranges{}, uint64(0)
	for _, item := range items {
		next := readRange(item)
		if next.Begin >= next.End || next.Begin < end {
			fail("bad_value", "ranges are empty, out of order or overlapping")
		}
		end = next.End
		ranges = ranges.with(next)
	}
	return ranges
}

func readRange(item Value) Range {
	pair, isList := item.(List)
	if !isList {
		tick := readTick(item)
		return Range{tick, tick + 1}
	}
	if len(pair) != 2 {
		fail("bad_length", "a range has a begin and an end")
	}
	end, isNumber := pair[1].(uint64)
	if !isNumber || end > MaxTick+1 {
		fail("bad_value", "the end of a range is from 0 to 2^63")
	}
	return Range{readTick(pair[0]), end}
}

// with returns the ranges with one more behind them; the tick 0 is nothing.
func (ranges Ranges) with(next Range) Ranges {
	next.Begin = max(next.Begin, 1)
	last := len(ranges) - 1
	switch {
	case next.Begin >= next.End:
		return ranges
	case last >= 0 && ranges[last].End == next.Begin:
		ranges[last].End = next.End
		return ranges
	}
	return append(ranges, next)
}

// list returns the ranges as they are written.
func (ranges Ranges) list() List {
	items := List{}
	for _, one := range ranges {
		if one.End == one.Begin+1 {
			items = append(items, one.Begin)
		} else {
			items = append(items, List{one.Begin, one.End})
		}
	}
	return items
}
