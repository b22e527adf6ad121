package vectors

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
)

// object is an object of JSON; numbers in it are json.Number.
type object = map[string]any

// nothing stands for a member that is not there.
type nothing struct{}

// difference is the first place where a value does not match a pattern.
type difference struct {
	where            string
	expected, actual any
	otherForm        bool        // whether it is the same message in other bytes
	whole            *difference // all that was compared, or both messages, for the text of a failure
}

// parse returns JSON as plain data.
func parse(text []byte) (value any) {
	unmarshal(text, &value)
	return value
}

// fits returns whether a value matches a pattern that names nothing.
func fits(expected, actual any) bool { return firstDifference(expected, actual, object{}, "") == nil }

// firstDifference returns the first place, as deep as possible, where a value does not match a pattern; nil if it matches. `names` has
// the values to which patterns give names.
func firstDifference(expected, actual any, names object, where string) *difference {
	here := &difference{where: where, expected: expected, actual: actual}
	if actual == any(nothing{}) {
		here.actual = nil
	}
	isEqual := false
	switch wanted := expected.(type) {
	case object:
		if name, argument := matcherOf(wanted); name != "" {
			return matchers[name](argument, actual, names, here)
		}
		if found, isObject := actual.(object); isObject {
			return firstMember(wanted, found, sortedNames(wanted, found), names, where)
		}
	case []any:
		if found, isList := actual.([]any); isList {
			return firstItem(wanted, found, names, where)
		}
	case json.Number:
		isEqual = isSameNumber(wanted, actual)
	default:
		isEqual = expected == actual
	}
	return differenceUnless(isEqual, here)
}

func differenceUnless(isEqual bool, here *difference) *difference {
	if isEqual {
		return nil
	}
	return here
}

// isSameNumber returns whether a value is this number, or a text of its digits. A large fraction may come without a point.
func isSameNumber(wanted json.Number, actual any) bool {
	if found, isNumber := actual.(json.Number); isNumber && integer(wanted) == nil {
		one, _ := wanted.Float64()
		other, _ := found.Float64()
		return one == other && (integer(found) == nil || math.Abs(one) >= 1<<53)
	}
	return fmt.Sprint(actual) == wanted.String()
}

// integer returns the integer of a number, or of up to 20 decimal digits; nil if it is none.
func integer(value any) *big.Int {
	text, isText := value.(string)
	if number, isNumber := value.(json.Number); isNumber {
		text = number.String()
	} else if !isText || len(text) > 20 || len(text) == 0 || text[0] < '0' || text[0] > '9' {
		return nil
	}
	if found, isInteger := new(big.Int).SetString(text, 10); isInteger {
		return found
	}
	return nil
}

// matcherOf returns name and argument of the matcher that an object is; none if it is another object.
func matcherOf(pattern object) (string, any) {
	for name, argument := range pattern {
		if matchers[name] != nil && len(pattern) == 1 {
			return name, argument
		}
	}
	return "", nil
}

// matchers has the difference that each matcher finds: `here`, unless it is deeper.
var matchers map[string]func(argument, actual any, names object, here *difference) *difference

func init() { // not a literal, since matchers contain patterns
	matchers = map[string]func(argument, actual any, names object, here *difference) *difference{
		"any": func(_, actual any, _ object, here *difference) *difference {
			return differenceUnless(actual != any(nothing{}), here)
		},
		"between": func(limits, actual any, _ object, here *difference) *difference {
			low, high, number := integer(limits.([]any)[0]), integer(limits.([]any)[1]), integer(actual)
			return differenceUnless(number != nil && low.Cmp(number) <= 0 && number.Cmp(high) <= 0, here)
		},
		"one_of": func(patterns, actual any, names object, here *difference) *difference {
			isOne := func(pattern any) bool { return firstDifference(pattern, actual, names, "") == nil }
			return differenceUnless(slices.ContainsFunc(patterns.([]any), isOne), here)
		},
		"multiset": func(items, actual any, names object, here *difference) *difference {
			return firstUnpaired(items.([]any), actual, names, here, true)
		},
		"contains": matchContents,
		"same":     matchSame,
	}
}

