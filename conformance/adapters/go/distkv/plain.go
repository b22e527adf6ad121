package distkv

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"peerproof.example/adapters/strictjson"
)

// exact is up to where all readers of JSON keep integers.
const exact = 1 << 53

// plainValue returns a value as what encoding/json writes in plain form: JSON, and objects of one member whose name begins with a
// dollar for what JSON lacks or readers round.
func plainValue(value Value) any {
	switch value := value.(type) {
	case uint64:
		if value > exact {
			return map[string]string{"$int": strconv.FormatUint(value, 10)}
		}
	case int64:
		if value < -exact {
			return map[string]string{"$int": strconv.FormatInt(value, 10)}
		}
	case float64:
		return plainFloat(value)
	case []byte:
		return map[string]string{"$bin": hex.EncodeToString(value)}
	case Extension:
		return map[string]any{"$ext": []any{value.Type, hex.EncodeToString(value.Data)}}
	case List:
		items := []any{}
		for _, item := range value {
			items = append(items, plainValue(item))
		}
		return items
	case Map:
		return plainMap(value)
	}
	return value
}

// plainFloat returns a float that does not look like an integer as a number, any other as its text.
func plainFloat(value float64) any {
	switch {
	case math.IsNaN(value):
		return map[string]string{"$float": "nan"}
	case math.IsInf(value, 1):
		return map[string]string{"$float": "inf"}
	case math.IsInf(value, -1):
		return map[string]string{"$float": "-inf"}
	case value != math.Trunc(value):
		return value
	case math.Abs(value) < 1e16:
		return map[string]string{"$float": strconv.FormatFloat(value, 'f', 1, 64)}
	}
	return map[string]string{"$float": strconv.FormatFloat(value, 'e', -1, 64)}
}

// plainMap returns an object, if all keys are strings and none begins with a dollar.
func plainMap(pairs Map) any {
	object, list := map[string]any{}, []any{}
	isObject := true
	for _, pair := range pairs {
		name, isText := pair.Key.(string)
		isObject = isObject && isText && !strings.HasPrefix(name, "$")
		value := plainValue(pair.Value) // once, or maps within each other would take twice as long with each level
		object[name] = value
		list = append(list, []any{plainValue(pair.Key), value})
	}
	if isObject {
		return object
	}
	return map[string]any{"$map": list}
}

// parseValue reads a value in plain form, and panics with a Malformed.
func parseValue(text json.RawMessage) Value {
	shown, err := strictjson.Parse(text, 4*MaxDepth)
	if err != nil {
		fail("bad_value", err.Error())
	}
	return fromPlain(shown)
}

func fromPlain(shown any) Value {
	switch shown := shown.(type) {
	case strictjson.Number:
		if shown.IsInteger() {
			return parseInteger(string(shown))
		}
		return parseFloat(string(shown))
	case []any:
		items := List{}
		for _, item := range shown {
			items = append(items, fromPlain(item))
		}
		return items
	case strictjson.Object:
		if len(shown) == 1 && strings.HasPrefix(shown[0].Name, "$") {
			return fromMarked(shown[0].Name, shown[0].Value)
		}
		pairs := Map{}
		for _, member := range shown {
			pairs = append(pairs, Pair{member.Name, fromPlain(member.Value)})
		}
		return sorted(pairs)
	}
	return shown
}

// fromMarked reads an object whose only member is one of the names with a dollar.
func fromMarked(name string, content any) Value {
	text, _ := content.(string)
	list, _ := content.([]any)
	switch name {
	case "$int":
		return parseInteger(text)
	case "$float":
		return parseFloat(text)
	case "$bin":
		return parseBytes(text)
	case "$ext":
		return parseExtension(list)
	case "$map":
		pairs := Map{}
		for _, item := range list {
			pair, _ := item.([]any)
			if len(pair) != 2 {
				fail("bad_value", "a pair of a map has a key and a value")
			}
			pairs = append(pairs, Pair{fromPlain(pair[0]), fromPlain(pair[1])})
		}
		return sorted(pairs)
	}
	fail("bad_value", "there is no value of the kind "+name)
	return nil
}

func parseInteger(digits string) Value {
	if number, err := strconv.ParseUint(digits, 10, 64); err == nil {
		return number
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		fail("bad_value", digits+" is not an integer from -2^63 to 2^64-1")
	}
	if number == 0 { // written -0
		return uint64(0)
	}
	return number
}

func parseFloat(text string) Value {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		fail("bad_value", text+" is not a float")
	}
	return number
}

func parseBytes(digits string) []byte {
	content, err := hex.DecodeString(digits)
	if err != nil {
		fail("bad_value", digits+" is not bytes in hexadecimal digits")
	}
	return content
}

func parseExtension(shown []any) Value {
	if len(shown) != 2 {
		fail("bad_value", "an extension has a type and its bytes")
	}
	number, _ := shown[0].(strictjson.Number)
	kind, err := strconv.ParseInt(string(number), 10, 8)
	digits, isText := shown[1].(string)
	if err != nil || !isText {
		fail("bad_value", "the type of an extension is from -128 to 127, its bytes are hexadecimal digits")
	}
	return Extension{int8(kind), parseBytes(digits)}
}
