package vectors

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
)

// bound is a list of names and what they stand for.
type bound struct {
	name  string
	value any
	rest  *bound
}

func (b *bound) lookup(name string) (any, bool) {
	for ; b != nil; b = b.rest {
		if b.name == name {
			return b.value, true
		}
	}
	return nil, false
}

// nothing stands for a member that is not there.
type nothing struct{}

// difference is the first place where an outcome is not as expected.
type difference struct {
	where            string
	expected, actual any
	otherForm        bool   // the same message in other bytes
	sameMeaning      bool   // all that differs is parts of messages that mean nothing
	reordered        string // the place of the list around it that has the expected items in another order; empty if none has
}

// yields is called with the bindings of each way to match, until it returns true.
type yields func(*bound) bool

var matchers map[string]func(argument, actual any, b *bound, yield yields) bool

func init() { // not a literal, since matchers nest
	matchers = map[string]func(argument, actual any, b *bound, yield yields) bool{
		"any":      matchAny,
		"between":  matchBetween,
		"multiset": matchMultiset,
		"contains": matchContains,
		"one_of":   matchOneOf,
		"bind":     matchBind,
		"ref":      matchRef,
	}
}

func matchAny(_, actual any, b *bound, yield yields) bool {
	return actual != nothing{} && yield(b)
}

func matchBetween(argument, actual any, b *bound, yield yields) bool {
	number := integer(actual)
	if number == nil {
		return false
	}
	limits := [2]*big.Int{}
	for at, digits := range argument.([]any) {
		limits[at], _ = new(big.Int).SetString(digits.(string), 10)
	}
	return limits[0].Cmp(number) <= 0 && number.Cmp(limits[1]) <= 0 && yield(b)
}

func matchMultiset(argument, actual any, b *bound, yield yields) bool {
	expected := argument.([]any)
	items, isList := actual.([]any)
	return isList && len(items) == len(expected) && pairings(expected, items, b, yield)
}

func matchContains(argument, actual any, b *bound, yield yields) bool {
	if expected, isObject := argument.(object); isObject {
		found, isObject := actual.(object)
		return isObject && matchMembers(expected, selected(expected, found), b, yield)
	}
	expected := argument.([]any)
	items, isList := actual.([]any)
	return isList && len(items) >= len(expected) && pairings(expected, items, b, yield)
}

func matchOneOf(argument, actual any, b *bound, yield yields) bool {
	for _, wanted := range argument.([]any) {
		if match(wanted, actual, b, yield) {
			return true
		}
	}
	return false
}

func matchBind(argument, actual any, b *bound, yield yields) bool {
	return actual != nothing{} && yield(&bound{argument.(string), actual, b})
}

func matchRef(argument, actual any, b *bound, yield yields) bool {
	value, known := b.lookup(argument.(string))
	return known && actual != nothing{} && same(value, actual) && yield(b)
}

// matcherOf returns the name and the argument of the matcher that an object is; an empty name if it is none.
func matcherOf(expected any) (string, any) {
	if shown, isObject := expected.(object); isObject && len(shown.names) == 1 {
		if name := shown.names[0]; matchers[name] != nil {
			return name, shown.values[name]
		}
	}
	return "", nil
}

// match yields the bindings of every way in which actual matches, until yield returns true; returns whether it did.
func match(expected, actual any, b *bound, yield yields) bool {
	if name, argument := matcherOf(expected); name != "" {
		return matchers[name](argument, actual, b, yield)
	}
	switch expected := expected.(type) {
	case object:
		found, isObject := actual.(object)
		return isObject && matchMembers(expected, found, b, yield)
	case []any:
		items, isList := actual.([]any)
		return isList && len(items) == len(expected) && matchInOrder(expected, items, b, yield)
	}
	return isEqual(expected, actual) && yield(b)
}

func firstBinding(expected, actual any, b *bound) (found *bound, fits bool) {
	fits = match(expected, actual, b, func(after *bound) bool {
		found = after
		return true
	})
	return found, fits
}

func fits(expected, actual any, b *bound) bool {
	_, fits := firstBinding(expected, actual, b)
	return fits
}

func matchMembers(expected, actual object, b *bound, yield yields) bool {
	for _, name := range actual.names {
		if _, known := expected.values[name]; !known {
			return false
		}
	}
	wanted, found := []any{}, []any{}
	for _, name := range expected.names {
		wanted, found = append(wanted, expected.values[name]), append(found, member(actual, name))
	}
	return matchInOrder(wanted, found, b, yield)
}

func matchInOrder(expected, actual []any, b *bound, yield yields) bool {
	for len(expected) > 0 { // what binds no names has one way to match, and needs no recursion
		after, fits := firstBinding(expected[0], actual[0], b)
		if !fits {
			return false
		}
		if after != b {
			return match(expected[0], actual[0], b, func(first *bound) bool {
				return matchInOrder(expected[1:], actual[1:], first, yield)
			})
		}
		expected, actual = expected[1:], actual[1:]
	}
	return yield(b)
}

