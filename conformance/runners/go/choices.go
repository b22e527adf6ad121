package vectors

import (
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

func (c *choices) choose(site, kind string, options []any, some int) []int {
	options = plain(options).([]any)
	switch kind {
	case "one":
		some = 1
	case "permutation":
		some = len(options)
	}
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
	if len(options) == 1 {
		return []int{0}
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
