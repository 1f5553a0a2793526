package admission

import (
	"fmt"
	"time"
)

// Refusal says that a request found no room. Nothing has happened.
type Refusal struct {
	Reason     string
	RetryAfter time.Duration // until there is room, as far as can be told; from a second to LongestRetry
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s, try again in %v", r.Reason, r.RetryAfter) }

// LongestRetry bounds RetryAfter: an estimate says little about later.
const LongestRetry = 4 * time.Second

// refusal is for a request that would wait for the given microseconds.
func refusal(wait int64) *Refusal {
	after := time.Duration(wait) * time.Microsecond
	return &Refusal{Reason: "too many requests are under way", RetryAfter: min(max(after, time.Second), LongestRetry)}
}