// pairings yields every assignment of items to expected items; an item that equals one that was tried is not tried again.
func pairings(expected, actual []any, b *bound, yield yields) bool {
	if len(expected) == 0 {
		return yield(b)
	}
	tried := map[string]bool{}
	for at, item := range actual {
		if tried[canonical(item)] {
			continue
		}
		tried[canonical(item)] = true
		rest := append(append([]any{}, actual[:at]...), actual[at+1:]...)
		isDone, isOnly := false, false
		match(expected[0], item, b, func(first *bound) bool {
			return pairings(expected[1:], rest, first, func(all *bound) bool {
				isDone = yield(all)
				isOnly = all == b // no names are bound, so every other way is the same
				return isDone || isOnly
			})
		})
		if isDone || isOnly {
			return isDone
		}
	}
	return false
}

func member(shown object, name string) any {
	if value, known := shown.values[name]; known {
		return value
	}
	return nothing{}
}

func selected(wanted, actual object) object {
	some := newObject()
	for _, name := range actual.names {
		if _, known := wanted.values[name]; known {
			some.set(name, actual.values[name])
		}
	}
	return some
}

var digits = regexp.MustCompile(`^[0-9]{1,20}$`)

// integer returns the integer of a number, or of up to 20 decimal digits; nil if it is none.
func integer(value any) *big.Int {
	text, isText := value.(string)
	if number, isNumber := value.(json.Number); isNumber {
		text = number.String()
	} else if !isText || !digits.MatchString(text) {
		return nil
	}
	number, isInteger := new(big.Int).SetString(text, 10)
	if !isInteger {
		return nil
	}
	return number
}

// isEqual returns whether literals are equal; an integer also equals the text of its digits, which is how plain data holds 64 bits.
func isEqual(expected, actual any) bool {
	number, isNumber := expected.(json.Number)
	if digits, isText := actual.(string); isNumber && isText {
		return digits == number.String()
	}
	other, both := actual.(json.Number)
	if isNumber && both && integer(number) == nil {
		one, _ := number.Float64()
		two, _ := other.Float64()
		isFraction := integer(other) == nil || math.Abs(one) >= 1<<53 // JavaScript writes a large one without a point
		return isFraction && one == two
	}
	return expected == actual
}

// firstDifference returns the first place where actual does not match, as deep as possible; nil if it matches.
func firstDifference(expected, actual any, b *bound, where string) *difference {
	if fits(expected, actual, b) {
		return nil
	}
	name, argument := matcherOf(expected)
	wantedItems, isList := argument.([]any)
	items, hasItems := actual.([]any)
	if (name == "multiset" || name == "contains") && isList && hasItems {
		return pairingDifference(name, wantedItems, items, b, where)
	}
	wanted, isObject := argument.(object)
	found, hasMembers := actual.(object)
	if name == "contains" && isObject && hasMembers {
		return firstDifference(wanted, selected(wanted, found), b, where)
	}
	if name != "" {
		return &difference{where: where, expected: expected, actual: actual}
	}
	if wanted, isList := expected.([]any); isList && hasItems {
		isOther := isReordered(wanted, items, b, where)
		for at := 0; at < len(wanted) && at < len(items); at++ {
			place := fmt.Sprintf("%s[%d]", where, at)
			if different := firstDifference(wanted[at], items[at], b, place); different != nil {
				if isOther {
					different.reordered = where
				}
				return different
			}
			b, _ = firstBinding(wanted[at], items[at], b)
		}
		both := min(len(wanted), len(items))
		return &difference{where: fmt.Sprintf("%s[%d]", where, both), expected: itemAt(wanted, both), actual: itemAt(items, both)}
	}
	if wanted, isObject := expected.(object); isObject && hasMembers {
		return memberDifference(wanted, found, b, where)
	}
	return &difference{where: where, expected: expected, actual: actual}
}

func memberDifference(expected, actual object, b *bound, where string) *difference {
	if where != "" {
		where += "."
	}
	for _, name := range expected.names {
		found := member(actual, name)
		if different := firstDifference(expected.values[name], found, b, where+name); different != nil {
			if different.actual == (nothing{}) {
				different.actual = nil
			}
			return different
		}
		b, _ = firstBinding(expected.values[name], found, b)
	}
	for _, name := range actual.names {
		if _, known := expected.values[name]; !known {
			return &difference{where: where + name, actual: actual.values[name]}
		}
	}
	return nil
}

func itemAt(items []any, at int) any {
	if at < len(items) {
		return items[at]
	}
	return nil
}

// isReordered returns whether each expected item has an item of its own, in another order.
func isReordered(expected, actual []any, b *bound, where string) bool {
	return len(expected) == len(actual) && pairingDifference("multiset", expected, actual, b, where).where == where
}

func pairingDifference(name string, expected, actual []any, b *bound, where string) *difference {
	different := &difference{where: where}
	left, isMissing := append([]any{}, actual...), false
	places := []int{}
	for at := range actual {
		places = append(places, at)
	}
	for _, wanted := range expected {
		at := 0
		for at < len(left) && !fits(wanted, left[at], b) {
			at++
		}
		if at < len(left) {
			left, places = append(left[:at:at], left[at+1:]...), append(places[:at:at], places[at+1:]...)
		} else if !isMissing {
			different.expected, isMissing = wanted, true
		}
	}
	if name == "multiset" && len(left) > 0 {
		different.where, different.actual = fmt.Sprintf("%s[%d]", where, places[0]), left[0]
	}
	return different
}
