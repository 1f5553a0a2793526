package verbs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/client"
)

const familyHelp = `A family is written NAME, or with what is garbage in it, NAME:RULES: versions=3 keeps the newest
three of each column, ttl=30d those of the last 30 days. With both rules either reason is enough, unless
there is a third one, both: contents:versions=3,ttl=30d,both.`

// parseFamily returns a family that people write as NAME or NAME:RULES.
func parseFamily(text string) (client.Family, error) {
	name, rules, found := strings.Cut(text, ":")
	f := client.Family{Name: name, DefaultGC: !found}
	if rules == "" { // HBase and Bigtable write a colon behind a family at times
		return f, nil
	}
	gc, err := parseGC(rules)
	f.GC = gc
	return f, err
}

func parseFamilies(texts []string) (families []client.Family, err error) {
	for _, text := range texts {
		f, err := parseFamily(text)
		if err != nil {
			return nil, err
		}
		families = append(families, f)
	}
	return families, nil
}

func parseGC(text string) (gc client.GC, err error) {
	for rule := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(rule, "=")
		switch name {
		case "versions":
			gc.VersionLimit, err = strconv.ParseInt(value, 10, 64)
			if err == nil && gc.VersionLimit < 1 {
				err = strconv.ErrRange
			}
		case "ttl":
			var ttl time.Duration
			ttl, err = parseDuration(value)
			gc.TTLSecs = int64(ttl / time.Second)
			if err == nil && gc.TTLSecs < 1 {
				err = strconv.ErrRange
			}
		case "both":
			gc.Intersection = true
		case "none":
		default:
			err = strconv.ErrSyntax
		}
		if err != nil {
			return gc, usagef("%s is no rule of what is garbage: versions=3, ttl=30d, ttl=12h, both, or none", rule)
		}
	}
	return gc, nil
}

// rules returns settings as parseGC takes them.
func rules(gc client.GC) string {
	var list []string
	if gc.VersionLimit > 0 {
		list = append(list, fmt.Sprintf("versions=%d", gc.VersionLimit))
	}
	if gc.TTLSecs > 0 {
		list = append(list, "ttl="+ttlText(gc.TTLSecs))
	}
	if gc.Intersection {
		list = append(list, "both")
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ",")
}

func ttlText(seconds int64) string {
	if seconds%86400 == 0 {
		return fmt.Sprintf("%dd", seconds/86400)
	}
	return fmt.Sprintf("%ds", seconds)
}