// matchContents matches an object with at least these members, or a list with at least these items.
func matchContents(wanted, actual any, names object, here *difference) *difference {
	members, isObject := wanted.(object)
	if found, both := actual.(object); isObject && both {
		return firstMember(members, found, sortedNames(members), names, here.where)
	} else if isObject {
		return here
	}
	return firstUnpaired(wanted.([]any), actual, names, here, false)
}

// matchSame gives a value a name; where it has been given, only an equal value matches.
func matchSame(name, actual any, names object, here *difference) *difference {
	known, isKnown := names[name.(string)]
	if isKnown || actual == any(nothing{}) {
		return differenceUnless(isKnown && fits(known, actual), here)
	}
	names[name.(string)] = actual
	return nil
}

func sortedNames(objects ...object) []string {
	names := []string{}
	for _, each := range objects {
		for name := range each {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// firstMember returns the first difference of the named members of two objects. One that is not expected must be missing.
func firstMember(expected, actual object, members []string, names object, where string) *difference {
	for _, member := range members {
		place := member
		if where != "" {
			place = where + "." + member
		}
		wanted, isExpected := expected[member]
		found, isThere := actual[member]
		if !isExpected {
			return &difference{where: place, actual: found}
		}
		if !isThere {
			found = nothing{}
		}
		if different := firstDifference(wanted, found, names, place); different != nil {
			return different
		}
	}
	return nil
}

// firstItem returns the first difference of two lists: of an item, or where only one of them has an item.
func firstItem(expected, actual []any, names object, where string) *difference {
	for at := 0; at < max(len(expected), len(actual)); at++ {
		place := fmt.Sprintf("%s[%d]", where, at)
		switch {
		case at >= len(expected):
			return &difference{where: place, actual: actual[at]}
		case at >= len(actual):
			return &difference{where: place, expected: expected[at]}
		}
		if different := firstDifference(expected[at], actual[at], names, place); different != nil {
			return different
		}
	}
	return nil
}

// firstUnpaired compares lists in any order. The difference is the first item that is left if each expected item takes the first one
// that matches; if none is left, or others are allowed, the expected item that is missing.
func firstUnpaired(expected []any, actual any, names object, here *difference, isWhole bool) *difference {
	items, isList := actual.([]any)
	if !isList {
		return here
	}
	if len(expected) <= len(items) && (!isWhole || len(expected) == len(items)) && isPaired(expected, items, names) {
		return nil
	}
	left, missing := []int{}, any(nil)
	for at := range items {
		left = append(left, at)
	}
	for _, wanted := range expected {
		takes := func(at int) bool { return firstDifference(wanted, items[at], names, "") == nil }
		if place := slices.IndexFunc(left, takes); place >= 0 {
			left = slices.Delete(left, place, place+1)
		} else if missing == nil {
			missing = wanted
		}
	}
	if !isWhole || len(left) == 0 {
		return &difference{where: here.where, expected: missing}
	}
	return &difference{where: fmt.Sprintf("%s[%d]", here.where, left[0]), expected: missing, actual: items[left[0]]}
}

// isPaired returns whether each expected item can have an item of its own; they take over items by augmenting paths.
func isPaired(expected, items []any, names object) bool {
	owner := map[int]int{}
	var settle func(row int, tried map[int]bool) bool
	settle = func(row int, tried map[int]bool) bool {
		for column, item := range items {
			if tried[column] || firstDifference(expected[row], item, names, "") != nil {
				continue
			}
			tried[column] = true
			if other, isTaken := owner[column]; !isTaken || settle(other, tried) {
				owner[column] = row
				return true
			}
		}
		return false
	}
	for row := range expected {
		if !settle(row, map[int]bool{}) {
			return false
		}
	}
	return true
}
