package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/pflag"
)

// FlagError completes an error of the flags: an unknown one gets the nearest known one.
func (s *Set) FlagError(err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	return fmt.Errorf("%w%s", err, didYouMean(unknown.GetSpecifiedName(), s.names(), func(name string) string { return "--" + name }))
}

// didYouMean returns the end of a message about an unknown name: the nearest known one, as written shows it.
func didYouMean(name string, known []string, written func(string) string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	best, distance := "", max(1, len(name)/3)+1
	for _, k := range known {
		if d := levenshtein.ComputeDistance(name, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %s?", written(best))
}
