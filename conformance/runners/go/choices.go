package vectors

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// choices answers random choices: as the vector says, else from a stream of the seed, the site, and its number of questions.
type choices struct {
	seed   string
	count  map[string]int
	script []pick
	wrong  string // the first question that the vector answers otherwise
}

type pick struct {
	site   string
	answer []any
}

func newChoices(seed string) *choices { return &choices{seed: seed, count: map[string]int{}} }

func (c *choices) choose(site, kind string, among []any, some int) []int {
	return chooseInOrder(kind, among, some, func(options []any, some int) []int { return c.answer(site, options, some) })
}

// chooseInOrder lets a question be answered with all different options in the order of their bytes, and returns the indices among
// those that were given. A single option is no question.
func chooseInOrder(kind string, among []any, some int, answer func(options []any, some int) []int) []int {
	options, places := inOrder(plain(among).([]any))
	switch kind {
	case "one":
		some = 1
	case "permutation":
		some = len(options)
	}
	if len(options) < 2 {
		return places
	}
	picked := []int{}
	for _, at := range answer(options, some) {
		picked = append(picked, places[at])
	}
	return picked
}

// inOrder returns the different options in the order of their numbers, or of the bytes of their texts, and where each one stood.
// Other options stay in their order.
func inOrder(among []any) (options []any, places []int) {
	seen := map[string]bool{}
	for at, option := range among {
		if shown := canonical(option); !seen[shown] {
			seen[shown] = true
			places = append(places, at)
		}
	}
	slices.SortStableFunc(places, func(one, other int) int { return compareOptions(among[one], among[other]) })
	for _, at := range places {
		options = append(options, among[at])
	}
	return options, places
}

func compareOptions(one, other any) int {
	_, isNumber := one.(json.Number)
	_, both := other.(json.Number)
	if isNumber && both {
		return integer(one).Cmp(integer(other))
	}
	return strings.Compare(contentOf(one), contentOf(other))
}

// contentOf returns the bytes of a text in plain form; none of anything else.
func contentOf(option any) string {
	if shown, isObject := option.(object); isObject && len(shown.names) == 1 {
		digits, _ := shown.values["hex"].(string)
		content, _ := hex.DecodeString(digits)
		return string(content)
	}
	content, _ := option.(string)
	return content
}

// answer answers a question with several options.
func (c *choices) answer(site string, options []any, some int) []int {
	number := c.count[site]
	c.count[site]++
	if at := slices.IndexFunc(c.script, func(one pick) bool { return one.site == site }); at >= 0 {
		answer := c.script[at].answer
		c.script = slices.Delete(c.script, at, at+1)
		picked := []int{}
		for _, wanted := range answer {
			if at := slices.IndexFunc(options, func(option any) bool { return same(option, wanted) }); at >= 0 {
				picked = append(picked, at)
			}
		}
		if len(answer) == some && len(picked) == some {
			return picked
		}
		if c.wrong == "" {
			c.wrong = fmt.Sprintf("asked at %s for %d of %s, where the vector answers %s", site, some, literal(options), literal(answer))
		}
	}
	indices, weights := []int{}, []string{}
	for at := range options {
		indices, weights = append(indices, at), append(weights, blake2b(fmt.Sprintf("%s/%s/%d/%d", c.seed, site, number, at), 8))
	}
	slices.SortFunc(indices, func(one, other int) int { return strings.Compare(weights[one], weights[other]) })
	return indices[:some]
}

// literal returns a value in the notation in which outcomes with options are hashed: texts in single quotes.
func literal(value any) string {
	shown := []string{}
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			shown = append(shown, literal(item))
		}
		return "[" + strings.Join(shown, ", ") + "]"
	case object:
		for _, name := range value.names {
			shown = append(shown, literal(name)+": "+literal(value.values[name]))
		}
		return "{" + strings.Join(shown, ", ") + "}"
	case string:
		return "'" + value + "'"
	}
	return fmt.Sprint(value)
}
