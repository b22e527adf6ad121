package vectors

import (
	"fmt"
	"slices"
	"strings"
)

// CheckReadings returns an error if an implementation declares a reading that is not described.
func (bundle *Bundle) CheckReadings(declared map[string]string) error {
	for clause, name := range declared {
		names := []string{}
		for known := range bundle.Readings[clause] {
			names = append(names, known)
		}
		slices.Sort(names)
		switch {
		case slices.Contains(names, name) || !bundle.isOwn(clause):
		case len(names) == 0:
			return fmt.Errorf("the offer declares %s as '%s'; no other reading of it is described", clause, name)
		default:
			return fmt.Errorf("the offer declares %s as '%s'; described are %s", clause, name, strings.Join(names, ", "))
		}
	}
	return nil
}

// isOwn returns whether a clause is one of this protocol, which all begin with one letter; an adapter can have several protocols.
func (bundle *Bundle) isOwn(clause string) bool {
	for own := range bundle.Readings {
		if own[:1] == clause[:1] {
			return true
		}
	}
	return false
}

// unconfirmed returns what is wrong with declared readings: no case confirms them, though some of these results could.
func unconfirmed(declared map[string]string, results []Result) []string {
	found := []string{}
	for clause, name := range declared {
		count, isConfirmed := 0, false
		for _, result := range results {
			if result.Status != "skipped" && result.Status != "undetermined" && slices.Contains(result.Vector.Clauses, clause) {
				count++
			}
			isConfirmed = isConfirmed || slices.Contains(result.Readings, clause+": "+name)
		}
		if count > 0 && !isConfirmed {
			found = append(found, fmt.Sprintf("the offer declares %s as '%s', but none of %d cases that cite it confirms that", clause, name, count))
		}
	}
	slices.Sort(found)
	return found
}
